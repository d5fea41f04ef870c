"""Is byte-level BPE as good as character BPE of eight times its size, in Chinese and Japanese?

    PYHARNESS_DATA=... PYTHONPATH=studies python -m claims.eighth

Both are trained on the same documents, without split pattern but at white space, and measured on held-out ones. Two
readings. Length: byte BPE of V / 8 has at most 5 % more tokens than character BPE of V. Predictability: a symbol model
of order 3, trained on the tokens of either, needs at most 5 % more bits per byte for those of byte BPE. Each is
confirmed where the whole interval of the ratio is below 1.05, refuted where it is above. What was said first, of the
quality of translations, is not tested. Characters without a token are one unknown token, which loses what they were:
their share is printed, and the bits of character BPE are too few by what they carry.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from claims.texts import Text
from claims.verdicts import Claim, Row, estimated, run, shown, within
from pyharness import bpe
from pyharness.features.segmentation.symbol_models import SymbolModel
from pyharness.features.training import trainers
from pyharness.features.training.trainers.declarations import BpeOptions
from pyharness.statistics.jackknife import Groups

SIZE, TIMES = 16384, 8
MOST = 1.05
ORDER = 3
UNKNOWN = "<unk>"
PATTERN = r"\s?\S+|\s+"


def trained(text: Text, size: int, symbols: Literal["bytes", "characters"]) -> bpe.BpeModel:
    """Train on the documents that are not held out."""
    request = trainers.TrainingRequest(
        texts=lambda: text.learnt.documents,
        options=BpeOptions(
            vocab_size=size, symbols=symbols, pattern=PATTERN, min_frequency=2,
            unknown=UNKNOWN if symbols == "characters" else None,
        ),
    )  # fmt: skip
    made = trainers.train("bpe", request).model
    assert made is not None  # it is our own trainer
    return made


def measured(model: bpe.BpeModel, text: Text) -> tuple[NDArray[np.int64], NDArray[np.float64], float]:
    """Tokens and nats of the held-out documents by group, and the share of unknown tokens."""
    tokenizer = bpe.BpeTokenizer(model)
    read = tokenizer.encode_batch(text.learnt.documents)
    symbol_model = SymbolModel.train([(read.ids, read.offsets)], tokenizer.id_limit, ORDER)
    tokens = tokenizer.encode_batch(text.measured.documents)
    nll = np.concatenate(([0.0], np.cumsum(symbol_model.score(tokens.ids, tokens.offsets).nll)))
    lengths, nats = np.diff(tokens.offsets), np.diff(nll[tokens.offsets])
    unknown = 0.0 if model.unknown is None else float((tokens.ids == model.unknown).mean())
    weighted = np.bincount(text.measured.groups, nats, len(text.counts))
    return text.measured.by_group(lengths), np.asarray(weighted, np.float64), unknown


def rows(text: Text, size: int = SIZE) -> Iterator[Row]:
    characters = measured(trained(text, size, "characters"), text)
    own = measured(trained(text, size // TIMES, "bytes"), text)
    for what, mine, other in (("tokens", own[0], characters[0]), (f"bits, order {ORDER}", own[1], characters[1])):
        value, interval = estimated("ratio", text.measured.counts, partial(ratio, mine, other))
        said = f"{what} of bytes at {size // TIMES:,} over characters at {size:,}"
        yield Row(text.name, said, f"{value:.3f}", shown(interval, ".3f"), within(interval, -np.inf, MOST))
    yield Row(text.name, "characters without a token", f"{characters[2]:.3%}", "", "")


def ratio(mine: NDArray[Any], other: NDArray[Any], groups: Groups) -> float:
    return float(mine[groups].sum() / other[groups].sum())


CLAIM = Claim(
    "byte-level BPE needs an eighth of the vocabulary of character BPE for the same",
    f"at most {MOST - 1:.0%} more tokens, and at most {MOST - 1:.0%} more bits: confirmed below, refuted above",
    rows,
    ("Chinese", "Japanese"),
)

if __name__ == "__main__":
    run(CLAIM)

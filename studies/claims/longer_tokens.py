"""Are longer tokens more predictable?

    PYHARNESS_DATA=... PYTHONPATH=studies python -m claims.longer_tokens

A byte-level BPE and a symbol model of order 3 over its tokens learn from the documents that are not held out; on the
others, the figure is the slope of the bits of a token over its bytes (least squares over all tokens, slope within
groups of documents together). The claim per token: the slope is below 0. Per byte: tokens longer than the mean need
fewer bits per byte than the others, which is the weaker claim. Both are of this predictor; a larger model may differ.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from claims.bpe_sizes import PATTERN, learnt
from claims.texts import Text
from claims.verdicts import Claim, Row, estimated, run, shown, within
from pyharness import bpe
from pyharness.features.segmentation.symbol_models import SymbolModel
from pyharness.statistics.jackknife import GROUPS, Groups

SIZE, ORDER = 16384, 3
LONGEST = 64  # bytes; longer ones are counted with these
CLASSES = ((1, 1), (2, 2), (3, 4), (5, 8), (9, LONGEST))


def scored(text: Text, size: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Tokens and bits by group and bytes of the token: [GROUPS, LONGEST + 1]."""
    trained = learnt(text, size)
    tokenizer = bpe.BpeTokenizer(bpe.model_of_training(trained, PATTERN))
    read = tokenizer.encode_batch(text.learnt.documents)
    model = SymbolModel.train([(read.ids, read.offsets)], tokenizer.id_limit, ORDER)
    tokens = tokenizer.encode_batch(text.measured.documents)
    bits = model.score(tokens.ids, tokens.offsets).nll / math.log(2)
    lengths = np.minimum(np.diff(trained.offsets)[tokens.ids], LONGEST)
    cells = np.repeat(text.measured.groups.astype(np.int64), np.diff(tokens.offsets)) * (LONGEST + 1) + lengths
    shape = GROUPS, LONGEST + 1
    counts = np.bincount(cells, minlength=math.prod(shape)).reshape(shape).astype(np.int64)
    return counts, np.asarray(np.bincount(cells, bits, math.prod(shape)).reshape(shape), np.float64)


def slope(counts: NDArray[Any], bits: NDArray[Any]) -> float:
    """Bits that a byte more of a token goes with; both [LONGEST + 1], sums by bytes of the token."""
    lengths, total = np.arange(len(counts)), counts.sum()
    mean = (counts * lengths).sum() / total
    return float((bits * (lengths - mean)).sum() / (counts * (lengths - mean) ** 2).sum())


def per_byte_ratio(counts: NDArray[Any], bits: NDArray[Any]) -> float:
    """Bits per byte of tokens longer than the mean over those of the others."""
    lengths = np.arange(len(counts))
    longer = lengths > (counts * lengths).sum() / counts.sum()
    of = [bits[some].sum() / (counts * lengths)[some].sum() for some in (longer, ~longer)]
    return float(of[0] / of[1])


def rows(text: Text, size: int = SIZE) -> Iterator[Row]:
    counts, bits = scored(text, size)

    def per_token(groups: Groups) -> float:
        return slope(counts[groups].sum(axis=0), bits[groups].sum(axis=0))

    def per_byte(groups: Groups) -> float:
        return per_byte_ratio(counts[groups].sum(axis=0), bits[groups].sum(axis=0))

    documents = text.measured.counts
    value, interval = estimated("slope", documents, per_token)
    yield Row(text.name, "per token: bits for each byte more", f"{value:+.3f}", shown(interval, "+.3f"),
              within(interval, -np.inf, 0))  # fmt: skip
    value, interval = estimated("ratio", documents, per_byte)
    yield Row(text.name, "per byte: bits of longer tokens over those of others", f"{value:.3f}",
              shown(interval, ".3f"), within(interval, -np.inf, 1))  # fmt: skip
    for low, high in CLASSES:
        tokens, nats = counts[:, low : high + 1].sum(), bits[:, low : high + 1].sum()
        size_of = (counts[:, low : high + 1].sum(axis=0) * np.arange(low, high + 1)).sum()
        if tokens:
            said = f"{nats / tokens:.2f} / {nats / size_of:.2f}"
            yield Row(text.name, f"tokens of {low} to {high} bytes: bits per token / per byte", said, "", "")


CLAIM = Claim(
    "longer tokens are more predictable",
    "per token, confirmed where the slope of bits over bytes is below 0; per byte, where longer tokens need fewer bits",
    rows,
    ("English", "code", "Estonian", "Chinese"),
)

if __name__ == "__main__":
    run(CLAIM)

"""How much of a text do its commonest 1,000 and 10,000 tokens cover, and its commonest words?

    PYHARNESS_DATA=... PYTHONPATH=studies python -m claims.covered

The claim is 80 % and 95 %, of tokens and of words alike. It is confirmed of a text where the interval lies within two
points of that, and refuted where it lies wholly outside. Tokens are those of gpt2 and o200k_base (without the folder of
data: of a BPE that is trained on the text); words are UAX #29 segments with a letter or number, as they stand. Words of
scripts without spaces are left out. Shares fall as a text grows, so replicates are corrected to its size.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from claims.bpe_sizes import PATTERN, PUBLISHED, learnt
from claims.texts import Text
from claims.verdicts import Claim, Row, run, shown, within
from pyharness import bpe
from pyharness.metrics.counting.words import UNSEGMENTED, words
from pyharness.statistics import jackknife
from pyharness.statistics.jackknife import GROUPS, Groups

SAID = {1_000: 0.80, 10_000: 0.95}
MARGIN = 0.02
OWN_SIZE = 1 << 14
Histogram = NDArray[np.int64]  # [GROUPS, types]


def share(histogram: Histogram, commonest: int, groups: Groups) -> float:
    """Of all tokens of some groups, those of the commonest types."""
    counts = histogram[groups].sum(axis=0)
    most = np.partition(counts, max(len(counts) - commonest, 0))[max(len(counts) - commonest, 0) :]
    return float(most.sum() / counts.sum())


def of_words(text: Text) -> Histogram:
    """Words of every group."""
    number: dict[str, int] = {}
    ids = [[number.setdefault(word, len(number)) for word, _, _ in words(one)] for one in text.documents]
    histogram = np.zeros((GROUPS, len(number)), np.int64)
    for group, some in zip(text.groups.tolist(), ids, strict=True):
        np.add.at(histogram[group], some, 1)
    return histogram


def of_tokens(model: bpe.BpeModel, text: Text) -> Histogram:
    """Tokens of every group."""
    tokenizer = bpe.BpeTokenizer(model)
    histogram = np.zeros((GROUPS, tokenizer.id_limit), np.int64)
    for group in range(GROUPS):
        ids = tokenizer.encode_batch(text.part(text.groups == group).documents).ids
        histogram[group] = np.bincount(ids, minlength=tokenizer.id_limit)
    return histogram


def tokenizers(text: Text) -> Iterator[tuple[str, bpe.BpeModel]]:
    """Those whose tokens are counted."""
    if not (data := os.environ.get("PYHARNESS_DATA")):
        trained = learnt(text, OWN_SIZE)
        yield f"BPE of {len(trained):,} trained here", bpe.model_of_training(trained, PATTERN)
        return
    yield "gpt2", bpe.import_model(Path(data, "tokenizers/gpt2/tokenizer.json"))
    yield "o200k_base", bpe.import_model(Path(data, PUBLISHED), pattern=PATTERN)


def histograms(text: Text) -> Iterator[tuple[str, Histogram]]:
    yield from ((f"tokens of {name}", of_tokens(model, text)) for name, model in tokenizers(text))
    beginning = "".join(one[:2000] for one in text.documents[:100])
    if len(UNSEGMENTED.findall(beginning)) < len(beginning) / 10:
        yield "words", of_words(text)


def rows(text: Text) -> Iterator[Row]:
    sizes = text.by_group(text.sizes).tolist()
    for unit, histogram in histograms(text):
        for commonest, said in SAID.items():
            found = jackknife.estimate(
                "share", text.counts, partial(share, histogram, commonest), sizes=sizes
            )  # fmt: skip
            assert found.value is not None  # there is a token in every text that is read
            interval = jackknife.interval(found.value, found.replicates)
            verdict = within(interval, said - MARGIN, said + MARGIN)
            yield Row(text.name, f"{commonest:,} {unit}", f"{found.value:.1%}", shown(interval, ".1%"), verdict)


CLAIM = Claim(
    "the commonest 1,000 tokens or words cover about 80 % of a text, and the commonest 10,000 about 95 %",
    f"confirmed where the interval lies within {MARGIN:.0%} of that share, refuted where it lies outside",
    rows,
    ("English", "code", "Estonian", "Russian", "Arabic", "Thai", "Japanese", "Chinese"),
)

if __name__ == "__main__":
    run(CLAIM)

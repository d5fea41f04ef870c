"""Replaced tokens: two vocabularies of one size on one text, the tokens in which they differ, and their use."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pyharness.metrics.counting.state import CorpusState, Counts
from pyharness.statistics import jackknife
from pyharness.statistics.jackknife import Undefined
from pyharness.types import PERCENT, Format, Measurement, Metric, Vocabulary


@dataclass(frozen=True, slots=True)
class Replacement:
    """Tokens (by their bytes) that only one of two vocabularies has. Ids, int64."""

    left: NDArray[np.int64]  # of the first vocabulary
    entered: NDArray[np.int64]  # of the second

    @classmethod
    def of(cls, first: Vocabulary, second: Vocabulary) -> Replacement:
        """Compare the tokens of V; raise ``Undefined`` when the sizes differ or no tokens do."""
        sizes = [int(vocabulary.counted.sum()) for vocabulary in (first, second)]
        if sizes[0] != sizes[1]:
            raise Undefined(f"the vocabularies differ in size: {sizes[0]:,} and {sizes[1]:,} tokens")
        mine, theirs = _by_bytes(first), _by_bytes(second)
        left, entered = _only(mine, theirs), _only(theirs, mine)
        if not len(left) or not len(entered):
            raise Undefined("both vocabularies have the same tokens")
        return cls(left, entered)


def _by_bytes(vocabulary: Vocabulary) -> dict[bytes, int]:
    return {vocabulary[token]: token for token in np.flatnonzero(vocabulary.counted).tolist()}


def _only(mine: dict[bytes, int], theirs: dict[bytes, int]) -> NDArray[np.int64]:
    return np.array([token for data, token in mine.items() if data not in theirs], np.int64)


def replaced_token_frequency(first: Counts, second: Counts, tokens: Replacement) -> float:
    """Return the mean count of the tokens that entered, relative to that of the tokens they replace, minus 1.

    Each mean is over types, unused ones included: counts on the text by the tokenizer that has them.

    Source: Scaffold-BPE, arXiv 2404.17808, Figure 5.
    """
    before = float(first.histogram[tokens.left].mean())
    if before == 0:
        raise Undefined("the replaced tokens do not occur in the text")
    return float(second.histogram[tokens.entered].mean()) / before - 1


def measure(first: CorpusState, second: CorpusState) -> list[Measurement]:
    """Return both metrics of two passes over the same documents; the frequency has the replicates of its interval."""
    names = ("replaced_token_share", "replaced_token_frequency")
    try:
        if first.facts.vocabulary is None or second.facts.vocabulary is None:
            raise Undefined("an engine does not expose the bytes of its tokens")
        tokens = Replacement.of(first.facts.vocabulary, second.facts.vocabulary)
    except Undefined as reason:
        return [Measurement(name, None, reason=str(reason)) for name in names]
    share = Measurement(names[0], len(tokens.left) / first.facts.vocab_size)
    return [share, _frequency(names[1], first, second, tokens)]


def _frequency(name: str, first: CorpusState, second: CorpusState, tokens: Replacement) -> Measurement:
    totals = first.total(), second.total()

    def of(groups: jackknife.Groups) -> float:
        return replaced_token_frequency(first.of(groups, totals[0]), second.of(groups, totals[1]), tokens)

    return jackknife.estimate(name, first.counters["documents"].tolist(), of)


REPORTED = (
    Metric(
        "replaced_token_share", "share", "none", "share of a vocabulary of the same size that this row does not have",
        format=PERCENT,
    ),
    Metric(
        "replaced_token_frequency", "share", "higher",
        "mean count of the new tokens, relative to that of the tokens they replace, minus 1",
        format=Format("{:+.2f}", 100, "%"),
    ),
)  # fmt: skip

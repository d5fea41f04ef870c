"""Scores of cuts against gold boundaries: per word in integers, then micro and macro means over words.

Words of one token have no cut. Whether they count, as words whose boundaries are all missed, changes rankings. So each
number says which words it is of: ``all words``, or ``cut words`` without those of one token.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyharness.features.morphology.formats import MOST_FREQUENCY, GoldWord
from pyharness.features.morphology.gold import boundaries
from pyharness.metrics.counting.state_arrays import compact, table, taken
from pyharness.statistics.jackknife import GROUPS, Groups, Undefined, estimate, group_of, without_interval
from pyharness.types import COUNT, InputError, Measurement, Metric, State, digest_of

CUT, EVERY, ONE = "cut words", "all words", "all words, one token scores 1"
BY_FREQUENCY = ", by frequency"
# Measured: docs/papers.md.
_FEW = "a few frequent words decide: fewer than a fifth of samples gave a CI, too few to say how often it holds"
COLUMNS = ("hits", "gold", "cuts", "matched", "group")
Numbers = NDArray[np.float64]  # [words], or [GROUPS]


def outcome(gold: GoldWord, ends: Sequence[int]) -> tuple[int, ...]:
    """Return ``COLUMNS`` of a word: ``ends`` are where its tokens end, in bytes, the last one at the end of the word.

    ``matched``: different strings that are both a token and a morpheme of the word (MorphScore 2).

    >>> outcome(GoldWord("cats", ("cat", "s")), [2, 3, 4])[:4]
    (1, 1, 2, 1)
    """
    data, wanted = gold.word.encode(), boundaries(gold.morphemes)
    starts = [0, *ends[:-1]]
    pieces = {data[start:end] for start, end in zip(starts, ends, strict=True)}
    matched = len(pieces & {one.encode() for one in gold.morphemes})
    return len(wanted & set(starts[1:])), len(wanted), len(starts) - 1, matched, group_of(digest_of(gold.word))


@dataclass(frozen=True, slots=True)
class WordScores:
    """Outcomes of the words that a row spells."""

    outcomes: NDArray[np.int64]  # [words, COLUMNS]
    frequencies: Numbers | None  # None: the file has not one for each word
    unspelled: int

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return arrays to keep with a record; frequencies as the bits of their numbers."""
        bits = {} if self.frequencies is None else {"gold frequencies": self.frequencies.view(np.int64)}
        return {"gold outcomes": compact(self.outcomes), "gold unspelled": np.array([self.unspelled]), **bits}

    @classmethod
    def of_arrays(cls, arrays: State) -> WordScores:
        """Invert ``arrays``; raise ``InputError`` for arrays that contradict each other."""
        outcomes = table(arrays, "gold outcomes", len(COLUMNS)).astype(np.int64)
        (unspelled,) = taken(arrays, "gold unspelled", 1).tolist()
        frequencies = None
        if "gold frequencies" in arrays:
            frequencies = taken(arrays, "gold frequencies", len(outcomes)).astype(np.int64).view(np.float64)
        hits, gold, cuts, matched, group = outcomes.T
        limits = ((hits, gold), (hits, cuts), (matched, gold + 1), (matched, cuts + 1), (group, GROUPS - 1))
        weights = np.zeros(0) if frequencies is None else frequencies
        right = unspelled >= 0 and ((weights >= 0) & (weights <= MOST_FREQUENCY)).all()
        if not right or any((values < 0).any() or (values > most).any() for values, most in limits):
            raise InputError("outcomes of gold words contradict each other")
        return cls(outcomes, frequencies, unspelled)


def measure(scores: WordScores) -> Iterator[Measurement]:
    """Yield every metric."""
    sums = _WordTotals(scores)
    hits, gold, cuts, _, _ = scores.outcomes.T
    yield Measurement("gold_words", len(gold))
    yield sums.ratio("one_token_share", None, cuts == 0, np.ones(len(gold)))
    yield from _boundary_scores(sums, hits, gold, cuts)
    yield from _second_morphscore(sums, scores.outcomes)
    first = (cuts > 0) & (gold <= 1)
    yield sums.ratio("morphscore_1", None, hits * first, first)


class _WordTotals:
    """Sums by group, and metrics that are functions of them."""

    def __init__(self, scores: WordScores) -> None:
        self.group = scores.outcomes[:, 4]
        self.words = self.of(np.ones(len(self.group))).astype(int).tolist()
        self.weights = {"": np.ones(len(self.group))}
        if scores.frequencies is not None:
            self.weights[BY_FREQUENCY] = scores.frequencies

    def of(self, values: NDArray[Any]) -> Numbers:
        return np.bincount(self.group, values, GROUPS).astype(np.float64)

    def ratio(self, metric: str, part: str | None, above: NDArray[Any], below: NDArray[Any]) -> Measurement:
        return self.function(metric, part, _divide, above, below)

    def function(
        self, metric: str, part: str | None, compute: Callable[..., float], *values: NDArray[Any]
    ) -> Measurement:
        sums = [self.of(np.asarray(one, np.float64)) for one in values]

        def of(groups: Groups) -> float:
            return compute(*(float(one[groups].sum()) for one in sums))

        if (part or "").endswith(BY_FREQUENCY):
            return replace(without_interval(metric, of, _FEW), part=part)
        return estimate(metric, self.words, of, part)


def _divide(above: float, below: float) -> float:
    if not below:
        raise Undefined("no word counts here: none is cut, or none has a gold boundary")
    return above / below


def _share(above: NDArray[Any], below: NDArray[Any]) -> Numbers:
    """Divide word by word; 0 where there is nothing to divide by."""
    shares: Numbers = np.divide(above, below, out=np.zeros(len(above)), where=below > 0)
    return shares


def _harmonic(hits_a: float, a: float, hits_b: float, b: float) -> float:
    """Return the F1 of two means; 0 where there is no hit."""
    if not b:
        raise Undefined("no word has a gold boundary")
    precision, recall = (hits_a / a if a else 0.0), hits_b / b
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def _boundary_scores(
    sums: _WordTotals, hits: NDArray[np.int64], gold: NDArray[np.int64], cuts: NDArray[np.int64]
) -> Iterator[Measurement]:
    means: dict[str, tuple[tuple[NDArray[Any], NDArray[Any]], ...]] = {
        "micro": ((hits, cuts), (hits, gold)),
        "macro": ((_share(hits, cuts), cuts > 0), (_share(hits, gold), gold > 0)),
    }
    for by, weights in sums.weights.items():
        for mean, (precision, recall) in means.items():
            above, below = (one * weights for one in precision)
            yield sums.ratio("boundary_precision", f"{mean}, {CUT}{by}", above, below)
            for words, kept in ((EVERY, weights), (CUT, weights * (cuts > 0))):
                part = f"{mean}, {words}{by}"
                top, bottom = (one * kept for one in recall)
                yield sums.ratio("boundary_recall", part, top, bottom)
                yield sums.function("boundary_f1", part, _harmonic, above, below, top, bottom)


def _second_morphscore(sums: _WordTotals, outcomes: NDArray[np.int64]) -> Iterator[Measurement]:
    hits, gold, cuts, matched, _ = outcomes.T
    scored, whole = (cuts > 0) & (gold > 0), cuts == 0
    tokens, morphemes = cuts + 1, gold + 1
    for words, also in ((CUT, np.zeros(len(gold), np.bool_)), (ONE, whole)):
        kept = scored | also
        for by, weights in sums.weights.items():
            for name, of in (("recall", _share(hits, gold)), ("precision", _share(hits, tokens))):
                points = np.where(also, 1.0, of) * kept * weights
                yield sums.ratio(f"morphscore_2_{name}", f"{words}{by}", points, kept * weights)
        counted = matched * kept
        yield sums.function(
            "morphscore_2_f1", f"micro, {words}", _harmonic, counted, tokens * kept, counted, morphemes * kept
        )
        precise, recalled = _share(counted, tokens), _share(counted, morphemes)
        yield sums.function("morphscore_2_f1", f"macro, {words}", _harmonic, precise, kept, recalled, kept)


_AGREES = "gold boundaries where a token ends / gold boundaries; the part says which mean, of which words"
REPORTED = (
    Metric("gold_words", "word", "none", "words of the gold file that the row spells", format=COUNT),
    Metric("one_token_share", "share", "none", "gold words that are one token / gold words"),
    Metric("boundary_recall", "share", "none", _AGREES, primary=True),
    Metric("boundary_precision", "share", "none", "ends of tokens within words that are gold boundaries / all of them"),
    Metric("boundary_f1", "share", "none", "harmonic mean of boundary precision and recall"),
    Metric("morphscore_1", "share", "none", "cut words with a token's end at their boundary / cut words"),
    Metric("morphscore_2_recall", "share", "none", "mean over words of gold boundaries hit / gold boundaries"),
    Metric("morphscore_2_precision", "share", "none", "mean over words of gold boundaries hit / tokens"),
    Metric("morphscore_2_f1", "share", "none", "F1 of strings that are a token and a morpheme"),
)  # fmt: skip

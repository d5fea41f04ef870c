"""How often would the rarest tokens of a vocabulary be seen in 1e12 tokens of text?

    PYHARNESS_DATA=... PYTHONPATH=studies python -m claims.rarest

What is printed is an extrapolation, to a text thousands of times larger and of the same kind. A power law is fitted to
the rarest decade of ranks that have 20 occurrences or more, and followed to the last rank. What no document has is
bounded by the rule of three: a token in none of D documents is in fewer than 3 / D of them, with 95 %, and there as
often as tokens of a single document are. The rule of the verdict, of the claim that the rarest tokens are hardly seen:
confirmed where both the upper end of the fit and the bound are below 1,000 in 1e12 (one in 1e9), refuted where the
lower end of the fit is above, it passes its own test, and no token is unseen: a law of ranks does not know of tokens
that are never written. That test fits the law to an eighth of the text and compares
what it says of the rarer half of the ranks that the whole text tells of: it must be within a factor of 1.5.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from claims.covered import Histogram, of_tokens, tokenizers
from claims.texts import EVERYTHING, Text
from claims.verdicts import CONFIRMED, REFUTED, Claim, Interval, Row, estimated, not_testable, run, shown
from pyharness.statistics.jackknife import NESTED, Groups

TOKENS = 1e12
HARDLY = 1_000
LEAST_COUNT, DECADE, FACTOR = 20, 10, 1.5


def law(counts: NDArray[np.int64]) -> tuple[float, float]:
    """Logarithm of the share at rank 1 and exponent of the power law of the rarest decade that is known well.

    >>> tuple(round(one, 2) for one in law((1e6 / np.arange(1, 10_000)).astype(np.int64)))
    (-2.28, 1.0)
    """
    ordered = np.sort(counts)[::-1]
    last = int((ordered >= LEAST_COUNT).sum())
    if last < 2 * DECADE:
        return math.nan, math.nan
    ranks = np.unique(np.geomspace(max(last // DECADE, 1), last, 200).astype(np.int64))
    logs = np.log(ordered[ranks - 1] / ordered.sum())
    design = np.stack((np.ones(len(ranks)), -np.log(ranks)), 1)
    constant, exponent = np.linalg.lstsq(design, logs, rcond=None)[0]
    return float(constant), float(exponent)


def log_of_rarest(histogram: Histogram, rank: int, groups: Groups) -> float:
    """Natural logarithm of how often the token of a rank is in 1e12."""
    constant, exponent = law(histogram[groups].sum(axis=0))
    return float(constant - exponent * math.log(rank) + math.log(TOKENS))


def test_of_law(histogram: Histogram) -> float:
    """What the law of an eighth of the text says of the rarer half of the ranks that all of it tells of, over that."""
    counts = np.sort(histogram.sum(axis=0))[::-1]
    last = int((counts >= LEAST_COUNT).sum())
    constant, exponent = law(histogram[: NESTED[0]].sum(axis=0))
    expected = np.exp(constant - exponent * np.log(np.arange(last // 2 + 1, last + 1))).sum() * counts.sum()
    return float(expected / counts[last // 2 : last].sum())


def bound(histogram: Histogram) -> float:
    """Most occurrences in 1e12 of a token that no document has.

    A token of a single group counts as one of a single document: what it is there, unseen ones would be in theirs.
    """
    alone = (histogram > 0).sum(axis=0) == 1
    burst = float(histogram[:, alone].sum() / max(alone.sum(), 1)) if alone.any() else 1.0
    return float(3 * burst / histogram.sum() * TOKENS)


def decided(interval: Interval, most: float, tested: float, unseen: int) -> str:
    if interval is None or not math.isfinite(tested):
        return not_testable("the text is too small for the fit")
    if interval[1] < HARDLY and most < HARDLY:
        return CONFIRMED
    if not 1 / FACTOR <= tested <= FACTOR:
        return not_testable(f"the law misses what is known by a factor of {max(tested, 1 / tested):.1f}")
    if interval[0] > HARDLY and not unseen:
        return REFUTED
    return not_testable("tokens that are unseen here are only bounded from above")


def rows(text: Text) -> Iterator[Row]:
    for name, model in tokenizers(text):
        histogram = of_tokens(model, text)
        size, unseen = histogram.shape[1], int((histogram.sum(axis=0) == 0).sum())
        log, about = estimated("log", text.counts, partial(log_of_rarest, histogram, size))
        interval = None if about is None else (math.exp(about[0]), math.exp(about[1]))
        most, tested = bound(histogram), test_of_law(histogram)
        what = f"{name}: occurrences of rank {size:,} in 1e12 tokens, extrapolated from {histogram.sum():,}"
        verdict = decided(interval, most, tested, unseen)
        yield Row(text.name, what, f"{math.exp(log):.2g}", shown(interval, ".2g"), verdict)
        yield Row(text.name, f"{name}: {unseen:,} tokens are unseen here; each at most", f"{most:.2g}", "", "")
        yield Row(text.name, f"{name}: law of an eighth over what the whole has", f"{tested:.2f}", "", "")


CLAIM = Claim(
    "the rarest tokens of a large vocabulary are hardly seen, even in a training of 1e12 tokens",
    f"confirmed below {HARDLY:,} in 1e12 by fit and bound; refuted above, if the fit passes its test, none unseen",
    rows,
    (EVERYTHING,),
)

if __name__ == "__main__":
    run(CLAIM)

"""A difference of one number, and its verdict.

Three things judge: the paired interval over groups of documents; where there is none, of what goes with the number of
tokens alone, the signed ranks of the documents; and of an exact metric the values themselves. Where none does, a
primary metric that has a better is *inconclusive*: no verdict is no pass. Other numbers without a judge are shown.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from pyharness.statistics.signed_ranks import SignedRanks
from pyharness.types import counted

INCONCLUSIVE, NO_CURVE = "inconclusive", "no curve"


@dataclass(frozen=True, slots=True)
class Difference:
    """``b - a`` of one metric of one case."""

    title: str  # which rows and which text
    metric: str
    part: str | None
    a: float | None
    b: float | None
    interval: tuple[float, float] | None
    direction: str
    tolerance: float = 0.0  # relative
    grows_with_text: bool = False
    exact: bool = False  # a difference counts without an interval
    deterministic: bool = True
    curve: tuple[float | None, ...] = ()  # b - a on nested parts of the text, the last of them all of it
    no_interval: str | None = None  # why there is none, and nothing that judges in its place
    primary: bool = False
    ranks: SignedRanks | None = None  # of the tokens of every document, where they stand in for an interval

    @property
    def name(self) -> str:
        """Metric, and what of it."""
        return self.metric if self.part is None else f"{self.metric} {self.part}"

    @property
    def share(self) -> float | None:
        """``b - a`` as a share of ``a``; None of nothing."""
        return (self.b - self.a) / abs(self.a) if self.a and self.b is not None else None

    @property
    def holds_along_curve(self) -> bool:
        """Whether the difference has one sign on every part of the text."""
        known = [difference for difference in self.curve if difference is not None]
        return len(known) == len(self.curve) > 1 and (min(known) > 0 or max(known) < 0)

    def _has_a_sign(self, low: float, high: float) -> bool:
        """Whether all of the interval is on the side of ``b - a``: medians may differ one way, and rounds another."""
        return self.a is not None and self.b is not None and (low > 0 if self.b > self.a else high < 0)

    @property
    def verdict(self) -> str:
        """``better`` or ``worse`` only when something judges, and more text is no reason to doubt it.

        ``same`` when the values are equal, or within what machines differ by; ``size decides`` when a metric that grows
        with the text has differences of both signs on parts of it, and ``no curve`` when these are not in the record;
        ``inconclusive`` when nothing judges a primary metric.
        """
        if self.a is None or self.b is None:
            return ""
        if math.isclose(self.a, self.b, rel_tol=self.tolerance):
            return "same"
        if self.interval is None and not self.exact:
            return self._without_interval()
        if self.interval is not None and not self._has_a_sign(*self.interval):
            return "not resolved"
        if self.grows_with_text and not self.holds_along_curve:
            return "size decides" if self.curve else NO_CURVE
        return self._way

    def _without_interval(self) -> str:
        if self.judged_by_ranks:
            return self._way
        return INCONCLUSIVE if self.primary and self.deterministic and self.direction != "none" else ""

    @property
    def judged_by_ranks(self) -> bool:
        """Whether the documents decide: more often than chance has it, B takes more tokens where it is worse, or fewer.

        The number itself may go the other way, where one long document outweighs the others: then nothing decides.
        """
        if self.interval is not None or self.exact or self.ranks is None or not self.ranks.decides:
            return False
        return self._way == ("worse" if self.ranks.sign > 0 else "better")

    @property
    def _way(self) -> str:
        """What the values alone say of two that differ."""
        if self.direction == "none":
            return "differs"
        return "better" if ((self.b or 0) > (self.a or 0)) == (self.direction == "higher") else "worse"

    @property
    def unjudged(self) -> bool:
        """Whether it differs, the text determines it, and it has a better, but nothing says how B is to A."""
        known = self.a is not None and self.b is not None and self.deterministic and self.direction != "none"
        return known and self.verdict in (INCONCLUSIVE, NO_CURVE, "")

    @property
    def looks_worse(self) -> bool:
        """Whether the values alone, which chance may have moved, have B worse; what looks better can never fail."""
        return self._way == "worse"

    @property
    def judged_by(self) -> str:
        """What the verdict is from, in words; "" where nothing judges."""
        if self.verdict == "same":
            return ""
        if self.judged_by_ranks and self.ranks is not None:
            return said_of(self.ranks)
        if self.interval is not None:
            return "interval"
        return "values" if self.exact else ""


def said_of(ranks: SignedRanks) -> str:
    """A test in words, as it is named wherever it judges."""
    left = "" if ranks.differing == ranks.pairs else f", of which {ranks.differing:,} differ"
    return f"signed-rank over {counted(ranks.pairs, 'document')}{left}, p = {ranks.p:.2g}"


RESOLVED = ("worse", "better", "differs")  # verdicts that say how B is to A, in the order in which they are shown


def resolved_first(found: Iterable[Difference]) -> tuple[list[Difference], list[Difference]]:
    """Return what is resolved, the worse before the better and each largest first, and all others in their order.

    What is inconclusive comes first of the others.
    """
    resolved: list[Difference] = []
    others: list[Difference] = []
    for one in found:
        (resolved if one.verdict in RESOLVED else others).append(one)
    return sorted(resolved, key=_order), sorted(others, key=lambda one: one.verdict != INCONCLUSIVE)


def _order(one: Difference) -> tuple[int, float]:
    return RESOLVED.index(one.verdict), -math.inf if one.share is None else -abs(one.share)

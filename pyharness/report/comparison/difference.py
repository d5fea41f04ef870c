"""A difference of one number, and its verdict."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass


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
        """``better`` or ``worse`` only when the paired interval excludes zero, and more text is no reason to doubt it.

        Of an exact metric, which has no interval, any difference is enough.

        ``same`` when the values are equal, or within what machines differ by; ``size decides`` when a metric that grows
        with the text has differences of both signs on parts of it, and ``no curve`` when these are not in the record.
        """
        if self.a is None or self.b is None:
            return ""
        if math.isclose(self.a, self.b, rel_tol=self.tolerance):
            return "same"
        if self.interval is None and not self.exact:
            return ""
        if self.interval is not None and not self._has_a_sign(*self.interval):
            return "not resolved"
        if self.grows_with_text and not self.holds_along_curve:
            return "size decides" if self.curve else "no curve"
        if self.direction == "none":
            return "differs"
        return "better" if (self.b > self.a) == (self.direction == "higher") else "worse"


RESOLVED = ("worse", "better", "differs")  # verdicts that say how B is to A, in the order in which they are shown


def resolved_first(found: Iterable[Difference]) -> tuple[list[Difference], list[Difference]]:
    """Return what is resolved, the worse before the better and each largest first, and all others in their order."""
    resolved: list[Difference] = []
    others: list[Difference] = []
    for one in found:
        (resolved if one.verdict in RESOLVED else others).append(one)
    return sorted(resolved, key=_order), others


def _order(one: Difference) -> tuple[int, float]:
    return RESOLVED.index(one.verdict), -math.inf if one.share is None else -abs(one.share)

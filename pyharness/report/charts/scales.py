"""Range of an axis, places of values on it, and labels: short, visible, all different.

If there is room, no label covers another, or other points.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pyharness.report.charts.drawing import FONT_SIZE, LETTER
from pyharness.report.sheet.strings import shorten_apart, visible

_MARGIN = 0.04  # of the span, on both sides
_MOST_TICKS, _FEW_TICKS = 6, 2
_LONG = 10_000.0  # from here on, labels are short
_LARGEST = 300  # a power of ten that a float holds


@dataclass(frozen=True, slots=True)
class Scale:
    """A linear or logarithmic axis."""

    low: float
    high: float
    log: bool = False

    @classmethod
    def of(cls, values: Iterable[float | None], log: bool = False) -> Scale:
        """Return a scale over values; a logarithmic one over those above zero."""
        finite = [one for one in values if one is not None and math.isfinite(one) and (one > 0 or not log)]
        if not finite:
            return cls(1, 10, log) if log else cls(0, 1)
        low, high = (math.log10(min(finite)), math.log10(max(finite))) if log else (min(finite), max(finite))
        margin = _MARGIN * (high - low) or (0.1 if log else abs(low) * 0.05 or 1)
        low, high = low - margin, high + margin
        return cls(10 ** max(low, -_LARGEST), 10 ** min(high, _LARGEST), log) if log else cls(low, high)

    def place(self, value: float | None) -> float | None:
        """Return a value, moved into the axis; None for one that is not finite or, on a log axis, not above 0."""
        if value is None or not math.isfinite(value) or (self.log and value <= 0):
            return None
        return min(max(value, self.low), self.high)

    def edge(self, value: float) -> float:
        """Return the place of an end of an interval: the lower edge for one without a place."""
        return self.low if (place := self.place(value)) is None else place

    def share(self, value: float) -> float:
        """Return the position along the axis of a value with a place, from 0 to 1."""
        if self.log:
            low, high = math.log(self.low), math.log(self.high)
            return (math.log(value) - low) / (high - low)
        return (value - self.low) / (self.high - self.low)

    def encoded(self, field: str, title: str) -> dict[str, Any]:
        """Return a field on this axis in Vega-Lite."""
        kind = {"type": "log"} if self.log else {"zero": False}
        scale = {"domain": [self.low, self.high], "nice": False, **kind}
        title = f"{title}, log scale" if self.log else title
        large = max(abs(self.low), abs(self.high)) >= _LONG  # has labels like 1k and 2M
        ticks = {"values": self._powers()} if self.log else {"tickCount": 5}
        plain = {"format": "~g"} if self.log else {}  # with it, ticks of a linear axis have one digit: 1e+2
        axis = {**ticks, "labelFlush": True, "labelOverlap": "greedy", **({"format": "~s"} if large else plain)}
        return {"field": field, "type": "quantitative", "scale": scale, "title": title, "axis": axis}

    def _powers(self) -> list[float]:
        """Return powers of ten within the axis, with their double and fivefold if there are few."""
        low, high = math.ceil(math.log10(self.low)), math.floor(math.log10(self.high))
        step = max(1, (high - low) // _MOST_TICKS + 1)
        factors = (1, 2, 5) if high - low < _FEW_TICKS else (1,)
        powers = [factor * 10.0**power for power in range(low - 1, high + 1, step) for factor in factors]
        return [one for one in powers if self.low <= one <= self.high]


def labels(names: Iterable[str], width: int) -> dict[str, str]:
    r"""Label each name; number names that are equal in compatible forms (NFKC).

    >>> labels(["a", "\uff41", "file:/a/long/path/tokenizer.json"], 16)
    {'a': 'a', '\uff41': '\uff41 (2)', 'file:/a/long/path/tokenizer.json': 'file:…nizer.json'}
    """
    met = set[str]()
    unlike: dict[str, str] = {}
    for name in dict.fromkeys(names):
        number, label = 1, visible(name)
        while (looks := unicodedata.normalize("NFKC", label).strip()) in met:
            number += 1
            label = f"{visible(name)} ({number})"
        met.add(looks)
        unlike[name] = label
    short = shorten_apart(unlike.values(), width)
    return {name: short[shown] for name, shown in unlike.items()}


# ---------------------------------------------------------------------------------------------- places


_GAP = 8.0  # pixels between a point and its label
LINE = FONT_SIZE + 1.0  # between two lines
_STEPS = (0, -1, 1, -2, 2, -3, 3, -4, 4)  # offsets of a label in lines, the nearest first


@dataclass(frozen=True, slots=True)
class Label:
    """Text that begins at a place, in pixels from the upper left corner."""

    text: str
    x: float
    y: float

    @property
    def end(self) -> float:
        """Place of its end, at most."""
        return self.x + LETTER * len(self.text)

    def covers(self, other: Label) -> bool:
        """Return whether two texts, or a text and a point, overlap."""
        return abs(other.y - self.y) < LINE and other.x < self.end and self.x < other.end


def spread(wanted: Sequence[Label], height: float) -> list[tuple[Label, Label]]:
    """Put each label to the right of its point; if that place is taken, to the left, higher or lower.

    If all of these are taken, a label may cover others.

    Returns pairs: the label at its point, and the label at its place.

    >>> [(one.text, one.x, one.y) for _, one in spread([Label("a", 50, 20), Label("b", 50, 21)], 100)]
    [('a', 58.0, 20.0), ('b', 35.0, 21.0)]
    """
    points = [Label("o", label.x - _GAP / 2, label.y) for label in wanted]
    placed: list[tuple[Label, Label]] = []
    for label in sorted(wanted, key=lambda one: (one.y, one.x, one.text)):
        left = label.x - _GAP - (label.end - label.x)
        sides = (label.x + _GAP, *(left,) * (left >= 0))
        moved = [replace(label, x=x, y=label.y + step * LINE) for step in _STEPS for x in sides]
        places = [one for one in moved if 0 <= one.y <= height] or [replace(label, x=sides[0])]  # the best first
        free = (place for place in places if not any(map(place.covers, (*(other for _, other in placed), *points))))
        placed.append((label, next(free, places[0])))
    return placed

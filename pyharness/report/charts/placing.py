"""Where labels stand: beside their point, and not on each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

_GAP = 8  # pixels between a point and its label
_LETTER, _LINE = 6.2, 13.0  # pixels: of a letter on average, from line to line


@dataclass(frozen=True, slots=True)
class Label:
    """Text whose left end stands at a place, in pixels from the upper left corner."""

    text: str
    x: float
    y: float

    @property
    def end(self) -> float:
        """Where it ends, about."""
        return self.x + _LETTER * len(self.text)


def spread(wanted: Sequence[Label], width: float, height: float) -> list[Label]:
    """Put labels to the right of their points, or to the left where there is no room; lower where one stands already.

    >>> [(one.text, one.x, one.y) for one in spread([Label("a", 0, 5), Label("b", 0, 6)], 100, 100)]
    [('a', 8, 5), ('b', 8, 18.0)]
    """
    placed: list[Label] = []
    for label in sorted(wanted, key=lambda one: (one.y, one.x, one.text)):
        beside = replace(label, x=label.x + _GAP)
        if beside.end > width:
            beside = replace(label, x=max(0.0, label.x - _GAP - (label.end - label.x)))
        placed.append(_free(beside, placed, height))
    return placed


def _free(label: Label, placed: Sequence[Label], height: float) -> Label:
    """Move a label down until it covers none, or to where it is where all is full."""
    moved = label
    for other in sorted(placed, key=lambda one: one.y):
        if abs(other.y - moved.y) < _LINE and other.x < moved.end and moved.x < other.end:
            moved = replace(moved, y=other.y + _LINE)
    return moved if moved.y < height + 4 * _LINE else label

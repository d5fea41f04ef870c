"""Names in charts: short, visible, never two alike, and not on each other or on other points."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from pyharness.report.charts.palette import FONT_SIZE, LETTER
from pyharness.report.sheet.strings import shorten, shorten_apart, visible

LONGEST_SPOKEN = 200  # characters of a name that is read out


def labels(names: Iterable[str], width: int) -> dict[str, str]:
    r"""Label each name; those that are one in compatible forms (NFKC) are numbered.

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


def spoken(name: str) -> str:
    """Return a name as text for those who listen."""
    return shorten(visible(name), LONGEST_SPOKEN)


# ---------------------------------------------------------------------------------------------- places


_GAP = 8.0  # pixels between a point and its label
LINE = FONT_SIZE + 1.0  # from line to line
_STEPS = (0, -1, 1, -2, 2, -3, 3, -4, 4)  # lines that a label is moved by, the nearest first


@dataclass(frozen=True, slots=True)
class Label:
    """Text whose left end stands at a place, in pixels from the upper left corner."""

    text: str
    x: float
    y: float

    @property
    def end(self) -> float:
        """Where it ends, at most."""
        return self.x + LETTER * len(self.text)

    def covers(self, other: Label) -> bool:
        """Whether two texts, or a text and a point, lie on each other."""
        return abs(other.y - self.y) < LINE and other.x < self.end and self.x < other.end


def spread(wanted: Sequence[Label], height: float) -> list[tuple[Label, Label]]:
    """Put each label to the right of its point or, where something stands there, to the left, higher or lower.

    Returns the labels as they were, at their points, and as they are placed.

    >>> [(one.text, one.x, one.y) for _, one in spread([Label("a", 50, 20), Label("b", 50, 21)], 100)]
    [('a', 58.0, 20), ('b', 35.0, 21)]
    """
    points = [Label("", label.x - _GAP / 2, label.y) for label in wanted]
    points = [replace(point, text="o") for point in points]
    placed: list[tuple[Label, Label]] = []
    for label in sorted(wanted, key=lambda one: (one.y, one.x, one.text)):
        places = _places(label, height)
        free = (one for one in places if not any(map(one.covers, (*(other for _, other in placed), *points))))
        placed.append((label, next(free, places[0])))
    return placed


def _places(label: Label, height: float) -> list[Label]:
    """Where a label may stand, the best first."""
    left = label.x - _GAP - (label.end - label.x)
    sides = (label.x + _GAP, *(left,) * (left >= 0))
    moved = [replace(label, x=x, y=label.y + step * LINE) for step in _STEPS for x in sides]
    return [one for one in moved if 0 <= one.y <= height] or [replace(label, x=sides[0])]

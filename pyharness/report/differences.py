"""A comparison as sheets: one per pair of rows and text for people, one flat sheet for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pyharness.report.comparison import Difference
from pyharness.report.sheet import NOTHING, Cell, Heading, Sheet
from pyharness.report.sheet.escaping import writable
from pyharness.types import Format

_VALUE = Format("{:.5g}")
_DIFFERENCE = Format("{:+.4g}")
_WIDTH = Format("{:.2g}")
_HEADINGS = (
    Heading("metric", "prose"),
    *(Heading(title) for title in ("A", "B", "B - A", "±")),
    Heading("verdict", "word"),
)
_FLAT = ("cases", "metric", "part", "a", "b", "difference", "low", "high", "direction", "verdict")
_WORDS = ("cases", "metric", "part", "direction", "verdict")
_NOTES = (
    "±: half of the paired 95 % interval of the difference, of as much other text of this kind;",
    "-: too few documents, or a metric without an interval.",
)
_IN_TURN = "±, of times: half of the interval of the median over rounds, which may lie to one side of B - A."
_OUT_OF_TURN = (
    "Times without ± have no verdict: rows did not take turns, or in fewer than 6 rounds. Measure with rounds=10."
)


def difference_sheets(differences: Sequence[Difference]) -> list[Sheet]:
    """Sheets for people, in the order of the cases."""
    by_title: dict[str, list[tuple[Cell, ...]]] = {}
    for difference in differences:
        if difference.a is not None and difference.b is not None:
            by_title.setdefault(difference.title, []).append(_row(difference, difference.a, difference.b))
    last = list(by_title)[-1:]
    timed = [one for one in differences if not one.deterministic and None not in (one.a, one.b)]
    in_turn, out_of_turn = (any((one.interval is None) == missing for one in timed) for missing in (False, True))
    notes = (*_NOTES, *(_IN_TURN,) * in_turn, *(_OUT_OF_TURN,) * out_of_turn)
    return [
        Sheet(title, _HEADINGS, tuple(rows), (*_along_curve(title, differences), *notes * (title in last)))
        for title, rows in by_title.items()
    ]


def flat_differences(differences: Sequence[Difference]) -> Sheet:
    """One row per metric, part and pair of cases, values in full."""
    rows = []
    for one in differences:
        difference = None if one.a is None or one.b is None else one.b - one.a
        low, high = one.interval or (None, None)
        values = (one.title, one.metric, one.part, one.a, one.b, difference, low, high, one.direction, one.verdict)
        rows.append(tuple(Cell(writable(value)) for value in values))
    headings = tuple(Heading(title, "word" if title in _WORDS else "number") for title in _FLAT)
    return Sheet("differences", headings, tuple(rows))


def _row(difference: Difference, a: float, b: float) -> tuple[Cell, ...]:
    name = difference.metric if difference.part is None else f"{difference.metric} {difference.part}"
    half = None if difference.interval is None else (difference.interval[1] - difference.interval[0]) / 2
    numbers = (Cell(a, _VALUE), Cell(b, _VALUE), Cell(b - a, _DIFFERENCE), Cell(half, _WIDTH))
    return Cell(name), *numbers, Cell(difference.verdict)


def _along_curve(title: str, differences: Sequence[Difference]) -> Iterator[str]:
    """Say of what grows with the text how the difference goes with its size."""
    growing = [one for one in differences if one.title == title and one.grows_with_text and one.curve]
    if not growing:
        return
    yield "These grow with the text, so that sign and size of B - A can change with more of it;"
    yield "on 1/8, 1/4, 1/2 and all of it B - A is:"
    for one in growing:
        steps = ", ".join(NOTHING if step is None else f"{step:+.3g}" for step in one.curve)
        yield f"{one.metric}: {steps}"

"""Text of strangers in every place of a chart: the engine that draws ends the process, or fails, at some of it."""

from __future__ import annotations

import pytest

from drawn.charts import parsed, spoken_marks, written
from pyharness.report.charts import AxisLabel, Dot, Line, Panel, Point, curves, dots
from pyharness.report.charts.scales import labels
from pyharness.report.sheet import Cell
from pyharness.report.sheet.strings import visible

OF_OBJECTS = ("constructor", "toString", "hasOwnProperty", "valueOf", "__proto__", "__defineGetter__")
NO_XML = ("\x00", "\x1b[31m", "\ufffe", "\uffff", "\ud800", "a\udfff")


@pytest.mark.parametrize("name", [*OF_OBJECTS, *NO_XML, "constructor\ue000", "a\nb", "</text>", "${x}", "datum.x"])
def test_any_text_may_stand_anywhere(name: str) -> None:
    other = f"{name}x"
    drawn = [
        Dot(name, Cell(1.5, part=name), panel=name),
        Dot(other, Cell(2.5), panel=name),
        Dot(name, Cell(3.5), panel=other),
    ]
    svg = dots(drawn, name, name, reference=name)
    shown = visible(name)
    assert {shown, visible(other)} <= set(written(svg))
    assert parsed(svg).get("aria-label") == shown
    assert len(spoken_marks(svg)) == 3
    lines = (Line(name, (Point(1, 2, name), Point(2, 3, name))), Line(other, (Point(1, 4, name),)))
    svg = curves([Panel(name, AxisLabel(name), lines), Panel(other, AxisLabel("y"), lines)], name, AxisLabel(name))
    assert {shown, visible(other)} <= set(written(svg))


def test_a_name_and_one_that_the_engine_needs_marked_are_two() -> None:
    drawn = [Dot("row", Cell(float(number)), panel=name) for number, name in enumerate(("toString", "toString\ue000"))]
    texts = written(dots(drawn, "n", "a"))
    assert [texts.count(name) for name in ("toString", "toString\ue000")] == [1, 1]


@pytest.mark.parametrize("names", [("a", "\uff41", "\uff41 (2)"), ("x", "x ", "x  (2)"), ("x (2)", "x", " x", "x  ")])
def test_no_two_names_have_one_label(names: tuple[str, ...]) -> None:
    assert len(set(labels(names, 16).values())) == len(names)

"""Lines that end close to each other are named by a key."""

from __future__ import annotations

import pytest

from drawn.charts import HOSTILE, SVG, parsed, written
from pyharness.report.charts import AxisLabel, Line, Panel, Point, curves
from pyharness.report.charts.curves import MOST_LABELS
from pyharness.report.charts.scales import labels


def panel(names: list[str], apart: float, points: int = 2, title: str = "") -> Panel:
    lines = (
        Line(name, tuple(Point(x + 1.0, 1.0 + apart * number * x, "") for x in range(points)), marked=False)
        for number, name in enumerate(names)
    )
    return Panel(title, AxisLabel("y"), (*lines, Line("far", (Point(1.0, 100.0, "far"),))))


def key_lines(svg: str) -> list[tuple[str | None, str | None]]:
    """Look of the pieces of lines in the key."""
    rules = [one for one in parsed(svg).iter(f"{SVG}line") if one.get("stroke-width") == "2"]
    return [(one.get("stroke"), one.get("stroke-dasharray")) for one in rules]


def test_lines_that_end_together_have_a_key_and_no_labels() -> None:
    names = ["first", "second", "third"]
    svg = curves([panel(names, 0.1)], "x", AxisLabel("x"))
    assert [text for text in written(svg) if text in (*names, "far")] == [*names, "far"]
    drawn = [(one.get("stroke"), one.get("stroke-dasharray")) for one in parsed(svg).iter(f"{SVG}path")
             if one.get("role") == "img" and one.get("stroke")]  # fmt: skip
    assert key_lines(svg)[:3] == drawn
    assert len({dash for _, dash in drawn}) == 3, "neighbours differ without colour, too"


def test_lines_that_end_apart_have_labels_at_their_ends_and_no_key() -> None:
    svg = curves([panel(["first", "second", "third"], 20)], "x", AxisLabel("x"))
    assert key_lines(svg) == []
    assert {"first", "second", "third"} < {*written(svg)}


def test_points_have_labels_however_close() -> None:
    assert key_lines(curves([panel(["first", "second"], 0, points=1)], "x", AxisLabel("x"))) == []


def test_one_key_names_the_lines_of_all_panels() -> None:
    svg = curves([panel(["a"], 20, title="one"), panel(["b", "c"], 0.01, title="two")], "x", AxisLabel("x"))
    assert [text for text in written(svg) if text in "abc"] == ["a", "b", "c"]
    assert len(key_lines(svg)) == 4


def test_names_in_a_key_are_text_and_of_too_many_there_is_none() -> None:
    svg = curves([panel(list(HOSTILE[:3]), 0.1)], "x", AxisLabel("x"))
    assert {*labels(HOSTILE[:3], 22).values()} < {*written(svg)}
    assert "<script" not in svg
    many = [f"row {number}" for number in range(MOST_LABELS)]
    assert not key_lines(curves([panel(many, 0.01)], "x", AxisLabel("x")))


@pytest.mark.parametrize(
    ("ends", "log", "expected"),
    [
        ((0.0, 100.0), False, {"0", "20", "80", "100"}),
        ((0.0, 0.004), False, {"0.000", "0.001"}),
        ((-3.0, 3.0), False, {"-2", "2"}),
        ((0.0, 1e6), False, {"0.2M", "1M"}),
        ((0.001, 100.0), True, {"0.001", "1", "100"}),
        ((3.0, 40.0), True, {"5", "10", "20"}),
        ((1.0, 1e5), True, {"1", "1k", "100k"}),
    ],
)
def test_places_are_numbers_as_people_write_them(ends: tuple[float, float], log: bool, expected: set[str]) -> None:
    line = Line("a", tuple(Point(float(x), y, "") for x, y in enumerate(ends)))
    shown = {
        text.replace("\u2212", "-")
        for text in written(curves([Panel("", AxisLabel("y", log), (line,))], "x", AxisLabel("x")))
    }
    assert expected <= shown
    assert not any("e+" in text for text in shown)

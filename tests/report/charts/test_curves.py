"""Curves: points stand where their values are, lines are told apart without colour, labels cover none."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from drawn.charts import COLOUR, HOSTILE, SVG, parsed, places, spoken_marks, strokes, written
from pyharness.report.charts import PALETTE, AxisLabel, Dot, Line, Panel, Point, curves, dots
from pyharness.report.charts.curves import MOST_LABELS
from pyharness.report.charts.scales import Label, Scale, spread
from pyharness.report.sheet import Cell


def lines(count: int, points: int, marked: bool = True) -> tuple[Line, ...]:
    return tuple(
        Line(f"row {row}", tuple(Point(10.0**k, 2.0 + row + k, f"{k}, {row}") for k in range(points)), marked)
        for row in range(count)
    )


def panel(*drawn: Line, log: bool = False, title: str = "") -> Panel:
    return Panel(title, AxisLabel("tokens/word", log), drawn)


def marks(svg: str) -> dict[str, tuple[float, float]]:
    """Where what is read out stands."""
    return dict(zip(spoken_marks(svg), places(svg), strict=True))


def test_points_stand_where_their_values_are_and_say_them() -> None:
    svg = curves([panel(*lines(1, 4))], "knee", AxisLabel("V", log=True))
    at = marks(svg)
    assert list(at) == [f"row 0: {k}, 0" for k in range(4)]
    steps = [(b[0] - a[0], b[1] - a[1]) for a, b in itertools.pairwise(at.values())]
    assert all(step == pytest.approx(steps[0], abs=0.21) for step in steps)
    assert steps[0][0] > 0 > steps[0][1], "more is to the right and above"
    assert {"V, log scale", "tokens/word", "row 0"} <= {*written(svg)}


def test_what_has_no_place_on_a_logarithmic_axis_is_not_drawn() -> None:
    line = Line("a", (Point(1.0, 0.0, "zero"), Point(10.0, 5.0, "five"), Point(100.0, 1e12, "large", (-1.0, 2e12))))
    svg = curves([panel(line, log=True)], "x", AxisLabel("x"))
    assert [said for said in spoken_marks(svg) if said] == ["a: five", "a: large"]
    assert not [said for said in spoken_marks(curves([panel(Line("a", ()))], "x", AxisLabel("x"))) if said]


def test_lines_without_marks_say_one_thing() -> None:
    svg = curves([panel(*lines(2, 5, marked=False))], "x", AxisLabel("x", log=True))
    assert spoken_marks(svg) == ["row 0: 0, 0", "row 1: 0, 1"]


def test_lines_are_told_apart_without_colour() -> None:
    svg = curves([panel(*lines(24, 3, marked=False))], "x", AxisLabel("x", log=True))
    drawn = [one for one in parsed(svg).iter(f"{SVG}path") if one.get("role") == "img"]
    looks = {(one.get("stroke"), one.get("stroke-dasharray")) for one in drawn}
    assert len(looks) == 24
    assert {*COLOUR.findall(svg)} <= {colour.light for colour in PALETTE}
    points = parsed(curves([panel(*lines(6, 1))], "x", AxisLabel("x"))).iter()
    shapes = {(one.tag, one.get("d")) for one in points if one.get("role") == "img"}
    assert len(shapes) == 6


def test_a_name_has_one_colour_in_all_panels() -> None:
    first, second = lines(2, 1)
    svg = curves([panel(first, second, title="<one>"), panel(second, title="two")], "x", AxisLabel("x"))
    hues: dict[str, set[str]] = {}
    for one in parsed(svg).iter():
        if (said := one.findtext(f"{SVG}title") or "").startswith("row"):
            hues.setdefault(said, set()).add(one.attrib["fill"])
    assert {name: len(known) for name, known in hues.items()} == {"row 0: 0, 0": 1, "row 1: 0, 1": 1}
    assert {"<one>", "two"} <= {*written(svg)}


def test_hostile_names_are_text_and_bytes_are_the_same() -> None:
    drawn = panel(*(Line(name, (Point(number, number, name),)) for number, name in enumerate(HOSTILE[:9], 1)))
    first, again = (curves([drawn], HOSTILE[0], AxisLabel(HOSTILE[1])) for _ in range(2))
    assert first == again
    assert {*HOSTILE[:2]} < {*spoken_marks(first), *written(first), parsed(first).get("aria-label")}


def test_of_too_many_points_none_is_labelled() -> None:
    for count in (MOST_LABELS, MOST_LABELS + 1):
        svg = curves([panel(*lines(count, 1))], "x", AxisLabel("x"))
        assert sum(text.startswith("row") for text in written(svg)) == (count if count == MOST_LABELS else 0)


def test_labels_do_not_cover_each_other() -> None:
    wanted = [Label(f"label {number}", number * 37 % 300, number * 7 % 90) for number in range(12)]
    placed = [label for _, label in spread(wanted, 200)]
    assert not any(one.covers(other) for one, other in itertools.combinations(placed, 2))
    assert {one.text for one in placed} == {one.text for one in wanted}
    assert all(0 <= one.y <= 200 for one in placed)
    crowded = [Label("the same place", 5, 5)] * 40
    assert len(spread(crowded, 50)) == 40, "where all is full, labels do"


def test_a_label_that_had_to_move_is_led_to() -> None:
    def leaders(*at: float) -> int:
        points = (Line(f"row {number}", (Point(x, 1.0, ""),)) for number, x in enumerate(at))
        svg = curves([panel(*points)], "x", AxisLabel("x"))
        return sum(one.get("stroke-width") == "0.5" and len(one) == 0 for one in parsed(svg).iter())

    assert leaders(0.0, 10.0) == 0
    assert leaders(5.0, 5.01, 5.02, 5.03, 0.0, 10.0) > 0


@pytest.mark.parametrize("values", [(), (5.0,), (-3.0, 7.0), (1e-200, 1e200)])
def test_an_axis_spans_its_values(values: tuple[float, ...]) -> None:
    for log in (False, True):
        scale = Scale.of(values, log)
        for value in values:
            if value > 0 or not log:
                assert 0 <= scale.share(value) <= 1
                assert scale.place(value) == value
            else:
                assert scale.place(value) is None


def looks(svg: str) -> dict[str, tuple[str, str]]:
    """Colour and shape of the marks that are read out, by row."""
    marked = ((one.findtext(f"{SVG}title") or "", one) for one in parsed(svg).iter() if one.get("role") == "img")
    return {
        said.partition(":")[0].partition(",")[0]: (one.attrib["fill"], one.get("d", "circle")) for said, one in marked
    }


def test_a_row_has_one_look_on_every_chart_of_a_page() -> None:
    """Whatever is drawn, in whatever order: what is at its side decides nothing."""
    page = [f"row {number}" for number in range(30)]
    all_of_them = looks(curves([panel(*lines(30, 1))], "x", AxisLabel("x"), page))
    assert len(set(all_of_them.values())) == 30, "where a colour comes again, the shape differs"
    few = [line for line in lines(30, 1) if line.name in ("row 17", "row 3")][::-1]
    assert looks(curves([panel(*few)], "x", AxisLabel("x"), page)).items() <= all_of_them.items()
    dotted = dots(
        [Dot("text", Cell(1.0), series="row 17"), Dot("other", Cell(2.0), series="row 3")], "x", "x", rows=page
    )
    assert [colour for colour, _ in looks(dotted).values()] == [all_of_them[row][0] for row in ("row 17", "row 3")]


def test_the_best_are_in_bold_and_joined() -> None:
    names = [f"row {number}" for number in range(3)]
    plain = panel(*(Line(name, (Point(x, 3 - x, ""),)) for x, name in enumerate(names)))
    bold = replace(plain, best=("row 0", "row 2"))
    without, svg = (curves([one], "x", AxisLabel("x"), names) for one in (plain, bold))
    heavy = {one.text for one in parsed(svg).iter(f"{SVG}text") if one.get("font-weight") == "bold"}
    assert heavy == {"row 0", "row 2"}
    assert not [one for one in parsed(without).iter(f"{SVG}text") if one.get("font-weight") == "bold"]
    assert strokes(svg) == strokes(without) + 1


def test_panels_of_one_quantity_share_its_axis() -> None:
    low, high = (panel(Line("a", tuple(Point(1.0, y, "") for y in (1.0, top)))) for top in (2.0, 1000.0))
    both = curves([replace(low, title="low"), replace(high, title="high")], "x", AxisLabel("x"))
    assert [text for text in written(both) if text == "1,000" or text == "1000"] == ["1,000", "1,000"]
    other = replace(high, title="high", y=AxisLabel("other"))
    assert written(curves([replace(low, title="low"), other], "x", AxisLabel("x"))).count("1,000") == 1


def test_a_logarithmic_axis_says_so() -> None:
    svg = curves([panel(*lines(2, 2), log=True)], "x", AxisLabel("V", log=True))
    assert {"V, log scale", "tokens/word, log scale"} <= {*written(svg)}
    linear = curves([panel(*lines(2, 2))], "x", AxisLabel("V"))
    assert not [text for text in written(linear) if "log" in text]
    assert "MB/s, log scale" in written(dots([Dot("a", Cell(1.0))], "x", "MB/s", log=True))

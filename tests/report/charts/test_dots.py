"""Dots: what is read out is what tables show; names are text; odd values have their place or are said in words."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from drawn.charts import COLOUR, HOSTILE, parsed, places, spoken_marks, strokes, written
from pyharness.report.charts import PALETTE, Dot, dots
from pyharness.report.charts.dots import MOST_ROWS, MOST_SPOKEN
from pyharness.report.sheet import Cell
from pyharness.report.sheet.strings import shorten, visible
from pyharness.types import Format

RATE = Format("{:.2f}", 1e-6, "MB/s")


def rows(values: Sequence[float | None], panel: str = "") -> list[Dot]:
    return [Dot(f"row {number}", Cell(value), panel=panel) for number, value in enumerate(values)]


def test_values_are_read_out_as_tables_show_them_and_stand_in_order() -> None:
    drawn = [Dot(f"row {number}", Cell(value * 1e6, RATE, (value * 0.9e6, value * 1.1e6), samples=(value * 1e6,) * 3))
             for number, value in enumerate((30, 20, 10))]  # fmt: skip
    svg = dots(drawn, "speed", "MB/s", reference="row 1")
    said = spoken_marks(svg)
    assert sorted(said) == [f"{dot.row}: {dot.cell.text}" for dot in drawn]
    assert min(said) == "row 0: 30.0 ±3.0"
    assert [label for label in written(svg) if label.startswith("row")] == ["row 0", "row 1", "row 2"]
    at = dict(zip(said, (x for x, _ in places(svg)), strict=True))
    apart = sorted(at.values())
    assert [said[:5] for said in sorted(at, key=lambda one: at[one])] == ["row 2", "row 1", "row 0"]
    assert apart[1] - apart[0] == pytest.approx(apart[2] - apart[1], abs=0.2), "an axis in what is shown"
    assert parsed(svg).get("aria-label") == "speed"


def test_hostile_names_are_text() -> None:
    svg = dots([Dot(name, Cell(float(number))) for number, name in enumerate(HOSTILE)], HOSTILE[0], HOSTILE[1])
    said = [label.removesuffix(f": {number}.0000") for number, label in enumerate(spoken_marks(svg))]
    assert said == [shorten(visible(name), 200) for name in HOSTILE]
    assert HOSTILE[1] in written(svg)
    assert len({*written(svg)}) >= len(HOSTILE) + 1, "no two are alike"
    assert "<script" not in svg


def test_names_that_look_alike_have_rows_of_their_own() -> None:
    svg = dots([Dot("a", Cell(1)), Dot("a\u200b", Cell(2)), Dot("A", Cell(3)), Dot("\uff21", Cell(4))], "x", "x")
    assert [label for label in written(svg) if label[0] in "aA\uff21"] == ["a", r"a\x200b", "A", "\uff21 (2)"]
    assert len({y for _, y in places(svg)}) == 4


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize(
    "values",
    [
        (None,),
        (0.0,),
        (-1.0, 0.0, 1.0),
        (1e-6, 1e6),
        (None, None),
        (5.0,),
        (5.0, 5.0),
        (1e300, 1e-300),
        (0.0, None, 1e12),
    ],
)
def test_odd_values_are_said(values: tuple[float | None, ...], log: bool) -> None:
    svg = dots(rows(values), "odd", "x", log=log)
    said = dict(label.split(": ", 1) for label in spoken_marks(svg))
    for number, value in enumerate(values):
        expected, comma, reason = said[f"row {number}"].partition(", ")
        assert expected == ("no number" if value is None else Cell(value).text)
        assert bool(comma and reason) == (log and value is not None and value <= 0)
    assert all(0 <= place <= 700 for place, _ in places(svg))


def test_an_interval_below_zero_ends_at_the_edge_of_a_logarithmic_axis() -> None:
    svg = dots([Dot("a", Cell(1.0, interval=(-5.0, 7.0))), Dot("b", Cell(10.0))], "x", "x", log=True)
    assert "a: 1.0 ±6.0" in spoken_marks(svg)
    intervals = [one for one in parsed(svg).iter() if one.get("stroke-width") == "2" and len(one) == 0]
    assert len(intervals) == 1


def test_every_sample_is_drawn() -> None:
    ends = [Dot("b", Cell(1.0)), Dot("c", Cell(3.0))]  # of the axis, which has the same ticks both times
    plain, sampled = (
        dots([*ends, Dot("a", Cell(2.0, samples=samples))], "x", "x") for samples in ((), (1.0, 2.0, 2.5))
    )
    assert strokes(sampled) - strokes(plain) == 3


def test_of_many_rows_both_ends_are_drawn() -> None:
    svg = dots(rows([float(number) for number in range(200)]), "many", "x")
    said = [int(label.split()[1].rstrip(":")) for label in spoken_marks(svg)]
    assert said == [*range(MOST_ROWS // 2), *range(200 - MOST_ROWS // 2, 200)]
    assert "x (rows 31 to 170: in the table)" in written(svg)


def test_panels_share_rows_and_may_lack_some() -> None:
    drawn = [*rows([1.0, 2.0], panel="first"), *rows([3.0], panel="<second>"), *rows([4.0, 5.0], panel="third"),
             *rows([6.0], panel="fourth")]  # fmt: skip
    svg = dots(drawn, "panels", "x", at=2.0)
    assert sorted(spoken_marks(svg)) == sorted(f"{dot.row}, {dot.panel}: {dot.cell.text}" for dot in drawn)
    assert {"first", "<second>", "third", "fourth"} <= {*written(svg)}


def test_of_many_marks_the_table_is_read_and_all_are_drawn() -> None:
    def marked(count: int) -> tuple[int, int, str]:
        panels = [rows([1.0 + number for number in range(10)], panel=f"panel {number}") for number in range(count)]
        svg = dots([dot for several in panels for dot in several], "many", "x")
        drawn = [one for one in parsed(svg).iter() if one.get("stroke-linecap") == "round"]
        label = parsed(svg).attrib["aria-label"]
        return len(spoken_marks(svg)), sum(one.attrib["d"].count("M") for one in drawn), label

    assert marked(MOST_SPOKEN // 10) == (MOST_SPOKEN, 0, "many")
    *counts, label = marked(7)
    assert counts == [0, 70]
    assert label.startswith("many: 70 ")


def test_the_same_data_is_the_same_text_in_colours_of_the_palette() -> None:
    first, again = (dots(rows([1.0, 2.0, None]), "x", "x", reference="row 1", at=1.5) for _ in range(2))
    assert first == again
    assert {*COLOUR.findall(first)} <= {colour.light for colour in PALETTE}
    assert 'width="' not in first.partition(">")[0]
    assert "viewBox" in first

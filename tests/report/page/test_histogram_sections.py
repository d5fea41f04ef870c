"""Tokens by rank and by length on a page: the record's counts in the tables, and curves that follow from them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawn.charts import HOSTILE, parsed, spoken_marks, written
from paged import made
from pyharness import store
from pyharness.metrics.counting.histograms import LENGTHS, RANKS, TEXT, TYPES, VOCABULARY
from pyharness.report.page.histograms import MOST_ROWS, TextHistograms, at_least, frequencies, lengths, ranks
from pyharness.report.sheet.parts import Figure, Section
from pyharness.types import Histogram

OF_RANKS = RANKS, 1, (TEXT, TYPES)
RANKED = {"edges": [1, 2, 4, 8], "counts": {TEXT: [50, 30, 20], TYPES: [1, 2, 3]}}
LONG = {"edges": [0, 1, 2, 3, 4], "counts": {TEXT: [0, 60, 40, 0], VOCABULARY: [0, 3, 5, 2]}}


def case(row: str, text: str, size: int = 1000, digest: str = "a", histograms: Any = None) -> dict[str, Any]:
    result = made.case("compression", row, text, [{"metric": "bytes_per_token", "value": 4.0}])
    tally = {"documents": 1, "bytes": size, "digest": digest * 32}
    return result | {"details": {"tally": tally, "histograms": histograms or {RANKS: RANKED, LENGTHS: LONG}}}


def record(*results: Mapping[str, Any], reference: str | None = None) -> store.Record:
    rows, texts = (list(dict.fromkeys(one[key] for one in results)) for key in ("tokenizer", "corpus"))
    return made.of_results(results, rows, texts, suite={"name": "x", "reference": reference})


def figure(sections: Sequence[Section]) -> Figure:
    (section,) = sections
    found = section.blocks[-1]
    assert isinstance(found, Figure)
    return found


def test_tables_hold_the_counts_of_the_record() -> None:
    read = record(case("a", "text"), case("b", "text"))
    of_ranks, of_lengths = figure(list(ranks(read))).numbers, figure(list(lengths(read))).numbers
    assert of_ranks.columns == ("tokenizer", "ids", "1", "2-3", "4-7")
    assert [[cell.value for cell in row] for row in of_ranks.rows] == [[row, 6, 50, 30, 20] for row in "ab"]
    assert of_lengths.columns == ("tokenizer", "counted", "all", "0", "1", "2", "3")
    assert [[cell.value for cell in row[2:]] for row in of_lengths.rows] == [[100, 0, 60, 40, 0]] * 2 + [
        [10, 0, 3, 5, 2]
    ] * 2
    for sheet in (of_ranks, of_lengths):
        keys = [[cell.case for cell in row if cell.case] for row in sheet.rows]
        assert keys == [[result.case.key] for result in read.results] * (len(sheet.rows) // 2)


def test_curves_follow_from_the_counts() -> None:
    known = Histogram((1, 2, 4, 8), {TEXT: (50, 30, 20), TYPES: (1, 2, 3)})
    line = frequencies("a", known)
    assert [(point.x, point.y) for point in line.points] == [
        (1, 50), (pytest.approx(math.sqrt(6)), 15), (pytest.approx(math.sqrt(24)), 20 / 3),
    ]  # fmt: skip
    tail = at_least("a", Histogram((0, 1, 2, 3, 4), {TEXT: (0, 60, 40, 0)}), TEXT, "tokens")
    assert tail is not None
    assert [(point.x, point.y) for point in tail.points] == [(0, 100), (1, 100), (2, 40), (3, 0)]
    assert at_least("a", Histogram((0, 1), {TEXT: (0,)}), TEXT, "tokens") is None
    assert at_least("a", Histogram((0, 1), {}), TEXT, "tokens") is None


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=12))
def test_shares_at_least_so_long_fall_from_all_to_none(counts: list[int]) -> None:
    line = at_least("a", Histogram(tuple(range(len(counts) + 1)), {TEXT: tuple(counts)}), TEXT, "tokens")
    if not sum(counts):
        assert line is None
        return
    assert line is not None
    for point in line.points:
        assert point.y == pytest.approx(100 * sum(counts[int(point.x) :]) / sum(counts))
    assert (line.points[0].y, line.points[-1].y) == (100, 0)


def test_each_row_is_a_line_of_every_panel() -> None:
    read = record(case("a", "text"), case("<b>", "text"))
    for sections, panels in ((ranks(read), 1), (lengths(read), 2)):
        svg = figure(list(sections)).svg
        assert sorted(said.partition(":")[0] for said in spoken_marks(svg)) == ["<b>"] * panels + ["a"] * panels
        assert parsed(svg).get("aria-label")


def test_the_text_that_most_rows_have_is_drawn_of_several_the_largest() -> None:
    results = [
        case(row, text, size, digest) for row in "ab" for text, size, digest in (("small", 10, "a"), ("large", 99, "b"))
    ]
    counted = TextHistograms.of(record(*results, case("a", "alone", 10**9, "c")), *OF_RANKS)
    assert counted is not None
    assert counted.text == "large"
    (said,) = counted.left_out
    assert "large" in said
    assert "2 more texts" in said


def test_one_name_of_two_texts_is_two_texts() -> None:
    counted = TextHistograms.of(record(case("a", "text"), case("b", "text", digest="b"), case("c", "text")), *OF_RANKS)
    assert counted is not None
    assert [one.case.tokenizer for one in counted.results] == ["a", "c"]


def test_of_many_rows_the_reference_and_the_first_are_drawn() -> None:
    rows = made.names("row", 30)
    (section,) = ranks(record(*(case(row, "text") for row in rows), reference="row-20"))
    assert f"{MOST_ROWS} of 30 rows" in str(section.blocks[0])
    drawn = [row[0].value for row in figure([section]).numbers.rows]
    assert drawn == ["row-20", *rows[: MOST_ROWS - 1]]


def test_a_record_without_histograms_has_no_section() -> None:
    read = made.record(["a", "b"], ["text"])
    assert not list(ranks(read))
    assert not list(lengths(read))


@pytest.mark.parametrize(
    "odd",
    [
        {"edges": [1, 2], "counts": {TEXT: [5]}},
        {"edges": [1, 2], "counts": {TYPES: [5]}},
        {"edges": [1, 2], "counts": {TEXT: [0], TYPES: [0]}},
        {"edges": [1], "counts": {TEXT: [], TYPES: []}},
        {"edges": [], "counts": {}},
        {"edges": [-5, 0, 7], "counts": {TEXT: [5, 5], TYPES: [1, 1]}},
        {"edges": [1, 2, 3], "counts": {TEXT: [5, 10**140], TYPES: [0, 10**140]}},
    ],
)
def test_histograms_that_make_no_sense_are_drawn_as_far_as_they_go(odd: Any) -> None:
    read = record(case("a", "text", histograms={RANKS: odd, LENGTHS: odd}), case("b", "text"))
    for make in (ranks, lengths):
        for section in make(read):
            assert re.search("<svg", figure([section]).svg)


def test_rows_of_different_ends_share_their_bins() -> None:
    short = {"edges": [1, 2], "counts": {TEXT: [9], TYPES: [1]}}
    read = record(case("a", "text"), case("b", "text", histograms={RANKS: short}))
    sheet = figure(list(ranks(read))).numbers
    assert [cell.text for cell in sheet.rows[1]] == ["b", "1", "9", "-", "-"]


@pytest.mark.parametrize("name", [*HOSTILE, "\ufffe", "\ufdd0"])
def test_names_of_strangers_are_text_and_short_in_drawings(name: str) -> None:
    read = record(case(name, name), case("b", name), reference=name)
    for make in (ranks, lengths):
        svg = figure(list(make(read))).svg
        assert parsed(svg).get("aria-label")
        assert max(map(len, written(svg))) < 60
        assert "<script" not in svg

"""What a report begins with: winners, ties, costs; nothing is claimed that was not measured."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from paged import made
from pyharness import store
from pyharness.benchmarks import benchmarks
from pyharness.report import summary
from pyharness.report.exporters.text import to_text
from pyharness.report.ranking import ranking_sheets
from pyharness.report.summary import MOST_TEXTS, TITLE, summary_sheets
from pyharness.types import Answer
from ranked.records import column, record


def answers(read: store.Record) -> dict[str, str]:
    sheets = summary_sheets(read)
    return {str(question): str(text) for sheet in sheets for question, text in sheet.texts}


def results_of(benchmark: str, **rows: Mapping[str, Any]) -> store.Record:
    return made.of_results(
        [made.case(benchmark, row, "text", [one]) for row, one in rows.items()], list(rows), ["text"]
    )


def test_the_first_row_of_each_text_is_named_with_the_next_and_its_cost() -> None:
    read = record(*column({"best": 4.0, "next": 2.0, "last": 1.0}, 1, 0))
    assert answers(read)["Fewest tokens"] == "text: best, then next +100 %."


def test_of_many_texts_wins_are_counted() -> None:
    texts = made.names("text", MOST_TEXTS + 1)
    rows = [one for text in texts for one in column({"a": 4.0, "b": 2.0}, 1, 0, text)]
    assert answers(record(*rows))["Fewest tokens"] == f"a on {len(texts)} of {len(texts)} texts."


def test_rows_that_share_a_rank_are_tied_here_as_in_the_ranking() -> None:
    read = record(*column({"a": 4.0, "b": 4.0, "c": 1.0}, 1, 0))
    (ranking,) = ranking_sheets(read)
    assert [row[2] for row in ranking.texts] == ["1", "1", "3"]
    said = answers(read)
    assert "tied with b" in said["Fewest tokens"]
    assert said["Tied"] == "rank 1: a and b on text."


def test_ties_are_named_with_their_rank_the_best_first() -> None:
    low = column({"a": 4.0, "b": 1.0, "c": 1.0}, 1, 0, "low")
    top = column({"a": 4.0, "b": 4.0, "c": 1.0}, 1, 0, "top")
    assert answers(record(*low, *top))["Tied"] == "rank 1: a and b on top; rank 2: b and c on low."


def test_without_evidence_there_is_no_winner() -> None:
    lacking = [{**one, "measurements": [{"metric": "bytes_per_token", "value": value}]}
               for one, value in zip(column({"a": 4.0, "b": 3.0}, 1, 0), (4.0, 3.0), strict=True)]  # fmt: skip
    said = answers(record(*lacking))
    assert "no rank" in said["Fewest tokens"]
    assert said["No rank"] == "a and b on text."
    assert "Tied" not in said


def test_a_row_that_nothing_judges_is_named_next_to_others() -> None:
    judged = column({"a": 4.0, "b": 2.0, "c": 1.0}, 1, 0)
    assert answers(record(*judged))["Tied"].startswith("No pair")
    judged[-1] = {**judged[-1], "measurements": [{"metric": "bytes_per_token", "value": 1.0}]}
    assert answers(record(*judged))["No rank"] == "c on text."


def test_costs_are_shares_beyond_the_best_with_bars_as_long_as_what_is_needed() -> None:
    (ranking,) = ranking_sheets(record(*column({"best": 4.0, "next": 2.0, "last": 1.0}, 1, 0)))
    cells = [row[1] for row in ranking.rows]
    assert [cell.value for cell in cells] == pytest.approx([0, 1, 3], rel=0.05)
    assert [cell.bar for cell in cells] == pytest.approx([0.25, 0.5, 1], rel=0.05)
    lines = to_text([ranking]).splitlines()
    assert [line.count("█") for line in lines if line.startswith(("best", "next", "last"))] == [1, 3, 6]


@pytest.mark.parametrize(
    ("name", "measured"),
    [("reachability", {"metric": "stt_tested", "value": 5}),
     ("reachability", {"metric": "unreachable_pipeline", "value": None, "reason": "no vocabulary"}),
     ("integrity", {"metric": "exact_round_trip_share", "value": 0.5})],
)  # fmt: skip
def test_nothing_is_said_to_be_free_of_what_was_not_tested(name: str, measured: Mapping[str, Any]) -> None:
    assert answers(results_of(name, a=measured)) == {}


def test_rows_with_unreachable_tokens_and_lost_text_are_named() -> None:
    said = answers(results_of("reachability", a={"metric": "unreachable_pipeline", "value": 1200},
                              b={"metric": "unreachable_pipeline", "value": 0}))  # fmt: skip
    assert said["Unreachable tokens"] == "a: 1,200."
    share = {"metric": "exact_round_trip_share", "part": "text"}
    said = answers(results_of("integrity", a={**share, "value": 0.75}, b={**share, "value": 1.0}))
    assert re.fullmatch(r"a \(25 % of .*\btext\)\.", said["Loses text"])
    assert "(100 % of" in answers(results_of("integrity", a={**share, "value": 0.0}))["Loses text"]


@pytest.mark.parametrize(("slower", "tied"), [([1e7, 1.01e7, 0.99e7], False), ([9e7, 11e7, 10.2e7], True)])
def test_the_fastest_is_tied_where_the_ratio_does_not_tell(slower: list[float], tied: bool) -> None:
    speed = {"metric": "encode_bytes_per_second", "part": "steady"}
    rows = {name: {**speed, "value": some[0], "samples": some}
            for name, some in (("fast", [10e7, 10.1e7, 10.2e7]), ("slow", slower))}  # fmt: skip
    assert ("tied with slow" in answers(results_of("throughput", **rows))["Fastest encoding"]) is tied


def test_a_strangers_answer_that_fails_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> Iterable[Answer]:
        raise RuntimeError("mine")

    own = replace(benchmarks()["reachability"], answers=broken)
    monkeypatch.setattr(summary, "benchmarks", lambda: {"reachability": own})
    said = answers(results_of("reachability", a={"metric": "unreachable_pipeline", "value": 0}))
    assert "RuntimeError: mine" in said["reachability"]


def test_a_record_without_answers_has_no_sheet() -> None:
    assert summary_sheets(made.of_results([], [], [])) == []
    assert TITLE in [sheet.title for sheet in summary_sheets(record(*column({"a": 4.0, "b": 1.0}, 1, 0)))]

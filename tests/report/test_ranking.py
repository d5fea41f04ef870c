"""Ranks: what is not told apart shares one, as ``compare`` has it; sorted; without an interval there is none."""

from __future__ import annotations

import math

import numpy as np
import pytest

import pyharness
from pyharness import report, store
from pyharness.report import comparison
from pyharness.report.ranking import NO_RANK, Ranked, Row, ranked, ranking_sheets
from pyharness.types import InputError
from ranked.records import METRIC, case, column, record


def ranks_of(read: store.Record) -> dict[str, Ranked]:
    return ranked([Row(one.case.tokenizer, read, one) for one in read.results], METRIC)


@pytest.mark.parametrize("direction", ["higher", "lower"])
@pytest.mark.parametrize("seed", range(20))
def test_a_rank_begins_where_compare_says_worse(seed: int, direction: str) -> None:
    draw = np.random.default_rng(seed)
    means = {f"row{number}": 4 + float(draw.choice([0, 0.01, 0.1, 0.5])) * draw.random() for number in range(8)}
    read = record(*column(means, 1, seed), direction=direction)
    ranks = ranks_of(read)
    values = [one.value for one in ranks.values()]
    assert values == sorted(means.values(), reverse=direction == "higher")
    leader = next(iter(ranks))
    for place, (row, one) in enumerate(ranks.items(), 1):
        if row != leader:
            (difference,) = comparison.rows(read, leader, row)
            if difference.verdict == "worse":
                leader = row
                assert one.rank == place
            else:
                assert difference.verdict in ("same", "not resolved")
        assert one.rank == ranks[leader].rank


def test_both_kinds_of_neighbours_were_met() -> None:
    apart = record(*column({"a": 4.0, "b": 3.0, "c": 2.0}, 1, 0))
    assert [one.rank for one in ranks_of(apart).values()] == [1, 2, 3]
    alike = record(*column({"a": 4.0, "b": 4.0 - 1e-4, "c": 2.0}, 1, 0))
    assert [one.rank for one in ranks_of(alike).values()] == [1, 1, 3]


def test_without_an_interval_there_is_a_value_and_no_rank() -> None:
    read = record(case("a", "text", 4.0, ()), case("b", "text", 3.0, ()))
    (sheet,) = ranking_sheets(read)
    assert sheet.texts == (("a", "4.0000", "-"), ("b", "3.0000", "-"))
    assert NO_RANK in sheet.notes
    some = [4.0 + number / 1000 for number in range(32)]
    other = record(case("a", "text", 4.0, some), case("b", "text", 3.0, some, digest="2"))
    assert {one.rank for one in ranks_of(other).values()} == {None}, "not one text: no rank"
    with pytest.raises(InputError, match="not the same text"):
        comparison.rows(other, "a", "b")


def test_rows_are_sorted_over_all_texts_and_texts_are_told_apart() -> None:
    names = [f"path:/long/way/to/some/texts/{name}.jsonl" for name in ("one", "two", "three", "four")]
    means = {"good": 4.0, "fair": 3.5, "poor": 2.0}
    results = [one for number, text in enumerate(names) for one in column(means, 0.1, number, text)]
    results += [case("rare", names[0], 9.0, [9.0] * 32)]
    first, second = ranking_sheets(record(*results))
    for sheet in (first, second):
        assert [row[0] for row in sheet.texts] == ["good", "fair", "poor", "rare"], "what lacks texts comes last"
    assert len({*first.columns[1::2], *second.columns[1::2]}) == len(names)
    assert [row[2] for row in first.texts] == ["2", "3", "4", "1"]
    assert second.texts[-1][1:] == ("-", "-")
    assert (bool(first.notes), bool(second.notes)) == (False, True)
    assert max(map(len, report.to_text([first, second]).splitlines())) <= 80


def test_rows_that_leave_text_out_are_named() -> None:
    read = record(*column({"a": 4.0, "b": 3.0}, 1, 0))
    (sheet,) = ranking_sheets(read)
    assert not any("ossy" in note for note in sheet.notes)
    assert NO_RANK not in sheet.notes
    read.data["tokenizers"]["a"]["round_trip"] = "lossy"
    (sheet,) = ranking_sheets(read)
    (note,) = [note for note in sheet.notes if "Lossy" in note]
    assert note.endswith(": a.")


def test_one_row_has_no_rank() -> None:
    assert not ranking_sheets(record(*column({"a": 1.0}, 1, 0)))
    assert not ranking_sheets(record(*column({"a": math.e}, 1, 0), *column({"b": 2.0}, 1, 0, "other text")))


def test_a_real_run_is_ranked_first() -> None:
    result = pyharness.run(["raw_bytes", "mistral:v3"], ["sample:prose"], ["compression"])
    first = report.sheets(result.record)[0]
    assert first.title == "Ranking by bytes per token"
    assert [(row[0], row[2]) for row in first.texts] == [("mistral:v3", "1"), ("raw_bytes", "2")]
    assert any("smoke test" in note for note in first.notes)

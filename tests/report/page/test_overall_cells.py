"""Rows over all texts: what stands in the first columns of the answer."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

import numpy as np
import pytest

from paged import made
from pyharness import store
from pyharness.report.page.answer import overall_cells
from pyharness.report.ranking import ordered, ranked_texts
from pyharness.report.sheet import Cell
from pyharness.statistics.family import overall

METRIC = "bytes_per_token"


def cells_of(record: store.Record, reference: str) -> dict[str, tuple[Cell, Cell]]:
    columns = ranked_texts(record, "compression", METRIC)
    return overall_cells(columns, METRIC, ordered(list(columns.values())), reference)


def rows_of(values: dict[str, Sequence[float | None]], noise: float) -> store.Record:
    """Rows on a few texts; rows differ in which groups have more."""
    results = [
        made.case("compression", row, f"text-{place}", [measured(value, noise * (1 + len(row) % 3))])
        for row, of_texts in values.items()
        for place, value in enumerate(of_texts)
        if value is not None
    ]
    texts = [f"text-{place}" for place in range(max(map(len, values.values())))]
    return made.of_results(results, list(values), texts)


def measured(value: float, noise: float) -> dict[str, object]:
    replicates = [value * (1 + noise * math.sin(group)) for group in range(32)]
    return {"metric": METRIC, "value": value, "replicates": replicates}


def test_ratios_are_those_of_the_record() -> None:
    record = made.record(made.names("row", 4), made.names("text", 3), timed=False)
    found = cells_of(record, "row-01")
    by_case = {(one.case.tokenizer, one.case.corpus): one.measurements[0] for one in record.results}
    for row, (cell, _) in found.items():
        texts = [f"text-{place:02}" for place in range(3)]
        expected = overall([(by_case["row-01", text], by_case[row, text]) for text in texts])
        assert expected is not None
        assert cell.value == expected.ratio
        assert cell.interval == (None if row == "row-01" else expected.interval)
    assert found["row-01"][0].text == "1.000"


def test_rows_that_are_not_told_apart_share_a_rank() -> None:
    record = rows_of({"a": [4.0, 4.0], "bb": [3.999, 4.001], "ccc": [3.0, 3.0]}, 1e-3)
    assert [cell.value for _, cell in cells_of(record, "a").values()] == [1, 1, 3]


@pytest.mark.parametrize(("largest", "rank"), [(1, 2), (8, 1)])
def test_of_documents_of_unequal_size_all_groups_have_to_agree(largest: int, rank: int) -> None:
    """It is so where one of the texts is such: a third of groups say otherwise, and the interval is clear of 1."""
    cell, found = cells_of(of_sizes(largest, rows_of({"a": [4.0, 4.0], "bb": [3.97, 3.97]}, 5e-4)), "a")["bb"]
    assert cell.interval is not None
    assert cell.interval[1] < 1
    assert found.value == rank


@pytest.mark.parametrize(("largest", "rank"), [(1, 2), (8, 1)])
def test_without_an_interval_one_group_may_disagree_unless_documents_are_of_unequal_size(
    largest: int, rank: int
) -> None:
    apart = np.array([0.06] * 3 + [0.004] * 28 + [-0.004])  # what a group has less, as a share
    lower = 4 * math.exp(-apart.mean())
    below = {
        "metric": METRIC, "value": lower, "replicates": (lower * np.exp((apart - apart.mean()) / 31)).tolist(),
    }  # fmt: skip
    results = [
        made.case("compression", row, text, [one])
        for text in ("text-0", "text-1")
        for row, one in (("a", measured(4.0, 0)), ("b", below))
    ]
    cell, found = cells_of(of_sizes(largest, made.of_results(results, ["a", "b"], ["text-0", "text-1"])), "a")["b"]
    assert cell.interval is None
    assert found.value == rank


def of_sizes(largest: int, record: store.Record) -> store.Record:
    """The same where four groups of the first text have so many times the bytes of the others."""
    data = json.loads(json.dumps(record.data))
    for one in data["results"]:
        many = largest if one["corpus"] == "text-0" else 1
        one["details"]["groups"] |= {"documents": [4] * 32, "bytes": [1000 * many] * 4 + [1000] * 28}
    return store.Record.from_json(data, "it")


def test_ranks_follow_the_direction() -> None:
    data = json.loads(json.dumps(rows_of({"a": [4.0, 4.0], "bb": [2.0, 2.0]}, 1e-4).data))
    data["metrics"][METRIC]["direction"] = "lower"
    lower = cells_of(store.Record.from_json(data, "it"), "a")
    assert {row: rank.value for row, (_, rank) in lower.items()} == {"bb": 1, "a": 2}


def test_a_row_that_lacks_a_text_has_no_place() -> None:
    assert set(cells_of(rows_of({"a": [4.0, 4.0], "bb": [3.0, None]}, 1e-3), "a")) == {"a"}


@pytest.mark.parametrize("reference", ["a", "bb"])
def test_other_text_is_not_put_together(reference: str) -> None:
    data = json.loads(json.dumps(rows_of({"a": [4.0, 4.0], "bb": [3.0, 3.0]}, 1e-3).data))
    data["results"][-1]["details"]["tally"]["digest"] = "0" * 32
    assert set(cells_of(store.Record.from_json(data, "it"), reference)) == {reference}


def test_without_intervals_there_are_ratios_and_no_ranks() -> None:
    results = [
        made.case("compression", row, text, [{"metric": METRIC, "value": value, "no_interval": "3 documents"}])
        for row, value in (("a", 3.0), ("b", 2.0))
        for text in ("one", "two")
    ]
    found = cells_of(made.of_results(results, ["a", "b"], ["one", "two"]), "a")
    assert [(cell.value, cell.interval, rank.value) for cell, rank in found.values()] == [
        (1.0, None, None),
        (pytest.approx(2 / 3), None, None),
    ]


def test_a_row_that_cannot_be_judged_on_a_text_has_a_ratio_and_no_rank() -> None:
    data = json.loads(json.dumps(rows_of({"a": [4.0, 4.0], "bb": [3.0, 3.0], "ccc": [2.0, 2.0]}, 1e-4).data))
    data["results"][0]["measurements"][0]["replicates"] = []
    found = cells_of(store.Record.from_json(data, "it"), "bb")
    assert {row: rank.value for row, (_, rank) in found.items()} == {"a": None, "bb": 1, "ccc": 2}
    assert found["a"][0].value == pytest.approx(4 / 3)


def test_all_pairs_are_judged_at_once_over_all_texts() -> None:
    """Of thirty rows whose texts are noise, some pair is told apart by its interval, and the table has one rank."""
    draw = np.random.default_rng(1)
    rows = [f"row-{number:02}" for number in range(30)]
    results = []
    for row in rows:
        for text in ("one", "two"):
            tokens = np.exp(draw.normal(0, 0.1, 32)).tolist()
            replicates = [31 / (sum(tokens) - one) for one in tokens]
            measured = {"metric": METRIC, "value": 32 / sum(tokens), "replicates": replicates}
            results.append(made.case("compression", row, text, [measured]))
    record = made.of_results(results, rows, ["one", "two"])
    first, *_, last = cells_of(record, "row-00")
    columns = ranked_texts(record, "compression", METRIC)
    ends = [(column[first].row, column[last].row) for column in columns.values()]
    between = overall([(a.measured(METRIC), b.measured(METRIC)) for a, b in ends])
    assert between is not None
    assert between.interval is not None
    assert not between.interval[0] <= 1 <= between.interval[1]
    assert {rank.value for _, rank in cells_of(record, "row-00").values()} == {1}

"""Ranks: what is not told apart over all pairs shares one; sorted; what cannot be judged has none."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest

import pyharness
from pyharness import report, store
from pyharness.report import comparison
from pyharness.report.ranking import (
    ALONE,
    NOT_COUNTED,
    NOT_POSITIVE,
    OTHER_TEXT,
    TOO_FEW,
    Contender,
    Ranked,
    parts_on_text,
    ranked,
    ranking_sheets,
)
from pyharness.statistics.family import told_apart
from pyharness.statistics.jackknife import half_width
from pyharness.types import InputError
from ranked.records import GROUPS, METRIC, case, column, record


def ranks_of(read: store.Record) -> dict[str, Ranked]:
    return ranked([Contender(one.case.tokenizer, read, one) for one in read.results], METRIC)


@pytest.mark.parametrize("direction", ["higher", "lower"])
@pytest.mark.parametrize("seed", range(10))
def test_a_row_is_worse_than_the_first_of_each_rank_above_as_compare_has_it(seed: int, direction: str) -> None:
    """``compare`` judges two rows alone: it may tell two of one rank apart, and never says less than the table."""
    draw = np.random.default_rng(seed)
    means = {f"row{number}": 4 + float(draw.choice([0, 0.01, 0.1, 0.5])) * draw.random() for number in range(8)}
    read = record(*column(means, 1, seed), direction=direction)
    ranks = list(ranks_of(read).items())
    values = [one.value for _, one in ranks]
    assert values == sorted(means.values(), reverse=direction == "higher")
    assert [one.rank for _, one in ranks] == [
        next(place for place, (_, first) in enumerate(ranks, 1) if first.rank == one.rank) for _, one in ranks
    ], "the place of the first of the rank"
    for (better, above), (row, one) in combinations(ranks, 2):
        if above.rank != one.rank and ranks[(above.rank or 0) - 1][0] == better:
            (difference,) = comparison.rows(read, better, row)
            assert difference.verdict == "worse"


def test_both_kinds_of_neighbours_were_met() -> None:
    apart = record(*column({"a": 4.0, "b": 3.0, "c": 2.0}, 1, 0))
    assert [one.rank for one in ranks_of(apart).values()] == [1, 2, 3]
    alike = record(*column({"a": 4.0, "b": 4.0 - 1e-4, "c": 2.0}, 1, 0))
    assert [one.rank for one in ranks_of(alike).values()] == [1, 1, 3]


def test_no_rank_begins_above_a_row_that_is_tied_with_the_first() -> None:
    """It may be as good as ``a``: with a rank of its own, it would be said to be worse."""
    alone = record(*column({"a": 4.0, "b": 3.7}, 1, 5))
    assert [one.rank for one in ranks_of(alone).values()] == [1, 2]
    wide = case("c", "text", 3.5, (3.5 + np.random.default_rng(1).normal(0, 0.1, 32)).tolist())
    below = record(*column({"a": 4.0, "b": 3.7}, 1, 5), wide)
    assert [one.rank for one in ranks_of(below).values()] == [1, 1, 1]
    between = record(*column({"a": 4.0, "b": 3.4}, 1, 5), wide)
    assert {row: one.rank for row, one in ranks_of(between).items()} == {"a": 1, "c": 1, "b": 3}


def test_thirty_rows_that_are_alike_have_one_rank() -> None:
    """In nine tables of ten one or more have a second rank where each is judged by an interval of its own."""
    means = {f"row{number:02}": 4.0 for number in range(30)}
    found = [ranks_of(record(*by_chance(means, seed))) for seed in range(40)]
    assert sum(len({one.rank for one in table.values()}) > 1 for table in found) <= 5  # of 40: 2, and 2 errors


def by_chance(means: dict[str, float], seed: int) -> list[dict[str, object]]:
    """Rows whose values are what their documents make of them, in groups of one size."""
    draw = np.random.default_rng(seed)
    groups = {row: np.exp(draw.normal(0, 0.1, 32)) / mean for row, mean in means.items()}  # tokens per byte
    return [
        case(row, "text", 1 / of.mean(), [31 / (of.sum() - one) for one in of.tolist()]) for row, of in groups.items()
    ]


def test_without_an_interval_there_is_a_value_and_no_rank() -> None:
    read = record(case("a", "text", 4.0, ()), case("b", "text", 3.0, ()))
    (sheet,) = ranking_sheets(read)
    assert sheet.texts == (("a", "1.00x", "-"), ("b", "+33 %", "-"))
    assert any(TOO_FEW in note for note in sheet.notes)
    assert all(row[2].reason == TOO_FEW for row in sheet.rows)


@pytest.mark.parametrize(("largest", "against", "rank"), [(1, 0, 2), (1, 1, 2), (1, 2, 1), (8, 0, 2), (8, 1, 1)])
def test_rows_without_an_interval_need_groups_that_agree(largest: int, against: int, rank: int) -> None:
    """Three groups carry the variance, and no interval is shown: all groups but one have to say the same.

    Its half, with few degrees of freedom, would be wider than the difference, and tie what every group tells apart.
    Where documents are of unequal size, one group against all others may be the only one with such a document.
    """
    apart = [0.06, 0.06, 0.06, *[0.004] * (29 - against), *[-0.004] * against]  # what a group has less, as a share
    lower = 4 * math.exp(-sum(apart) / 32)
    below = [lower * math.exp((one - sum(apart) / 32) / 31) for one in apart]
    read = of_sizes(largest, case("a", "text", 4.0, [4.0] * 32), case("b", "text", lower, below))
    (difference,) = comparison.rows(read, "a", "b")
    assert difference.interval is None
    rows = [Contender(one.case.tokenizer, read, one) for one in read.results]
    assert told_apart(parts_on_text(rows, METRIC))[0, 1]
    assert 4.0 - lower < half_width([of_group - 4.0 for of_group in below])
    assert ranks_of(read)["b"].rank == rank


@pytest.mark.parametrize(
    ("largest", "against", "rank"),
    [
        pytest.param(1, 1, 2, id="alike"),
        pytest.param(8, 0, 2, id="all agree"),
        pytest.param(8, 1, 1, id="one does not"),
    ],
)
def test_of_documents_of_unequal_size_an_interval_is_not_enough(largest: int, against: int, rank: int) -> None:
    """The interval is clear of 0 by far, and shown; but a text of such documents may lack those that decide."""
    apart = [0.001 + 0.018 * (group % 2) for group in range(32)]  # what a group has less, as a share
    apart[:against] = [-0.004] * against
    lower = 4 * math.exp(-sum(apart) / 32)
    below = [lower * math.exp((one - sum(apart) / 32) / 31) for one in apart]
    read = of_sizes(largest, case("a", "text", 4.0, [4.0] * 32), case("b", "text", lower, below))
    (difference,) = comparison.rows(read, "a", "b")
    assert difference.verdict == "worse"
    assert ranks_of(read)["b"].rank == rank


def of_sizes(largest: int, *rows: dict[str, Any]) -> store.Record:
    """Rows on a text of which four groups have so many times the bytes of the others."""
    sizes = {"documents": [4] * 32, "bytes": [1000 * largest] * 4 + [1000] * 28}
    return record(*(row | {"details": row["details"] | {"groups": GROUPS | sizes}} for row in rows))


def test_equal_values_without_an_interval_are_no_evidence_of_a_tie() -> None:
    read = record(case("a", "text", 4.0, ()), case("b", "text", 4.0, ()))
    assert {one.rank for one in ranks_of(read).values()} == {None}


def test_other_text_is_not_ranked() -> None:
    some = [4.0 + number / 1000 for number in range(32)]
    other = record(case("a", "text", 4.0, some), case("b", "text", 3.0, some, digest="2"))
    assert {one.rank for one in ranks_of(other).values()} == {None}, "not one text: no rank"
    with pytest.raises(InputError, match=r"corpus 'text' .*digests "):
        comparison.rows(other, "a", "b")


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"details": {"tally": {"documents": 64, "bytes": 1000, "digest": "2" * 32}, "groups": GROUPS}}, OTHER_TEXT),
        ({"details": {"tally": {"documents": 64, "bytes": 1000, "digest": "1" * 32}}}, NOT_COUNTED),
        ({"measurements": [{"metric": METRIC, "value": 9.0}]}, TOO_FEW),
        ({"measurements": [{"metric": METRIC, "value": 9.0, "replicates": [9.0] * 31 + [-1.0]}]}, NOT_POSITIVE),
    ],
)
def test_a_row_that_cannot_be_judged_has_no_rank_and_costs_others_none(changed: dict[str, object], reason: str) -> None:
    rows = column({"odd": 9.0, "a": 4.0, "b": 3.0}, 1, 0)
    (sheet,) = ranking_sheets(record(rows[0] | changed, *rows[1:]))
    assert [(row[0], row[2]) for row in sheet.texts] == [("odd", "-"), ("a", "1"), ("b", "2")]
    (note,) = [note for note in sheet.notes if "No rank" in note]
    assert reason in note
    assert "odd" in note


def test_a_row_that_is_alone_on_a_text_is_first_of_nothing() -> None:
    read = record(*column({"a": 4.0, "b": 3.0}, 1, 0), *column({"a": 4.0}, 1, 0, "other"))
    (sheet,) = ranking_sheets(read)
    assert [(row[2], row[4]) for row in sheet.texts] == [("1", "-"), ("2", "-")]
    assert any(ALONE in note for note in sheet.notes)


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
    assert not any("No rank" in note for note in sheet.notes)
    read.data["tokenizers"]["a"]["round_trip"] = "lossy"
    (sheet,) = ranking_sheets(read)
    (note,) = [note for note in sheet.notes if "Lossy" in note]
    assert note.endswith(": a.")


def test_one_row_has_no_rank() -> None:
    assert not ranking_sheets(record(*column({"a": 1.0}, 1, 0)))
    assert not ranking_sheets(record(*column({"a": math.e}, 1, 0), *column({"b": 2.0}, 1, 0, "other text")))


def test_a_real_run_is_ranked_first() -> None:
    result = pyharness.run(["raw_bytes", "mistral:v3"], ["sample:prose"], ["compression"])
    first = report.sheets(result.record)[1]
    assert first.title == "Ranking: fewest tokens"
    assert [(row[0], row[2]) for row in first.texts] == [("mistral:v3", "1"), ("raw_bytes", "2")]
    assert any("smoke test" in note for note in first.notes)

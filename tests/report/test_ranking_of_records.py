"""Rows of several records are ranked with each other on the very same text, and nowhere else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from layout.thoroughness import examples
from pyharness import store
from pyharness.report import comparison
from pyharness.report.ranking import ranking_of_records, ranking_sheets
from ranked.records import case, column, record


def with_digests(results: list[dict[str, Any]], digest: str) -> list[dict[str, Any]]:
    return [
        one | {"details": one["details"] | {"tally": one["details"]["tally"] | {"digest": digest * 32}}}
        for one in results
    ]


def of_rows(means: Mapping[str, float], digest: str = "1", text: str = "text", seed: int = 0) -> store.Record:
    return record(*with_digests(column(means, 1, seed, text), digest))


def test_rows_of_two_records_stand_in_one_ranking_with_the_names_of_their_records() -> None:
    records = {"monday": of_rows({"a": 4.0, "b": 2.0}), "friday": of_rows({"a": 4.0, "c": 3.0})}
    (sheet,) = ranking_of_records(records)
    assert [(row[0], row[2]) for row in sheet.texts] == [
        ("a (monday)", "1"), ("a (friday)", "1"), ("c (friday)", "3"), ("b (monday)", "4"),
    ]  # fmt: skip
    assert not any("No rank" in note for note in sheet.notes)


@pytest.mark.parametrize("seed", range(10))
def test_ranks_agree_with_compare(seed: int) -> None:
    a, b = (column({"row": 4 + shift}, 1, seed) for shift in (0.0, 0.001 * seed))
    records = {"a": record(*a), "b": record(*b)}
    (difference,) = comparison.records(records["b"], records["a"])
    (sheet,) = ranking_of_records(records)
    assert sheet.texts[0][0] == ("row (b)" if seed else "row (a)"), "the best first"
    assert (sheet.texts[1][2] == "2") == (difference.verdict == "worse")


def test_text_with_another_digest_is_in_no_common_column() -> None:
    assert ranking_of_records({"x": of_rows({"a": 4.0, "b": 3.0}), "y": of_rows({"a": 4.0}, digest="2")}) == []
    both = [*with_digests(column({"a": 4.0}, 1, 0), "1"), *with_digests(column({"a": 2.0}, 1, 0, "other"), "2")]
    other = [*with_digests(column({"a": 4.0}, 1, 0), "3"), *with_digests(column({"a": 3.0}, 1, 0, "other"), "2")]
    (sheet,) = ranking_of_records({"x": record(*both), "y": record(*other)})
    assert sheet.columns == ("tokenizer", "other", "#")
    assert [row[0] for row in sheet.texts] == ["a (y)", "a (x)"]


def test_one_name_of_two_texts_and_two_names_of_one() -> None:
    four = {"x": of_rows({"a": 4.0}), "y": of_rows({"a": 3.0}), "z": of_rows({"a": 2.0}, "2", seed=1),
            "w": of_rows({"a": 1.0}, "2", seed=1)}  # fmt: skip
    (sheet,) = ranking_of_records(four)
    assert sheet.columns == ("tokenizer", "text", "#", "text (22222222)", "#")
    assert {row[0]: (row[2], row[4]) for row in sheet.texts} == {
        "a (x)": ("1", "-"), "a (y)": ("2", "-"), "a (z)": ("-", "1"), "a (w)": ("-", "2"),
    }  # fmt: skip
    renamed = {"x": of_rows({"a": 4.0}), "y": of_rows({"a": 3.0}, text="the same, renamed")}
    assert ranking_of_records(renamed)[0].columns == ("tokenizer", "text", "#")


def test_rows_are_never_alike_whatever_they_are_called() -> None:
    records = {"x": of_rows({"a": 4.0, "a (y)": 3.0}), "y) (x": of_rows({"a": 2.0}), "y": of_rows({"a (y) (x)": 1.0})}
    (sheet,) = ranking_of_records({**records, "(x)": of_rows({"a": 5.0}), "z": of_rows({"a (y)": 6.0})})
    assert len({row[0] for row in sheet.texts}) == len(sheet.rows) == 6
    collide = {"c": of_rows({"a (b)": 4.0}), "b) (c": of_rows({"a": 3.0})}
    assert {row[0] for row in ranking_of_records(collide)[0].texts} == {"a (b) (c)", "a (b) (c) (2)"}


def test_one_text_under_two_names_in_one_record_counts_once() -> None:
    twice = [case("a", name, 4.0, [4.0] * 32) for name in ("text", "again")]
    (sheet,) = ranking_of_records({"x": record(*twice), "y": of_rows({"a": 3.0})})
    assert sheet.columns == ("tokenizer", "text", "#")
    assert [row[0] for row in sheet.texts] == ["a (x)", "a (y)"]


def test_records_that_say_other_things_of_a_metric_are_not_ranked_together() -> None:
    lower = record(*column({"a": 4.0}, 1, 0), direction="lower")
    assert ranking_of_records({"x": of_rows({"a": 4.0}), "y": lower}) == []


def test_a_case_that_does_not_say_what_it_read_is_left_out() -> None:
    silent = case("a", "text", 4.0, [4.0] * 32)
    silent["details"] = {}
    assert ranking_of_records({"x": record(silent), "y": record(silent)}) == []


def test_notes_of_one_record_have_its_name() -> None:
    records = {"x": of_rows({"a": 4.0}), "y": of_rows({"a": 3.0})}
    records["x"].data["tokenizers"]["a"]["round_trip"] = "lossy"
    for one in records.values():
        one.data["corpora"]["text"]["smoke_test"] = True
    (sheet,) = ranking_of_records(records)
    assert sum("smoke test" in note for note in sheet.notes) == 1
    (note,) = [note for note in sheet.notes if "ossy" in note]
    assert note.startswith("x: ")


DIGESTS = st.lists(st.sampled_from("12"), min_size=2, max_size=5)


@settings(deadline=None, max_examples=examples(30))
@given(DIGESTS, st.randoms())
def test_each_column_is_of_one_digest(digests: list[str], generator: Any) -> None:
    records = {
        f"r{number}": of_rows({"a": int(digest) * 1000 + generator.random()}, digest)
        for number, digest in enumerate(digests)
    }
    shared = {digest for digest in digests if digests.count(digest) > 1}
    sheets = ranking_of_records(records)
    assert bool(sheets) == bool(shared)
    for sheet in sheets:
        names, *columns = zip(*sheet.rows, strict=True)
        read = [digests[int(str(name.value).partition("(r")[2].rstrip(")"))] for name in names]
        met = [{one for one, cell in zip(read, column, strict=True) if cell.value is not None} for column in columns]
        assert sorted(met[::2], key=min) == [{digest} for digest in sorted(shared)]


def test_the_ranking_of_a_record_with_itself_is_that_of_the_record() -> None:
    read = of_rows({"a": 4.0, "b": 3.5, "c": 3.0})
    (alone,) = ranking_sheets(read)
    (twice,) = ranking_of_records({"x": read, "y": read})
    ranks = {row[0]: row[2] for row in twice.texts}
    for row in alone.texts:
        assert ranks[f"{row[0]} (x)"] == ranks[f"{row[0]} (y)"], "the same numbers share a rank"
    assert [row[0][0] for row in twice.texts[::2]] == [row[0] for row in alone.texts]

"""The answer: ranks and differences are those of ``compare``, in the table, in the drawing and when it is read out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from drawn.charts import HOSTILE, spoken_marks
from paged import made
from pyharness import store
from pyharness.cli import main
from pyharness.report import comparison
from pyharness.report.page.answer import MOST_COLUMNS, answer
from pyharness.report.sheet import Cell, Sheet
from pyharness.report.sheet.parts import Figure, Section
from pyharness.statistics.samples import interval_of

METRIC = "bytes_per_token"


@pytest.fixture(scope="module")
def record() -> store.Record:
    return made.record(made.names("row", 5), made.names("text", 3), timed=False)


@pytest.fixture(scope="module")
def section(record: store.Record) -> Section:
    (section,) = answer(record)
    return section


def sheet(section: Section, title: str) -> Sheet:
    (found,) = [block for block in section.blocks if isinstance(block, Sheet) and block.title == title]
    return found


def figure(section: Section) -> Figure:
    (found,) = [block for block in section.blocks if isinstance(block, Figure)]
    return found


def test_values_are_the_records(record: store.Record, section: Section) -> None:
    everything = sheet(section, "All texts, by bytes per token")
    assert everything.columns == ("tokenizer", "overall", "#", "text-00", "#", "text-01", "#", "text-02", "#")
    measured = {(one.case.tokenizer, one.case.corpus): (one.case.key, one.measurements[0]) for one in record.results}
    for label, *cells in everything.rows:
        for text, cell in zip(("text-00", "text-01", "text-02"), cells[2::2], strict=True):
            key, one = measured[str(label.value), text]
            assert (cell.value, cell.case, cell.interval) == (one.value, key, interval_of(one))


def compared(section: Section, text: str) -> dict[str, tuple[Cell, Cell]]:
    """Differences and verdicts of a text, by row."""
    numbers = figure(section).numbers
    place = numbers.columns.index(text)
    return {str(row[0].value): (row[place], row[place + 1]) for row in numbers.rows}


@pytest.mark.parametrize("text", made.names("text", 3))
def test_differences_and_verdicts_are_those_of_compare(record: store.Record, section: Section, text: str) -> None:
    expected = {
        one.title.split(" -> ")[1].split(" | ")[0]: one
        for one in comparison.rows(record, "row-00", "row-01", "row-02", "row-03", "row-04")
        if one.metric == METRIC and one.title.endswith(text)
    }
    found = compared(section, text)
    assert found.keys() == expected.keys()
    for row, (cell, verdict) in found.items():
        one = expected[row]
        assert (cell.interval, cell.case, verdict.value) == (one.interval, one.title, one.verdict)
        assert cell.value == pytest.approx((one.b or 0) - (one.a or 0), abs=0)


def test_ranks_agree_with_the_command_that_compares(record: store.Record, section: Section, tmp_path: Path) -> None:
    """A row is worse than the first of each rank above its own, says ``compare``."""
    path = tmp_path / "a.json"
    path.write_text(json.dumps(record.data), encoding="utf-8")
    everything = sheet(section, "All texts, by bytes per token")
    ranks = set()
    for text in made.names("text", 3):
        column = everything.columns.index(text)
        ordered = sorted(everything.rows, key=lambda row: -float(str(row[column].value)))
        firsts = {row[column + 1].value: str(row[0].value) for row in reversed(ordered)}
        for row in ordered:
            mine = row[column + 1].value
            ranks.add(mine)
            for first in (first for rank, first in firsts.items() if int(str(rank)) < int(str(mine))):
                answered = CliRunner().invoke(main, ["compare", str(path), first, str(row[0].value), "--format=json"])
                rows = json.loads(answered.stdout)
                (said,) = [one for one in rows if one["metric"] == METRIC and one["cases"].endswith(text)]
                assert said["verdict"] == "worse"
    assert len(ranks) > 1


def test_the_drawing_says_what_its_numbers_say(section: Section) -> None:
    drawn = figure(section)
    assert drawn.numbers.columns == ("tokenizer", "text-00", "verdict", "text-01", "verdict", "text-02", "verdict")
    expected = [
        f"{row}, {text}: {cell.text}"
        for text in made.names("text", 3)
        for row, (cell, _) in compared(section, text).items()
    ]
    assert sorted(spoken_marks(drawn.svg)) == sorted(expected)
    assert len(expected) == 12


def test_many_texts_have_one_table_and_one_drawing() -> None:
    texts = made.names("text", 5)
    (section,) = answer(made.record(["a", "b"], texts, timed=False))
    assert [type(block) for block in section.blocks] == [Sheet, Figure]


def test_a_table_has_room_for_some_texts() -> None:
    texts = made.names("text", MOST_COLUMNS + 5)
    (section,) = answer(made.record(["a", "b"], texts, timed=False))
    everything, drawn = sheet(section, "All texts, by bytes per token"), figure(section).numbers
    assert len(everything.headings) == 3 + 2 * MOST_COLUMNS
    assert len(drawn.headings) == 1 + 2 * MOST_COLUMNS
    assert all(one.notes[0].startswith("5 more texts") for one in (everything, drawn))


def test_without_intervals_nothing_is_claimed() -> None:
    results = [
        made.case("compression", row, "text", [{"metric": METRIC, "value": value, "no_interval": "3 documents"}])
        for row, value in (("a", 3.0), ("b", 2.0))
    ]
    (section,) = answer(made.of_results(results, ["a", "b"], ["text"]))
    (row,) = figure(section).numbers.rows
    assert (row[1].interval, row[1].reason) == (None, "3 documents")
    assert row[2].value is None


def test_text_that_is_not_the_same_is_never_compared(record: store.Record) -> None:
    data = json.loads(json.dumps(record.data))
    data["results"][1]["details"]["tally"]["digest"] = "0" * 32
    (section,) = answer(store.Record.from_json(data, "changed"))
    cells = {row[0].value: row[1] for row in figure(section).numbers.rows}
    assert cells["row-01"].value is None
    assert "same text" in str(cells["row-01"].reason)
    assert cells["row-02"].value is not None


@pytest.mark.parametrize("rows", [[], ["one"]])
def test_nothing_to_rank_is_no_section(rows: list[str]) -> None:
    assert not list(answer(made.record(rows, ["text"], timed=False)))


def test_names_of_strangers_are_ranked() -> None:
    (section,) = answer(made.record(HOSTILE[:6], HOSTILE[6:9], timed=False))
    assert len(spoken_marks(figure(section).svg)) == 15

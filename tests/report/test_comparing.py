"""Comparisons: paired, of any number of rows, with times where rows took turns; other text and groups are refused."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from pyharness import report, store
from pyharness.cli import main
from pyharness.commands import session
from pyharness.metrics import all_metrics
from pyharness.report import comparison
from pyharness.report.differences import Difference, judged_otherwise
from pyharness.report.sheet import Cell, Heading, Legend, Sheet
from pyharness.types import InputError


def test_comparing_two_rows_gives_paired_intervals(result: session.Result) -> None:
    found = {(d.metric, d.part): d for d in comparison.rows(result.record, "raw_bytes", "mistral:v3")}
    difference = found["bytes_per_token", None]
    assert difference.b is not None
    assert difference.interval is not None
    assert difference.interval[0] < difference.b - 1 < difference.interval[1]
    assert difference.verdict == "better"
    assert found["tokens_per_word", None].verdict == "better"
    text = report.to_text(report.difference_sheets(list(found.values())))
    assert max(map(len, text.splitlines())) <= 80
    with pytest.raises(InputError, match="did you mean 'mistral:v3'"):
        result.compare("raw_bytes", "mistral:v2")
    frame = result.compare("raw_bytes", "mistral:v3")
    assert len(frame) == len(found)
    (row,) = frame[frame.metric == "bytes_per_token"].to_dict("records")
    assert (row["a"], row["b"], row["low"], row["high"]) == (1.0, difference.b, *difference.interval)


def test_a_result_that_was_not_kept_on_disk_has_its_documents_compared(tmp_path: Path) -> None:
    texts = tmp_path / "few.jsonl"
    texts.write_text("".join(f'{{"text": "{"word of text " * (n + 1)}"}}\n' for n in range(20)))
    few = session.run(["raw_bytes", "mistral:v3"], [f"path:{texts}"], ["compression"])
    frame = few.compare("raw_bytes", "mistral:v3")
    (row,) = frame[frame.metric == "bytes_per_token"].to_dict("records")
    assert (row["verdict"], row["documents"]) == ("better", 20)


def test_times_of_rows_that_did_not_take_turns_have_no_verdict(result: session.Result) -> None:
    timed = [one for one in comparison.rows(result.record, "raw_bytes", "mistral:v3") if not one.deterministic]
    assert {"encode_bytes_per_second", "load_seconds"} <= {one.metric for one in timed}
    assert not any(one.interval for one in timed)
    assert {one.verdict for one in timed} <= {"", "same"}
    text = report.to_text(report.difference_sheets(timed), 200)
    assert "have no verdict" in text
    assert "over rounds" not in text


def test_intervals_of_times_are_shown_by_their_ends(result: session.Result) -> None:
    both = comparison.rows(result.record, "raw_bytes", "mistral:v3")
    timed = dataclasses.replace(
        next(one for one in both if not one.deterministic), a=3.2145e6, b=3.2245e6, interval=(9.0e3, 2.5e5)
    )
    of_text = next(one for one in both if one.metric == "bytes_per_token")
    sheets = report.difference_sheets([of_text, timed])
    assert sheets[2].texts[0][1:] == ("3.21 MB/s", "3.22 MB/s", "+0.31 % [+0.28, +7.8]", "better")
    (row,) = sheets[1].texts
    half = (of_text.interval[1] - of_text.interval[0]) / 2 / of_text.a if of_text.interval and of_text.a else None
    assert half is not None
    assert float(row[3].rpartition("±")[2]) == pytest.approx(100 * half, rel=0.06)
    text = report.to_text(sheets)
    assert max(map(len, text.splitlines())) <= 80
    assert re.search(r"±: .*\[low, high\]: ", " ".join(text.split()))


def test_equal_numbers_are_counted_and_shown_nowhere_else() -> None:
    both = [Difference(f"b | x -> y | {text}", name, None, 1.0, b, None, "higher", exact=True)
            for text in ("one", "two") for name, b in (("equal", 1.0), ("other", 2.0))]  # fmt: skip
    overview, *sheets = report.difference_sheets(both)
    assert overview.texts == (("one", "1", "1"), ("two", "1", "1"))
    assert overview.title.startswith("Summary of b, x -> y:")
    assert overview.columns == ("text", "better", "same")
    assert [[row[0] for row in sheet.texts] for sheet in sheets] == [["other"], ["other"]]


@pytest.mark.parametrize(
    ("titles", "every", "expected"),
    [
        (["x -> y | one", "x -> y | two"], False, (" of x -> y:", "text", ["one", "two"])),
        (["b | x -> y | one", "b | x -> y | two"], True, (" of b, x -> y:", "text", ["one", "two"])),
        (["x -> y | t", "x -> yz | t"], False, (", compared with x:", "tokenizer, text", ["y, t", "yz, t"])),
        (["x -> y | t | n 1", "x -> y | t | n 2"], False, (" of x -> y:", "case", ["t, n 1", "t, n 2"])),
        (["b | x -> y | t", "b | x -> z | t"], True, (":", "pair", ["b, x -> y, t", "b, x -> z, t"])),
        (["b | x -> y", "b | x -> z"], True, (":", "pair", ["b, x -> y", "b, x -> z"])),
        (["b | x | t", "b | y | t"], True, (":", "pair", ["b, x, t", "b, y, t"])),
        (["w -> x | t", "x -> y | t"], False, (":", "pair", ["w -> x, t", "x -> y, t"])),
    ],
)
def test_a_summary_names_once_what_pairs_share(
    titles: list[str], every: bool, expected: tuple[str, str, list[str]]
) -> None:
    found = [Difference(title, "m", None, 1.0, b, None, "higher", exact=True) for title in titles for b in (1.0, 2.0)]
    if not every:
        found = [dataclasses.replace(one, title=f"b | {one.title}") for one in found]
    overview = report.difference_sheets(found, every=every)[0]
    assert overview.title.startswith(f"Summary{expected[0]}")
    assert (overview.columns[0], [row[0] for row in overview.texts]) == expected[1:]


def test_columns_of_like_tables_are_explained_once_and_values_in_each() -> None:
    notes = (Legend("V: size."), "V: of a row.", "No CI for r: 1.")
    sheet = Sheet("", (Heading("row", "name"), Heading("V")), ((Cell("r"), Cell(1)),), notes)
    other = dataclasses.replace(sheet, headings=(Heading("row", "name"), Heading("W")))
    for write in (report.to_text, report.to_markdown):
        text = write([sheet, sheet, other])
        assert [text.count(note) for note in notes] == [2, 3, 3]


def test_a_summary_shows_what_has_a_verdict_and_counts_the_rest() -> None:
    verdicts = {"worse": (0.1, 0.3), "better": (-0.3, -0.1), "open": (-0.1, 0.1)}
    found = [
        Difference(f"{benchmark} | x -> y | text", name, None, 1.0, 1.01 + sum(interval) / 2, interval, "lower")
        for benchmark in ("one", "two") for name, interval in verdicts.items()
    ]  # fmt: skip
    overview, sheet = report.difference_sheets(found, every=False)
    assert overview.columns == ("text", "worse", "better", "not significant")
    assert overview.texts == (("text", "2", "2", "2"),)
    differs = dataclasses.replace(found[0], direction="none")
    unjudged = dataclasses.replace(differs, interval=None)
    overview, _ = report.difference_sheets([*found, differs, unjudged], every=False)
    assert (overview.columns[-1], overview.texts[0][-1]) == ("other", "2")
    crossing = dataclasses.replace(found[0], grows_with_text=True, curve=(-0.1, 0.2))
    overview, _ = report.difference_sheets([*found, crossing], every=False)
    assert (overview.columns[-1], overview.texts[0][-1]) == ("depends on size", "1")
    assert any(note.startswith("depends on size: ") for note in overview.notes)
    assert [(row[0], row[-1]) for row in sheet.texts] == [("worse", "worse")] * 2 + [("better", "better")] * 2
    assert "counted as not significant (" in sheet.notes[-1]
    assert "--all" in sheet.notes[-1]
    text = report.to_text([sheet], 80, color=True)
    assert ("31mworse" in text, "32mbetter" in text) == (True, True)


def test_what_has_an_interval_and_no_curve_is_inconclusive_for_want_of_a_curve() -> None:
    grown = Difference("a", "m", None, 1.0, 2.0, (0.9, 1.1), "higher", grows_with_text=True, primary=True)
    assert grown.verdict == "no curve"
    (note,) = judged_otherwise([grown])
    assert "(no curve)" in note
    (note,) = judged_otherwise([dataclasses.replace(grown, interval=None, no_interval="few")])
    assert "(few)" in note


@pytest.mark.parametrize(("metric", "b", "shown"), [("compression_gain", 0.25, "+25.00 %"), ("leaf_tokens", 7, "+7")])
def test_a_change_from_nothing_is_no_share(metric: str, b: float, shown: str) -> None:
    (sheet,) = report.difference_sheets([Difference("a", metric, None, 0, b, None, "none")])
    assert sheet.texts[0][3] == shown


@pytest.mark.parametrize("width", [40, 60, 80])
def test_names_of_metrics_break_between_their_words(width: int) -> None:
    names = [name for name in all_metrics() if "_" in name]
    many = [Difference("a", name, None, 1.2345e-5, -2.3456e-5, (-1.0, 0.1), "none") for name in names]
    (sheet,) = report.difference_sheets(many)
    table = report.to_text([sheet], width).partition(" verdict\n")[2].partition("\n±:")[0]
    parts = [line.split(" ")[0] for line in table.splitlines()]
    assert "".join(parts) == "".join(names)
    assert all(any(name.endswith(part) for name in names) for part in parts if not part.endswith("_"))


def test_notes_below_times_are_of_what_is_shown(result: session.Result) -> None:
    found = [one for one in comparison.rows(result.record, "raw_bytes", "mistral:v3") if not one.deterministic]
    in_turn = dataclasses.replace(found[0], a=1.0, b=2.0, interval=(0.1, 2.0))
    too_long = dataclasses.replace(found[0], a=None, b=None, interval=None)  # no text of the length was there
    text = report.to_text(report.difference_sheets([in_turn, too_long]), 200)
    assert re.search(r"low, high\]?: ", text)
    assert "have no verdict" not in text


@pytest.mark.parametrize(("b", "verdict"), [(1.5, "better"), (0.5, "not significant")])
def test_medians_and_rounds_that_disagree_resolve_nothing(b: float, verdict: str) -> None:
    one = Difference("a", "encode_bytes_per_second", None, 1.0, b, (0.1, 0.9), "higher", deterministic=False)
    assert one.verdict == verdict
    other = dataclasses.replace(one, b=2 - b, interval=(-0.9, -0.1))
    assert other.verdict == {"better": "worse"}.get(verdict, verdict)


@pytest.mark.parametrize(("rounds", "verdict"), [(10, "better"), (0, "")])
def test_rounds_pair_times(result: session.Result, rounds: int, verdict: str) -> None:
    data = json.loads(json.dumps(result.record.data))
    data["results"] = [one for one in data["results"] if one["benchmark"] == "throughput"]
    for one in data["results"]:
        faster = one["tokenizer"] == "mistral:v3"
        one["parameters"] |= {"rounds": rounds} if rounds else {}
        for measured in one["measurements"]:  # the machine slows down by half meanwhile
            measured["samples"] = [100.0 - 5 * number + faster for number in range(10)]
            measured["value"] = 77.5 + faster
    record = store.Record.from_json(data, "rounds")
    (speed,) = [
        one
        for one in comparison.rows(record, "raw_bytes", "mistral:v3")
        if (one.metric, one.part) == ("encode_bytes_per_second", "steady")
    ]
    assert speed.verdict == verdict
    assert speed.interval == ((1.0, 1.0) if rounds else None)


def test_any_number_of_rows_is_compared_with_the_first(result: session.Result, tmp_path: Path) -> None:
    three = json.loads(json.dumps(result.record.data))
    three["tokenizers"]["other"] = three["tokenizers"]["mistral:v3"]
    third = [one for one in three["results"] if one["tokenizer"] == "mistral:v3"]
    three["results"] += [one | {"tokenizer": "other", "key": f"{one['key']} of another"} for one in third]
    path = tmp_path / "three.json"
    path.write_text(store.dump(three), encoding="utf-8")
    names = ["raw_bytes", "mistral:v3", "other", "mistral:v3"]
    done = CliRunner().invoke(main, ["compare", str(path), *names, "--format", "json"])
    assert done.exit_code == 0, done.output
    rows = json.loads(done.stdout)
    titles = {one["cases"].split(" | ")[1] for one in rows}
    assert titles == {"raw_bytes -> mistral:v3", "raw_bytes -> other"}, "a name that is given twice counts once"
    pairwise = comparison.rows(result.record, "raw_bytes", "mistral:v3")
    assert len(rows) == 2 * len(pairwise)


def test_a_result_is_its_tables_at_a_prompt(result: session.Result) -> None:
    assert repr(result) == str(result)
    assert repr(result).startswith("In short")


def regrouped(record: store.Record, groups: tuple[int, ...] | None, works: bool) -> store.Record:
    """The record of one case with replicates, whose documents are in groups, or that does not say in which."""
    data = json.loads(json.dumps(record.data))
    data["results"] = [one for one in data["results"] if one["benchmark"] == "compression"][:1]
    (one,) = data["results"]
    for measurement in one["measurements"]:
        measurement["replicates"] = [float(group) for group in range(32)]
    one["details"].pop("groups")
    if groups is not None:
        one["details"]["groups"] = {"documents": list(groups)}
    data["corpora"][one["corpus"]]["spec"] = "path:a.jsonl?work=id" if works else "path:a.jsonl"
    return store.Record.from_json(data, "regrouped")


@pytest.mark.parametrize(
    ("older", "newer", "works", "refused"),
    [
        ((0, 2), (2, 0), True, True),
        ((0, 2), (0, 2), True, False),
        (None, (0, 2), True, True),
        (None, (0, 2), False, False),
        (None, None, True, False),
    ],
)
def test_records_that_group_documents_otherwise_are_not_paired(
    result: session.Result, older: tuple[int, ...] | None, newer: tuple[int, ...] | None, works: bool, refused: bool
) -> None:
    sides = (regrouped(result.record, groups, works) for groups in (older, newer))
    with contextlib.nullcontext() if not refused else pytest.raises(InputError, match=r"corpus '.*\bgroups\b"):
        assert comparison.records(*sides)


def test_another_case_of_a_record_says_how_its_text_is_grouped(result: session.Result) -> None:
    new, old = (regrouped(result.record, groups, False) for groups in ((0, 2), (2, 0)))
    silent = json.loads(json.dumps(old.data))
    silent["results"].append({**json.loads(json.dumps(silent["results"][0])), "tokenizer": "another", "key": "another"})
    del silent["results"][0]["details"]["groups"]
    with pytest.raises(InputError, match=r"corpus '.*\bgroups\b"):
        comparison.records(store.Record.from_json(silent, "silent"), new)


def test_comparing_across_different_text_is_refused(result: session.Result) -> None:
    data = json.loads(json.dumps(result.record.data))
    for one in data["results"]:
        if "tally" in one["details"]:
            one["details"]["tally"]["digest"] = "0" * 32
    other = store.Record.from_json(data, "other")
    with pytest.raises(InputError, match=f"corpus '.*{'0' * 12}"):
        comparison.records(result.record, other)
    same = comparison.records(result.record, result.record)
    assert {d.verdict for d in same} <= {"same", ""}
    empty = store.Record({**data, "results": []}, ())
    with pytest.raises(InputError, match="share no case"):
        comparison.records(result.record, empty)

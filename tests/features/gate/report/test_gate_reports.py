"""Gates as sheets, JUnit XML, the summary of a step, and ``pyharness report`` of their records."""

from __future__ import annotations

import csv
import io
import itertools
import json
import os
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner

from gating.gates import gate, judgement
from pyharness import report
from pyharness.cli import main
from pyharness.features.gate import cli as gate_cli
from pyharness.features.gate import records as gate_records
from pyharness.features.gate import report as gate_report
from pyharness.features.gate.types import Gate, GateRules, GateVerdict, SelfTest, Waiver

SLOW = judgement("slow", "regression", 0.1, p=0.001, noise=0.01, reason="slower in 5 of 5 launches")
WAIVED = judgement("known", "pass", 0.08, waiver=Waiver("known", "time", 0.1, "2026-12-31", "checks more"))
NOTED = gate(
    judgement("quick"), SLOW, WAIVED, judgement("gone", "failed", 0.0, interval=None, values={}, reason="not in head"),
    verdict="regression", notes=("new: another",), declaration_faults=("gate.toml: 'old' is matched by nothing",),
)  # fmt: skip


@pytest.mark.parametrize("form", gate_cli.FORMATS)
def test_the_command_prints_every_format_that_it_offers(form: str) -> None:
    assert "slow" in gate_cli._write(NOTED, {}, form, force=False)


def test_the_first_table_and_the_comment_tell_what_their_columns_are() -> None:
    comments = [gate_report.gate_comment(one) for one in (NOTED, gate(judgement("quick")))]
    tables = [next(sheet for part in comment.parts for sheet in part.sheets) for comment in comments]
    for table in (gate_report.gate_sheets(NOTED)[1], *tables):
        assert all(name in table.notes[0] for name in ("Effect", "Base and head"))


def test_sheets_begin_with_the_verdict_and_have_regressions_first() -> None:
    answers, judged, last = gate_report.gate_sheets(NOTED)
    names = [row[0] for row in judged.texts]
    assert names == ["slow", "gone", "known"], "what passed is only counted"
    shown = dict(zip(judged.columns, judged.texts[0], strict=True))
    assert shown == {
        "benchmark": "slow", "verdict": "regression", "base": "2.1 ms", "head": "2.31 ms",
        "effect": "+10.0 % [+9.0, +11.0]", "budget": "3 %", "launches": "5",
    }  # fmt: skip
    assert dict(zip(judged.columns, judged.texts[1], strict=True))["effect"] == "+0.0 %"
    line = gate_report.verdict_line(NOTED)
    assert re.match(r"Regression: 1 regression, 1 failed, 2 passed; 1 declared .*; 1 fault of gate\.toml", line)
    about, results = zip(*answers.texts, strict=True)
    assert about == ("verdict", "base", "head", "gate.toml", "regression", "failed", "declared", "pass")
    assert results[0] == line
    for result, named in zip(
        results[3:7], ("'old'", "slow 10 % slower (9.0 to 11.0)", "gone", "2026-12-31"), strict=True
    ):
        assert named in result
    assert "new: another" in last.notes


def test_versions_have_commit_and_subject() -> None:
    known = {
        "base": {"commit": "1" * 40, "subject": "Speak"},
        "head": {"commit": f"{'2' * 40}+abc", "subject": "Be brief"},
    }
    one = gate(judgement("a"), about={"commits": known})
    assert [row[1] for row in gate_report.gate_sheets(one)[0].texts[1:3]] == [
        "HEAD^1, 1111111111, Speak", "HEAD, 2222222222 with changes, Be brief",
    ]  # fmt: skip
    assert "base `HEAD^1` `1111111111` Speak" in report.to_pull_request(gate_report.gate_comment(one)).replace(
        "HEAD^1 ", "`HEAD^1` "
    )


def test_a_gate_that_compared_nothing_has_no_empty_tables() -> None:
    nothing = Gate("gate", GateRules(), {}, (), (), (), (), SelfTest(("no such base",)), GateVerdict.INCOMPARABLE)
    (answers,) = gate_report.gate_sheets(nothing)
    assert answers.texts == (("verdict", "Incomparable: nothing was compared."), ("self-test", "no such base"))


LONG = "bench/speed/test_short_calls.py::test_encode_of_long_documents[english-2]"


@pytest.mark.parametrize("width", [120, 80, 60, 40, 20])
@pytest.mark.parametrize("name", ["text_statistics", "control_tokenizers", LONG])
def test_names_of_benchmarks_are_never_cut(name: str, width: int) -> None:
    """Columns that can be spared give way, and then names wrap; what is left out is said."""
    shown = gate(judgement(name, "inconclusive"), judgement("b" * 30, "improvement", -0.2))
    text = report.to_text(gate_report.gate_sheets(shown)[1:2], width=width)
    assert "…" not in text
    table, _, notes = text.partition("Effect: head")
    assert name in "".join(line[: line.find("  ")] if "  " in line else line for line in table.splitlines())
    assert "+0.2 % [-0.8, +1.2]" in table
    assert ("Left out, " in notes) == ("launches" not in table)
    assert max(map(len, table.splitlines())) <= max(
        width, 12 + 2 + len("improvement") + 2 + len("-20.0 % [-21.0, -19.0]")
    )


def test_a_number_stays_a_number_in_rows_for_programs() -> None:
    rows = list(csv.DictReader(io.StringIO(report.to_csv(gate_report.flat_gate(NOTED)))))
    assert [row["benchmark"] for row in rows] == ["quick", "slow", "known", "gone"], "as they were recorded"
    slow = rows[1]
    assert (float(slow["base"]), float(slow["head"]), slow["unit"]) == (SLOW.values["base"], SLOW.values["head"], "s")
    assert (float(slow["low"]), float(slow["high"])) == SLOW.interval
    assert (slow["p"], slow["budget"], rows[2]["expires"]) == ("0.001", "0.03", "2026-12-31")
    assert json.loads(report.to_json(gate_report.flat_gate(NOTED)))[3]["low"] is None


@pytest.mark.parametrize(
    ("figure", "value", "shown"),
    [("time", 3.2e-7, "320 ns"), ("time", 1.5, "1.5 s"), ("memory", 2.5e6, "2.5 MB"), ("memory", 12, "12 B"),
     ("instructions", 1.234567e9, "1.235 G"), ("instructions", 900, "900"), ("time", 0.0, "0 ns")],
)  # fmt: skip
def test_figures_have_units(figure: str, value: float, shown: str) -> None:
    (_, judged, *_) = gate_report.gate_sheets(gate(judgement("a", "regression", figure=figure, values={"base": value})))
    row = dict(zip(judged.columns, judged.texts[0], strict=True))
    assert (row["base"], row["head"]) == (shown, "-")
    assert ("figure" in row) == (figure != "time"), "a column that says nothing is left out"


@pytest.mark.parametrize("figure", ["memory", "instructions"])
def test_other_figures_are_shown_where_they_do_not_pass(figure: str) -> None:
    quiet, loud = judgement("a", figure=figure), judgement("b", "regression", figure=figure)
    (_, judged, *_) = gate_report.gate_sheets(gate(judgement("a"), quiet, judgement("b"), loud))
    assert [row[:2] for row in judged.texts] == [("b", figure)]


def outcomes(one: Gate) -> dict[str, str]:
    """Name of each test case, and the outcome that readers of JUnit see."""
    root = ET.fromstring(gate_report.to_junit(one))  # noqa: S314 -- our own
    (suite,) = root
    cases = {}
    for case in suite:
        assert set(case.attrib) == {"classname", "name"}
        cases[case.attrib["name"]] = "".join(child.tag for child in case if child.tag != "system-out") or "passed"
    for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        assert int(suite.attrib[name]) == sum(outcome == tag for outcome in cases.values())
    assert root.attrib["tests"] == suite.attrib["tests"] == str(len(cases))
    return cases


def test_junit_has_a_case_for_each_judgement_and_fault() -> None:
    one = gate(
        judgement("quick"), SLOW, judgement("gone", "failed"), judgement("other ids", "incomparable"),
        judgement("unsure", "inconclusive"), judgement("faster", "improvement", -0.1),
        verdict="regression", declaration_faults=("expired",), self_test=SelfTest(("the head is always second",)),
    )  # fmt: skip
    assert outcomes(one) == {
        "quick": "passed", "slow": "failure", "gone": "error", "other ids": "error", "unsure": "skipped",
        "faster": "passed", "gate.toml": "failure", "self-test": "error",
    }  # fmt: skip
    assert 'message="slower in 5 of 5 launches"' in gate_report.to_junit(one)


def test_junit_is_red_where_the_exit_status_is() -> None:
    for verdict, judged, strict, fault in itertools.product(
        GateVerdict, [*GateVerdict, None], (False, True), ((), ("x",))
    ):
        judgements = [] if judged is None else [judgement("a", judged.value)]
        one = gate(*judgements, verdict=verdict.value, rules=GateRules(strict=strict), declaration_faults=fault)
        red = {"failure", "error"} & set(outcomes(one).values())
        assert red or not one.exit_code, (verdict, judged, strict)


@pytest.mark.parametrize("name", ["a\x00b", "\x1b[31m", "\ud800", "\ufffe", "<b>&\"'", "]]>", "\x85", "a\nb", ""])
def test_junit_holds_any_name(name: str) -> None:
    one = gate(judgement(name, "regression", reason=name), suite=name, notes=(name,), verdict="regression")
    text = gate_report.to_junit(one)
    assert list(outcomes(one).values()) == ["failure"]
    assert not [character for character in text if character < " " and character != "\n"]
    text.encode()


def test_the_summary_of_a_step_is_appended_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "summary.md"
    path.write_text("of another step\n", encoding="utf-8")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(path))
    assert report.append_step_summary("**Pass**\n\n") is None
    assert path.read_text(encoding="utf-8") == "of another step\n\n**Pass**\n"


@pytest.mark.parametrize("name", ["", "none/summary.md", ".", "nul\0"])
def test_a_summary_that_cannot_be_written_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("os.environ", {"GITHUB_STEP_SUMMARY": name})
    warning = report.append_step_summary("text")
    assert warning is None if name == "" else warning is not None and "GITHUB_STEP_SUMMARY" in warning
    assert not list(tmp_path.iterdir())


def test_a_summary_that_is_a_fifo_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "pipe"))
    assert "cannot be written" in (report.append_step_summary("text") or "")


@pytest.mark.parametrize(
    ("form", "word"),
    [("text", "slow 10 % slower (9.0 to 11.0)"), ("markdown", "**Regression: 1 regression"),
     ("html", '<th scope=row class="name">slow'),
     ("csv", "slow,time,regression"), ("json", '"benchmark": "slow"'), ("junit", '<testsuites name="pyharness gate"')],
)  # fmt: skip
def test_report_shows_the_record_of_a_gate(tmp_path: Path, form: str, word: str) -> None:
    path = tmp_path / "gate.json"
    path.write_text(gate_records.dump_gate(NOTED), encoding="utf-8")
    done = CliRunner().invoke(main, ["report", str(path), "--format", form])
    assert (done.exit_code, word in done.stdout) == (0, True), done.output


def test_report_says_what_a_gate_and_a_run_do_not_have(tmp_path: Path) -> None:
    path = tmp_path / "gate.json"
    path.write_text(gate_records.dump_gate(NOTED), encoding="utf-8")
    done = CliRunner().invoke(main, ["report", str(path), "--rederive"])
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert re.search(r"gate\.json.* gate\b.*--rederive", done.stderr)
    done = CliRunner().invoke(main, ["compare", str(path), str(path)])
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert "is a pyharness-gate" in done.stderr


def test_a_table_of_80_columns_has_names_whole_and_a_comment_tells_them_apart() -> None:
    names = [f"bench/speed/test_it.py::test_split[{'gpt2-' * 3}{text}-{'x' * 300}2]" for text in ("english", "polish")]
    done = gate(*(judgement(name, "inconclusive") for name in names))
    text = report.to_text(gate_report.gate_sheets(done)[1:], width=80)
    lines = "".join(line.partition("  ")[0] for line in text.splitlines())
    assert all(name in lines for name in names)
    comment = report.to_pull_request(gate_report.gate_comment(done))
    cells = [line.split("|")[1] for line in comment.splitlines() if line.startswith("| ") and "inconclusive" in line]
    assert len(set(cells)) == len(cells) == len(names)

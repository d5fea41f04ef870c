"""Calibrations as sheets and rows, and ``pyharness report`` of one that is kept."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from pyharness.cli import main
from pyharness.features.gate import report as gate_report
from pyharness.features.gate.calibration import keep
from pyharness.features.gate.types import Calibration, GateRules, Planted, Sensitivity

FOUND = Calibration(
    {"cpu": "A processor", "cores": 2, "gpus": ["A device, 580.1"]}, "short", "abc", GateRules(), 16, 200, 1, 0.0235,
    (Sensitivity("encode", 40, 0.0081, 0.0312), Sensitivity("decode", 1, None, None)),
    (Planted(0.05, 8, 7, 0.96), Planted(0.1, 0, 0, None)), 720.0, "2026-01-01T00:00:00+00:00",
)  # fmt: skip


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PYHARNESS_CACHE", str(tmp_path))
    return keep(FOUND)


def shown(*arguments: object, status: int = 0) -> str:
    done = CliRunner().invoke(main, ["report", *map(str, arguments)], env={"COLUMNS": "200"})
    assert done.exit_code == status, done.output
    return done.output


@pytest.mark.parametrize("form", ["text", "markdown", "html"])
def test_a_kept_calibration_is_shown_to_people(path: Path, form: str) -> None:
    text = " ".join(shown(path, "--format", form).split())
    for said in (
        "Calibration: suite short", "encode", "0.8 %", "3.1 %", "1 of 200 comparisons", "2.4%", "16 gates",
        "5% slower, planted: ", " 7 of 8, 96% expected",
        "A processor, 2 cores, A device, 580.1", "12 minutes",
    ):  # fmt: skip
        assert said in text.replace("&#x27;", "'")


def test_its_figures_are_rows_for_programs(path: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(shown(path, "--format", "csv"))))
    assert [(row["figure"], row["benchmark"], row["slowdown"]) for row in rows] == [
        ("false_alarms", "", ""), ("planted", "", "0.05"), ("planted", "", "0.1"),
        ("noise", "encode", ""), ("detectable", "encode", ""), ("noise", "decode", ""), ("detectable", "decode", ""),
    ]  # fmt: skip
    false_alarms, *_ = json.loads(shown(path, "--format", "json"))
    assert (false_alarms["value"], false_alarms["bound"], false_alarms["count"]) == (1 / 200, 0.0235, 200)
    assert (rows[1]["value"], rows[1]["expected"], rows[2]["value"]) == ("0.875", "0.96", "")
    assert (rows[3]["value"], rows[4]["value"], rows[5]["value"]) == ("0.0081", "0.0312", "")
    assert gate_report.flat_calibration(FOUND).columns[:4] == ("figure", "benchmark", "slowdown", "value")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(["--format", "junit"], "a calibration, .*JUnit.*--format"), (["--rederive"], "a calibration: --rederive")],
)
def test_what_a_calibration_has_not_is_refused(path: Path, arguments: list[str], said: str) -> None:
    assert re.search(f"{path.name}.* {said}", " ".join(shown(path, *arguments, status=2).split()))


def test_a_spoiled_calibration_is_named(path: Path) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), "alarms": "none"}))
    said = " ".join(shown(path, status=2).split())
    assert re.search(rf"{path.name}.* calibration: .*'alarms' .*\"none\"", said)

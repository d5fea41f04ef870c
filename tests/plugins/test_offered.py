"""What a stranger adds beside rows, metrics and benchmarks: commands, kinds of record, sections, tables."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from cases.command_line import with_plugin

PLUGIN = """
import click

from pyharness.benchmarks import Benchmark, Findings
from pyharness.report.record_kinds import RecordKind
from pyharness.report.sheet.parts import Page, Section
from pyharness.report.page.sections import OfferedSections
from pyharness.report.sheet import Cell, Heading, Sheet
from pyharness.store import CaseRecordKind
from pyharness.types import Column, InputError, Table


@click.command()
def wave() -> None:
    'Wave a hand.'
    click.echo("waved")


def sheet(content):
    return Sheet("Waves", (Heading("hand", "name"), Heading("times")), ((Cell(content["hand"]), Cell(3)),))


@click.group()
def hands() -> None:
    'Hands.'


@hands.command()
def count() -> None:
    'Count hands.'
    raise InputError("no hands")


COMMANDS = (wave, hands)
RECORDS = (
    RecordKind(
        name="waves", noun="a count of waves", read=lambda data, name: data, sheets=lambda content: [sheet(content)],
        rows=sheet, page=lambda content: Page("Waves", (Section("Waves", (sheet(content),)),)),
    ),
)
CASE_RECORDS = (
    CaseRecordKind(
        name="tides", check=lambda data, name: None, sheets=lambda record: [sheet({"hand": "right"})],
        sections=lambda record: [Section("Tides", ("In turn.",))],
    ),
)
SECTIONS = (OfferedSections("waves", lambda record: [Section("Waves of a stranger", ("Hello.",))]),)
TABLE = Table("A stranger's table", (Column("bytes_per_token"),))
BENCHMARKS = (Benchmark("waving", "waves", lambda work: Findings(), corpus="none", metrics=(), tables=(TABLE,)),)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stranger")
    (folder / "waving.py").write_text(PLUGIN, encoding="utf-8")
    (folder / "waves.json").write_text(json.dumps({"kind": "waves", "hand": "left"}), encoding="utf-8")
    return folder


def pyharness(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = with_plugin(folder, "waving")
    command = [sys.executable, "-P", "-m", "pyharness", *arguments]
    return subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=False)


def test_a_command(folder: Path) -> None:
    assert "Wave a hand." in pyharness(folder, "--help").stdout
    assert pyharness(folder, "wave").stdout == "waved\n"
    done = pyharness(folder, "hands", "count")
    assert (done.returncode, done.stderr) == (2, "error: no hands\n")


@pytest.mark.parametrize("form", ["text", "markdown", "html", "csv", "json"])
def test_a_kind_of_record(folder: Path, form: str) -> None:
    done = pyharness(folder, "report", "waves.json", "--format", form)
    assert (done.returncode, "left" in done.stdout) == (0, True), done.stderr


@pytest.mark.parametrize("option", ["--rederive", "--format=junit", "--for=pr"])
def test_what_that_kind_does_not_have_is_refused(folder: Path, option: str) -> None:
    more = ["--format=markdown"] if option == "--for=pr" else []
    done = pyharness(folder, "report", "waves.json", option, *more)
    assert (done.returncode, done.stderr.count("\n"), "a count of waves" in done.stderr) == (2, 1, True)


def test_a_kind_of_record_that_is_made_of_cases(folder: Path) -> None:
    run = ("run", "-t", "raw_bytes", "-c", "sample:prose", "-b", "compression", "-o", "tides.json", "-q", "--force")
    assert pyharness(folder, *run).returncode == 0
    data = json.loads((folder / "tides.json").read_text(encoding="utf-8"))
    (folder / "tides.json").write_text(json.dumps(data | {"kind": "tides"}), encoding="utf-8")
    assert "right" in pyharness(folder, "report", "tides.json").stdout
    assert "Tides" in pyharness(folder, "report", "tides.json", "--format", "html").stdout
    done = pyharness(folder, "compare", "tides.json", "tides.json", "--format", "csv")
    assert (done.returncode, "bytes_per_token" in done.stdout) == (0, True), done.stderr


def test_without_the_module_its_record_is_named(folder: Path) -> None:
    command = [sys.executable, "-P", "-m", "pyharness", "report", "waves.json"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert (done.returncode, "waves" in done.stderr) == (2, True)


def test_a_section_of_a_page_and_a_table(folder: Path) -> None:
    run = pyharness(folder, "run", "-t", "raw_bytes", "-c", "sample:prose", "-b", "compression", "-o", "r.json", "-q")
    assert run.returncode == 0, run.stderr
    assert "Waves of a stranger" in pyharness(folder, "report", "r.json", "--format", "html").stdout
    assert "A stranger's table" in pyharness(folder, "report", "r.json").stdout  # of other benchmarks' numbers


def test_a_command_of_the_name_of_one_of_ours_is_refused(folder: Path) -> None:
    (folder / "taking.py").write_text("import click\nCOMMANDS = (click.Command('run'),)\n", encoding="utf-8")
    environment = with_plugin(folder, "taking")
    command = [sys.executable, "-P", "-m", "pyharness", "--help"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n"), "'run'" in done.stderr) == (2, 1, True)


def test_a_broken_module_is_one_line_even_for_help(folder: Path) -> None:
    (folder / "broken.py").write_text("raise RuntimeError('no')", encoding="utf-8")
    environment = with_plugin(folder, "broken")
    command = [sys.executable, "-P", "-m", "pyharness", "--help"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n"), "'broken'" in done.stderr) == (2, 1, True)

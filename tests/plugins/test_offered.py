"""What a stranger adds beside rows, metrics and benchmarks: a command, a kind of record, a section of a page."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PLUGIN = """
import dataclasses
from dataclasses import dataclass

import click

from pyharness.trainers import Training
from pyharness.report.record_kinds import RecordKind
from pyharness.report.sheet.parts import Page, Section
from pyharness.report.page.sections import OfferedSections
from pyharness.report.sheet import Cell, Heading, Sheet
from pyharness.store import CaseRecordKind
from pyharness.trainers import TrainedTokenizer, TrainerSpec
from pyharness.features.training.trainers.native import train_bpe
from pyharness.features.training.trainers.options import Options, option
from pyharness.features.training.trainers.declarations import BpeOptions


@dataclass(frozen=True, kw_only=True)
class WavingOptions(Options):
    'What waving is told.'

    seed: int = option("Where waves begin", default=0, least=0)


@dataclass(frozen=True, kw_only=True)
class StrangeOptions(BpeOptions):
    'What the stranger is told.'

    own: int = option("How strange it is", default=1, most=9)


def strange(request):
    trained = train_bpe(request)
    return dataclasses.replace(trained, notes=(f"strange {request.options.own}",))


@click.command()
def wave() -> None:
    'Wave a hand.'
    click.echo("waved")


def sheet(content):
    return Sheet("Waves", (Heading("hand", "name"), Heading("times")), ((Cell(content["hand"]), Cell(3)),))


COMMANDS = (wave,)
TRAININGS = (Training("waving", "waves", WavingOptions, lambda texts, told, *_: [("seed", str(told.seed))]),)
TRAINERS = (
    TrainerSpec(
        name="stranger", train=strange, options=StrangeOptions, summary="strange", algorithm="bpe", library="pyharness",
        not_exported=None,
    ),
)
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
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stranger")
    (folder / "waving.py").write_text(PLUGIN, encoding="utf-8")
    (folder / "waves.json").write_text(json.dumps({"kind": "waves", "hand": "left"}), encoding="utf-8")
    return folder


def pyharness(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(folder), "PYHARNESS_PLUGINS": "waving"}
    command = [sys.executable, "-P", "-m", "pyharness", *arguments]
    return subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=False)


def test_a_command(folder: Path) -> None:
    assert "Wave a hand." in pyharness(folder, "--help").stdout
    assert pyharness(folder, "wave").stdout == "waved\n"


def test_a_training_with_its_own_options(folder: Path) -> None:
    done = pyharness(folder, "train", "waving", "--seed", "7", "--out", "out")
    assert (done.returncode, done.stdout.split()) == (0, ["seed", "7"]), done.stderr
    assert "waving" in pyharness(folder, "list", "trainers").stdout
    assert "--seed" in pyharness(folder, "train", "waving", "--help").stdout
    for option, value in (("--order", "2"), ("--seed", "-1")):
        refused = pyharness(folder, "train", "waving", option, value, "--out", "out")
        assert (refused.returncode, refused.stderr.count("\n"), option[2:] in refused.stderr) == (2, 1, True)


def test_a_trainer_with_an_option_of_its_own(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYHARNESS_CACHE", str(folder / "cache"))
    assert "stranger" in pyharness(folder, "train", "--help").stdout
    described = pyharness(folder, "train", "stranger", "--help").stdout
    assert all(said in described for said in ("--own N", "How strange it is", "default: 1"))
    assert "--own" not in pyharness(folder, "train", "bpe", "--help").stdout
    size = ("--vocab-size", "300", "-c", "sample:prose", "-q")
    done = pyharness(folder, "train", "stranger", *size, "--own", "3", "--out", "strange", "--export", "tiktoken")
    assert done.returncode == 0, done.stderr
    record = json.loads((folder / "strange" / "training.json").read_text(encoding="utf-8"))
    assert (record["options"]["own"], record["options"]["vocab_size"], record["notes"]) == (3, 300, ["strange 3"])
    for trainer, value, said in (("stranger", "10", "1..9"), ("bpe", "3", "with it: stranger")):
        refused = pyharness(folder, "train", trainer, *size, "--own", value, "--out", "no")
        assert (refused.returncode, refused.stderr.count("\n"), said in refused.stderr) == (2, 1, True), refused.stderr


@pytest.mark.parametrize(("own", "said"), [("3", None), ("10", "1..9"), ("x", "own=x ")])
def test_a_row_with_an_option_of_its_own(
    folder: Path, monkeypatch: pytest.MonkeyPatch, own: str, said: str | None
) -> None:
    monkeypatch.setenv("PYHARNESS_CACHE", str(folder / "cache"))
    row = f"trained:stranger?own={own}&vocab_size=300&corpus=sample:prose"
    done = pyharness(folder, "run", "-t", row, "-c", "sample:code", "-b", "compression", "-o", f"{own}.json", "-q")
    if said is not None:
        assert (done.returncode, done.stderr.count("\n"), said in done.stderr) == (2, 1, True), done.stderr
        return
    assert done.returncode == 0, done.stderr
    (entry,) = (folder / "cache").rglob("entry.json")
    assert json.loads(entry.read_text(encoding="utf-8"))["recipe"]["options"] == {"own": 3, "vocab_size": 300}


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


def test_a_section_of_a_page(folder: Path) -> None:
    run = pyharness(folder, "run", "-t", "raw_bytes", "-c", "sample:prose", "-b", "compression", "-o", "r.json", "-q")
    assert run.returncode == 0, run.stderr
    assert "Waves of a stranger" in pyharness(folder, "report", "r.json", "--format", "html").stdout


def test_a_command_of_the_name_of_one_of_ours_is_refused(folder: Path) -> None:
    (folder / "taking.py").write_text("import click\nCOMMANDS = (click.Command('run'),)\n", encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": str(folder), "PYHARNESS_PLUGINS": "taking"}
    command = [sys.executable, "-P", "-m", "pyharness", "--help"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n"), "'run'" in done.stderr) == (2, 1, True)


def test_a_broken_module_is_one_line_even_for_help(folder: Path) -> None:
    (folder / "broken.py").write_text("raise RuntimeError('no')", encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": str(folder), "PYHARNESS_PLUGINS": "broken"}
    command = [sys.executable, "-P", "-m", "pyharness", "--help"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n"), "'broken'" in done.stderr) == (2, 1, True)

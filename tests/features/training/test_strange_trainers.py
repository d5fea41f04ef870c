"""What a stranger adds: a trainer with an option of its own, and a training on other data."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from cases.command_line import with_plugin

PLUGIN = """
import dataclasses
from dataclasses import dataclass

from pyharness.features.training.trainers.declarations import BpeOptions
from pyharness.features.training.trainers.native import train_bpe
from pyharness.trainers import Options, TrainedTokenizer, TrainerSpec, Training, option


@dataclass(frozen=True, kw_only=True)
class WavingOptions(Options):
    'What waving is told.'

    seed: int = option("Where waves begin", default=0, least=0)


@dataclass(frozen=True, kw_only=True)
class FaultyOptions(Options):
    'What the faulty one is told.'

    how: str = option("How it fails", default="raise")


@dataclass(frozen=True, kw_only=True)
class StrangeOptions(BpeOptions):
    'What the stranger is told.'

    own: int = option("How strange it is", default=1, most=9)


def strange(request):
    trained = train_bpe(request)
    return dataclasses.replace(trained, notes=(f"strange {request.options.own}",))


def faulty(request):
    how, files = request.options.how, {}
    if how == "raise":
        raise RuntimeError("boom")
    if how == "exit":
        raise SystemExit(4)
    if how == "none":
        return None
    if how != "nofile":
        files = {"../evil.json" if how == "path" else "tokenizer.json": "{}" if how == "str" else b"{}"}
    return TrainedTokenizer(files=files, vocab_size=3, merges=0, complete=True, seconds={})


TRAININGS = (Training("waving", "waves", WavingOptions, lambda texts, told, *_: [("seed", str(told.seed))]),)
TRAINERS = (
    TrainerSpec(
        name="stranger", train=strange, options=StrangeOptions, summary="strange", algorithm="bpe", library="pyharness",
        not_exported=None,
    ),
    TrainerSpec(
        name="faulty", train=faulty, options=FaultyOptions, summary="faulty", algorithm="none", library="numpy",
    ),
)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stranger")
    (folder / "waving.py").write_text(PLUGIN, encoding="utf-8")
    return folder


def pyharness(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = with_plugin(folder, "waving")
    command = [sys.executable, "-P", "-m", "pyharness", *arguments]
    return subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=False)


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


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("raise", "RuntimeError: boom"),
        ("exit", "SystemExit: 4"),
        ("none", "NoneType"),
        ("str", "'tokenizer.json'"),
        ("bad", "cannot be loaded: "),
        ("nofile", "no file"),
        ("path", "'../evil.json'"),
    ],
)
def test_a_trainer_with_a_fault_is_named_in_one_line_and_nothing_is_written(folder: Path, how: str, said: str) -> None:
    (folder / "inside").mkdir(exist_ok=True)
    done = pyharness(folder, "train", "faulty", "--how", how, "-c", "sample:prose", "-q", "--out", f"inside/{how}")
    lines = done.stderr.splitlines()
    assert (done.returncode, len(lines), "'faulty'" in lines[-1], said in lines[-1]) == (2, 1, True, True), done.stderr
    assert list((folder / "inside").iterdir()) == []

"""Benchmarks of a foreign project's own tests, of two of its revisions: built, installed, measured in turns."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from gating import foreign, small_project
from pyharness.features.gate import commands
from pyharness.features.gate.builds import names
from pyharness.features.gate.builds.arms import Arms
from pyharness.features.gate.builds.names import UnknownName
from pyharness.features.gate.drivers.project_tests import FOLDER, plant
from pyharness.features.gate.drivers.pytest_process import PytestProcess
from pyharness.features.gate.measurement.plan import GateListener
from pyharness.features.gate.session import GateRequest, checked, judged, ready, resolved
from pyharness.features.gate.types import SIDES, CallBatch, GateRules, GateVerdict, Side
from pyharness.types import InputError

SLOWER = "def encode(text):\n    return [[ord(one) for one in text] for _ in range(20)][0]\n"
TESTS = """\
import pytest
import tinytok
from alphabet import LETTERS

@pytest.mark.parametrize("size", [1, 10])
def test_encode(benchmark, size):
    assert benchmark(tinytok.encode, LETTERS[:size]) == list(range(97, 97 + size))

@pytest.mark.skip(reason="no such machine")
def test_elsewhere(benchmark):
    benchmark(len, "")

def test_version(benchmark):
    assert benchmark(lambda: tinytok.encode("a")) == [97]
    assert tinytok.__file__.count("base"), "the head is wrong"
"""
SETTINGS = "[pytest]\npythonpath = bench/support\naddopts = --import-mode=importlib\n"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with two commits, the second slower, and changes that nobody has committed."""
    folder = tmp_path_factory.mktemp("project")
    small_project.write(folder)
    small_project.commit(folder)
    small_project.write(folder, code=SLOWER, version="2.0")
    (folder / "bench/support").mkdir(parents=True)
    (folder / "bench/support/alphabet.py").write_text("LETTERS = 'abcdefghijklm'\n", encoding="utf-8")
    (folder / "bench/test_it.py").write_text(TESTS, encoding="utf-8")
    (folder / "pytest.ini").write_text(SETTINGS, encoding="utf-8")
    small_project.commit(folder)
    (folder / "bench/test_it.py").write_text("def test_it(): pass\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def both(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Arms]:
    with foreign.built_arms(project, tmp_path_factory.mktemp("cache")) as made:
        yield made


def sources(project: Path) -> names.Pair:
    return names.find("HEAD~1", "HEAD", project)


def test_the_heads_tests_run_in_both_arms(both: Arms, project: Path, tmp_path: Path) -> None:
    """A little loop of its own: a session has its rounds and launches elsewhere."""
    planted = plant(both, sources(project), "bench/test_it.py", project, tmp_path)
    pair: dict[Side, PytestProcess] = {}
    try:
        for side, arm in zip(SIDES, (both.base, both.head), strict=True):
            pair[side] = PytestProcess(arm, planted.path, modules=planted.modules, time_limit=60)
        facts = [dict(worker.facts().facts) for worker in pair.values()]
        assert facts[0] == facts[1]
        names = pair["base"].benchmarks()
        tests = ("test_encode[1]", "test_encode[10]", "test_elsewhere", "test_version")
        assert names == pair["head"].benchmarks() == tuple(f"bench/test_it.py::{test}" for test in tests)
        for name in names[:2]:
            for worker in pair.values():
                worker.prepare(name)
            times = {side: min(pair[side].time(name, CallBatch(1000)).timing.cpu for _ in range(3)) for side in SIDES}
            assert times["head"] > 5 * times["base"]
            for worker in pair.values():
                worker.finish(name)
    finally:
        for worker in pair.values():
            worker.close()


def test_a_single_test_is_named_from_a_folder_below(both: Arms, project: Path, tmp_path: Path) -> None:
    shutil.rmtree(both.base.folder / FOLDER, ignore_errors=True)
    shutil.rmtree(both.head.folder / FOLDER, ignore_errors=True)
    planted = plant(both, sources(project), "test_it.py::test_encode[1]", project / "bench", tmp_path)
    assert planted.path == "bench/test_it.py::test_encode[1]"
    assert "tinytok" in planted.modules


@pytest.mark.parametrize(
    ("asked", "near"), [("bench/test_ti.py::test_version", "bench/test_it.py"), ("bnech", "bench"), ("zzz", "")]
)
def test_tests_that_neither_side_has_are_refused_before_a_build(project: Path, asked: str, near: str) -> None:
    with pytest.raises(UnknownName, match=re.escape(asked.partition("::")[0])) as error:
        checked(GateRequest("HEAD~1", "HEAD", tests=asked, folder=project))
    assert error.value.near == (near,) * bool(near)


def test_a_gate_of_tests(both: Arms, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Found slower, found wrong, and skipped: each is named."""
    for arm in (both.base, both.head):
        shutil.rmtree(arm.folder / FOLDER, ignore_errors=True)
    monkeypatch.setattr("pyharness.features.gate.session.prepare", lambda *_, **__: nullcontext(both))
    rules = GateRules(launches=2, rounds=6)
    asked = GateRequest("HEAD~1", "HEAD", tests="bench/test_it.py", rules=rules, folder=project)
    with ready(resolved(asked), GateListener()) as both_ready:
        done = judged(both_ready, rules)
    verdicts = {one.benchmark.rpartition("::")[2]: one for one in done.judgements if one.figure == "time"}
    assert verdicts["test_encode[1]"].effect is not None
    assert verdicts["test_encode[1]"].effect > 1
    assert verdicts["test_version"].verdict is GateVerdict.FAILED
    assert verdicts["test_version"].reason == "head: the test fails: AssertionError: the head is wrong"
    (note,) = [note for note in done.notes if note.startswith("bench/test_it.py::test_elsewhere ")]
    assert note.endswith(": Skipped: no such machine")


@pytest.mark.parametrize(
    ("other", "option"), [({"suite": "gate"}, "--suite"), ({"instructions": True}, "--counter instructions")]
)
def test_tests_go_with_no_suite_and_no_counter(other: dict[str, Any], option: str) -> None:
    asked = GateRequest("HEAD~1", "HEAD", tests="bench", **other)
    with pytest.raises(InputError, match=f"--pytest 'bench' .*{option} "):  # before anything is built
        commands.gate(asked, GateListener())

"""Benchmarks that the head deletes, renames, or no longer runs: the base's own tests say that they are missing."""

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
from pyharness.features.gate.drivers.project_tests import FOLDER, plant
from pyharness.features.gate.drivers.pytest_process import OwnTests
from pyharness.features.gate.measurement.plan import GateListener
from pyharness.features.gate.session import GateRequest
from pyharness.features.gate.types import Gate, GateRules, GateVerdict
from pyharness.features.gate.verdicts import judgements
from pyharness.types import InputError

GONE = r"^the base .*the head .*\brenamed\b"
BASE = """\
import pytest, tinytok

def test_kept(benchmark):
    assert benchmark(tinytok.encode, "a") == [97]

def test_gone(benchmark):
    benchmark(tinytok.encode, "a")

@pytest.mark.parametrize("size", [1, 10])
def test_sized(benchmark, size):
    benchmark(tinytok.encode, "a" * size)

class TestClass:
    def test_inside(self, benchmark):
        benchmark(tinytok.encode, "a")

def test_marked(benchmark):
    benchmark(tinytok.encode, "a")

def test_skips(benchmark):
    assert benchmark(tinytok.encode, "a") == "it fails, and it was a benchmark"

def test_calls(benchmark):
    benchmark(tinytok.encode, "a")

@pytest.mark.skip(reason="no such machine")
def test_elsewhere(benchmark):
    benchmark(tinytok.encode, "a")

def test_without_benchmark():
    pass
"""
HEAD = """\
import pytest, tinytok

def test_kept(benchmark):
    assert benchmark(tinytok.encode, "a") == [97]

@pytest.mark.parametrize("size", [1])
def test_sized(benchmark, size):
    benchmark(tinytok.encode, "a" * size)

class TestOther:
    def test_inside(self, benchmark):
        benchmark(tinytok.encode, "a")

@pytest.mark.skip(reason="too slow")
def test_marked(benchmark):
    benchmark(tinytok.encode, "a")

def test_skips(benchmark):
    pytest.skip("slow, too")

def test_calls(benchmark):
    pass

@pytest.mark.skip(reason="no such machine")
def test_elsewhere(benchmark):
    benchmark(tinytok.encode, "a")
"""
ONE = "import tinytok\ndef test_one(benchmark):\n    benchmark(tinytok.encode, 'a')\n"
NEWER = ONE.replace("import tinytok", "import tinytok\nfrom tinytok import newer")
FAILS_TO_IMPORT = "import no_such_thing\n"


def write(folder: Path, files: dict[str, str]) -> None:
    shutil.rmtree(folder / "bench", ignore_errors=True)
    for name, text in files.items():
        (folder / "bench" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "bench" / name).write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    small_project.write(folder)
    (folder / "pytest.ini").write_text("[pytest]\naddopts = --import-mode=importlib\n", encoding="utf-8")
    write(folder, {"test_it.py": BASE, "test_file.py": ONE, "test_needs.py": ONE, "odd/test_odd.py": FAILS_TO_IMPORT})
    small_project.commit(folder)
    small_project.write(folder, code=small_project.CODE + "newer = 1\n", version="2.0")
    write(folder, {"test_it.py": HEAD, "test_needs.py": NEWER, "test_new.py": NEWER, "odd/test_odd.py": ONE})
    small_project.commit(folder)
    return folder


@pytest.fixture(scope="module")
def built(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Arms]:
    with foreign.built_arms(project, tmp_path_factory.mktemp("cache")) as made:
        yield made


@pytest.fixture
def both(built: Arms) -> Arms:
    for arm in (built.base, built.head):
        shutil.rmtree(arm.folder / FOLDER, ignore_errors=True)
    return built


def gate(both: Arms, project: Path, tests: str, monkeypatch: pytest.MonkeyPatch) -> Gate:
    monkeypatch.setattr("pyharness.features.gate.session.prepare", lambda *_, **__: nullcontext(both))
    rules = GateRules(launches=0, rounds=6)  # and whatever else measures on this machine: times are not judged here
    asked = GateRequest(both.base.source, "HEAD", tests=tests, rules=rules, folder=project, force=True)
    return commands.gate(asked, GateListener())


def reasons(done: Gate) -> dict[str, str]:
    """What has failed, by the end of its name, and why."""
    failed = [one for one in done.judgements if one.verdict is GateVerdict.FAILED]
    return {one.benchmark.removeprefix("bench/"): one.reason for one in failed}


def test_what_the_head_took_away_is_named_and_ends_with_2(
    both: Arms, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = gate(both, project, "bench", monkeypatch)
    expected = {
        "test_it.py::test_gone": GONE,
        "test_it.py::test_sized[10]": GONE,
        "test_it.py::TestClass::test_inside": GONE,
        "test_file.py::test_one": GONE,
        "test_it.py::test_marked": "head.* not: Skipped: too slow$",
        "test_it.py::test_skips": "head.* not: Skipped: slow, too$",
        "test_it.py::test_calls": "head.* not: .*benchmark fixture$",
        "test_needs.py::test_one": "head.* not: .*ImportError: .*'newer'",
    }
    found = reasons(done)
    assert found.keys() == expected.keys()
    for name, reason in found.items():
        assert re.search(expected[name], reason), name
    assert (done.verdict, done.exit_code) == (GateVerdict.FAILED, 2)
    measured = {one.benchmark.partition("::")[2] for one in done.rounds}
    assert measured == {"test_kept", "test_sized[1]", "TestOther::test_inside", "test_one"}
    notes = "\n".join(done.notes)
    assert re.search("^bench/test_it.py::test_elsewhere .*: Skipped: no such machine$", notes, re.MULTILINE)
    assert re.search("^bench/test_new.py::test_one is new", notes, re.MULTILINE)
    assert re.search("^the base's own bench/odd/test_odd.py .*collected: ", notes, re.MULTILINE)


@pytest.mark.parametrize(
    ("path", "gone"),
    [
        ("bench/test_file.py", ["test_file.py::test_one"]),
        ("bench/test_it.py::test_gone", ["test_it.py::test_gone"]),
        ("bench/test_it.py::TestClass", ["test_it.py::TestClass::test_inside"]),
        ("bench/test_it.py::test_sized", ["test_it.py::test_sized[10]"]),
        ("bench/test_it.py::test_sized[10]", ["test_it.py::test_sized[10]"]),
    ],
)
def test_a_path_that_the_head_deleted(
    both: Arms, project: Path, monkeypatch: pytest.MonkeyPatch, path: str, gone: list[str]
) -> None:
    done = gate(both, project, path, monkeypatch)
    found = reasons(done)
    assert found.keys() == {*gone}
    assert all(re.match(GONE, reason) for reason in found.values())
    assert done.exit_code == 2


def test_a_path_that_is_new_in_the_head_compares_nothing(
    both: Arms, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = gate(both, project, "bench/test_new.py", monkeypatch)
    assert (done.verdict, done.exit_code) == (GateVerdict.INCOMPARABLE, 2)


def test_time_that_is_over_leaves_open_what_is_skipped(
    both: Arms, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settle = OwnTests.settle
    monkeypatch.setattr(OwnTests, "settle", lambda own, measured, deadline: settle(own, measured, 0.0))
    done = gate(both, project, "bench/test_it.py::test_marked", monkeypatch)
    (found,) = done.judgements
    assert found.verdict is GateVerdict.INCONCLUSIVE
    assert re.search("head.* not run.*time ran out: Skipped: too slow$", found.reason)


def test_what_is_skipped_is_settled_before_further_launches_take_the_time(
    both: Arms, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settle, escalated, order = OwnTests.settle, judgements.escalated, []

    def settling(own: OwnTests, *known: Any) -> None:
        order.append("settle")
        settle(own, *known)

    def choosing(*known: Any) -> Any:
        order.append("escalate")
        return escalated(*known)

    monkeypatch.setattr(OwnTests, "settle", settling)
    monkeypatch.setattr(judgements, "escalated", choosing)
    done = gate(both, project, "bench/test_it.py::test_marked", monkeypatch)
    assert order == ["settle", "escalate"]
    assert [one.verdict for one in done.judgements] == [GateVerdict.FAILED]


def test_a_base_that_is_a_wheel_has_no_tests(both: Arms, project: Path, tmp_path: Path) -> None:
    wheel = small_project.wheel(tmp_path)
    sources = names.find(str(wheel), "HEAD", project)
    planted = plant(both, sources, "bench", project, tmp_path)
    (note,) = planted.notes
    assert planted.own is None
    assert re.search(rf"'{re.escape(str(wheel))}' has no .*tests", note)


def test_a_working_tree_that_has_changed_since_it_was_looked_at_is_refused(
    both: Arms, project: Path, tmp_path: Path
) -> None:
    sources = names.find("HEAD~1", ".", project)
    (project / "later.txt").touch()
    try:
        with pytest.raises(InputError, match=rf"--head 'HEAD' .*built {both.head.version[:12]}\b"):
            plant(both, sources, "bench", project, tmp_path)
    finally:
        (project / "later.txt").unlink()

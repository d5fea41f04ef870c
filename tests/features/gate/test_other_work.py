"""A head that gives a benchmark other work under its old name is named, and not compared unless that is declared."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import pytest

from gating import small_project
from gating.arms import here, suite_of
from gating.doubles import NAMES, gate_plan
from pyharness.features.gate import suites
from pyharness.features.gate.builds import names
from pyharness.features.gate.builds.arms import Arms
from pyharness.features.gate.session import ReadyGate, judged
from pyharness.features.gate.types import Gate, GateRules, GateVerdict, Waiver
from pyharness.features.gate.verdicts import waivers as declared
from pyharness.types import InputError

SUITE = """
name = "mine"
library = "tinytok"
workloads = "work.py"
corpora = { books = "path:books.jsonl" }
benchmarks = [
  { name = "one", workload = "encode", text = "books", bytes = 64 },
  { name = "two", workload = "decode", bytes = 64, options = { size = 3 } },
  { name = "three", workload = "train", text = "books", bytes = 64 },
]
"""
WORK = '''
"""What is measured."""
import tinytok
from functools import cache

SIZE = 3

class Made:
    """What is called."""
    def __init__(self, call): self.call, self.digestible = call, str.encode

@cache
def vocabulary(size=SIZE):
    """Of all."""
    return tinytok.encode("a" * size)

def encode(setting):
    """One text."""
    return Made(tinytok.encode)

def decode(setting):
    return Made(lambda text: vocabulary())

def train(setting):
    import math
    return Made(math.sqrt)
'''
LIBRARY = "library ('tinytok', now 'other')"
ALL = {"one", "two", "three"}
CORPORA = "corpora ({'books': 'path:books.jsonl'}, now {'books': 'path:shorter.jsonl'})"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    small_project.write(tmp_path / "project")
    (tmp_path / "project" / "mine.toml").write_text(SUITE, encoding="utf-8")
    (tmp_path / "project" / "work.py").write_text(WORK, encoding="utf-8")
    small_project.commit(tmp_path / "project")
    return tmp_path / "project"


def read(project: Path, base: str = "HEAD", head: str = ".") -> suites.GateSuite:
    path = project / "mine.toml"
    return suites.against(suites.read(path), path, names.find(base, head, project), 0.03)


def edit(project: Path, name: str, before: str, now: str) -> None:
    text = (project / name).read_text(encoding="utf-8")
    assert before in text
    (project / name).write_text(text.replace(before, now), encoding="utf-8")


@pytest.mark.parametrize(
    ("before", "now", "changed"),
    [
        ('"encode", text = "books", bytes = 64', '"encode", text = "books", bytes = 8', {"one": "bytes (64, now 8)"}),
        ('workload = "encode"', 'workload = "train"', {"one": "workload ('encode', now 'train'), code"}),
        ("size = 3", "size = 4", {"two": "options ({'size': 3}, now {'size': 4})"}),
        ('"decode", bytes', '"decode", library = "other", bytes', {"two": LIBRARY}),
        ('"train", text', '"train", threads = 2, text', {"three": "threads (1, now 2)"}),
        ("options = { size = 3 }", "options = { size = 3 }, budget = 0.01", {}),
        ('library = "tinytok"', 'library = "other"', dict.fromkeys(["one", "two", "three"], LIBRARY)),
        ("books.jsonl", "shorter.jsonl", dict.fromkeys(["one", "three"], CORPORA)),
    ],
)
def test_what_a_suite_says_of_a_benchmark(project: Path, before: str, now: str, changed: dict[str, str]) -> None:
    assert read(project).changed == {}
    edit(project, "mine.toml", before, now)
    assert read(project).changed == changed
    small_project.commit(project)
    assert read(project, "HEAD~1", "HEAD").changed == changed


@pytest.mark.parametrize(
    ("before", "now", "changed"),
    [
        ("Made(tinytok.encode)", "Made(str)", {"one"}),
        ("SIZE = 3", "SIZE = 2", ALL),  # shared, whoever uses it
        ('"a" * size', '"a"', ALL),
        ("import math", "import cmath as math", {"three"}),
        ("str.encode", "repr", ALL),
        ("import tinytok\n", "import tinytok\ntinytok.encode = str\n", ALL),  # reached by no name
        ("import tinytok\n", "import json as tinytok\n", ALL),
        ("import cache\n", "import *\n", ALL),
        ("What is measured.", "Something.", set()),
        ('"""One text."""', '"""Another."""  # and a comment', set()),
        ("def train", "def unused():\n    return 1\n\n\ndef train", set()),
    ],
)
def test_the_code_of_a_workload(project: Path, before: str, now: str, changed: set[str]) -> None:
    edit(project, "work.py", before, now)
    found = read(project).changed
    assert set(found) == changed
    assert set(found.values()) <= {"code"}


def test_code_that_is_reached_by_other_means_than_its_name(project: Path) -> None:
    """What following names from a workload would not find: a digest of all that is shared does."""
    edit(project, "work.py", "import math", 'import math; globals()["_prepared"]()')
    edit(project, "work.py", "def train", "def _prepared():\n    return 1\n\n\ndef train")
    small_project.commit(project)
    edit(project, "work.py", "return 1", "return 2")
    assert read(project).changed == dict.fromkeys(["one", "two", "three"], "code")


def test_workloads_that_were_moved_are_the_same(project: Path) -> None:
    (project / "inner").mkdir()
    (project / "work.py").rename(project / "inner" / "work.py")
    edit(project, "mine.toml", '"work.py"', '"inner/work.py"')
    assert read(project).changed == {}
    edit(project, "inner/work.py", "Made(tinytok.encode)", "Made(str)")
    assert read(project).changed == {"one": "code"}


def test_a_base_whose_workloads_are_unknown_is_said(project: Path) -> None:
    small_project.git(project, "rm", "-q", "--cached", "work.py")
    small_project.git(project, "commit", "-q", "-m", "without")
    (note,) = read(project).notes
    assert re.search(r"suite 'mine' .*base .*not known: .*'work\.py'", note)


def gated(*waivers: Waiver) -> Gate:
    plan, _ = gate_plan()
    arms = Arms(here(Path(), under_test="library"), here(Path(), "head", under_test="library"))
    suite = replace(suite_of(Path(), *plan.benchmarks.values()), changed={"decode": "bytes"})
    return judged(ReadyGate(suite, arms, plan), GateRules(), waivers)


def entry(benchmark: str, days: int) -> Waiver:
    return Waiver(benchmark, "workload", float("inf"), (date.today() + timedelta(days)).isoformat(), "shorter texts")


def test_other_work_is_not_compared() -> None:
    gate = gated()
    (found,) = [one for one in gate.judgements if one.benchmark == "decode"]
    assert found.verdict is GateVerdict.INCOMPARABLE
    assert re.search(r": bytes changed; .*gate\.toml .*\"workload\"", found.reason)
    assert (gate.verdict, gate.exit_code) == (GateVerdict.INCOMPARABLE, 2)
    assert {one.benchmark for one in gate.judgements if one.verdict is GateVerdict.PASS} == {"encode", "split"}


def test_other_work_that_is_declared_is_measured_and_said() -> None:
    gate = gated(entry("decode", 1))
    assert (gate.verdict, gate.exit_code) == (GateVerdict.PASS, 0)
    assert {one.benchmark for one in gate.judgements} == set(NAMES)
    assert any(re.match("decode .*other work .*declared until 2", note) for note in gate.notes)


@pytest.mark.parametrize(("name", "days", "said"), [("decode", -1, "expired"), ("split", 1, "no benchmark matches")])
def test_an_entry_that_does_not_hold_fails(name: str, days: int, said: str) -> None:
    gate = gated(entry(name, days))
    (fault,) = gate.declaration_faults
    assert said in fault
    assert gate.exit_code == 1
    assert "decode" in {one.benchmark for one in gate.judgements if one.verdict is GateVerdict.INCOMPARABLE}


def test_an_entry_for_other_work_has_no_ceiling(tmp_path: Path) -> None:
    path = tmp_path / "gate.toml"
    text = '[[accepted]]\nbenchmark = "one"\nmetric = "workload"\nexpires = 2030-01-01\nreason = "shorter"\n'
    path.write_text(text, encoding="utf-8")
    assert [(one.benchmark, one.metric) for one in declared.read(path)] == [("one", "workload")]
    path.write_text(text + 'ceiling = "8 %"\n', encoding="utf-8")
    with pytest.raises(InputError, match="'workload' has no 'ceiling'"):
        declared.read(path)

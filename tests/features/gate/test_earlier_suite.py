"""A head cannot take a benchmark out of the suite, or allow itself more, without its being seen."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from gating import small_project
from gating.arms import here, suite_of
from gating.doubles import gate_plan
from pyharness.features.gate import suites
from pyharness.features.gate.builds import names
from pyharness.features.gate.builds.arms import Arms
from pyharness.features.gate.session import ReadyGate, judged
from pyharness.features.gate.types import GateRules, GateVerdict


def entry(name: str, budget: str = "") -> str:
    return f'[[benchmarks]]\nname = "{name}"\nworkload = "encode"\nbytes = 64\n{budget}\n'


def read(path: Path, base: str, head: str, folder: Path) -> suites.GateSuite:
    return suites.against(suites.read(path), path, names.find(base, head, folder), 0.03)


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """A suite of which the head has lost one benchmark, loosened two, tightened one and added one."""
    project = tmp_path / "project"
    small_project.write(project)
    path = project / "bench" / "mine.toml"
    path.parent.mkdir()
    path.write_text(
        entry("a", "budget = 0.02") + entry("b") + entry("c", "budget = 0.5") + entry("gone"), encoding="utf-8"
    )
    small_project.commit(project)
    path.write_text(
        entry("a", "budget = 9.9") + entry("b", "budget = 9.9") + entry("c", "budget = 0.1") + entry("new"),
        encoding="utf-8",
    )
    small_project.commit(project)
    return path


@pytest.mark.parametrize("head", ["HEAD", "."])
def test_what_the_head_has_loosened_is_held(suite: Path, head: str) -> None:
    found = read(suite, "HEAD~1", head, suite.parents[1])
    assert found.gone == ("gone",)
    assert {one.name: one.budget for one in found.benchmarks} == {"a": 0.02, "b": None, "c": 0.1, "new": None}
    assert [note.partition(":")[0] for note in found.notes] == ["a", "b"]
    assert re.match(r"b: .*\b9\.9\b.*base\b.*\b0\.03\b", found.notes[1])


def test_another_checkout_of_the_project_is_a_base_as_well(suite: Path, tmp_path: Path) -> None:
    small_project.git(tmp_path, "clone", "--quiet", str(suite.parents[1]), "other")
    assert read(suite, "../other@HEAD~1", "HEAD", suite.parents[1]).gone == ("gone",)
    assert read(suite, "../other", ".", suite.parents[1]).gone == ()


def test_a_base_without_the_file_or_with_one_that_cannot_be_read(suite: Path) -> None:
    project = suite.parents[1]
    suite.with_name("new.toml").write_text(entry("a"), encoding="utf-8")
    assert read(suite.with_name("new.toml"), "HEAD", ".", project) == suites.read(suite.with_name("new.toml"))
    suite.write_text("benchmarks = 1", encoding="utf-8")
    small_project.commit(project)
    suite.write_text(entry("a"), encoding="utf-8")
    (note,) = read(suite, "HEAD", ".", project).notes
    assert re.match(r"suite 'mine' .*base .*cannot be read \(.*'benchmarks'", note)


@pytest.mark.parametrize("wrong", ['text = ["english"]', 'workload = ["encode"]', "options = 1"])
def test_a_base_whose_benchmark_has_a_field_of_another_kind(suite: Path, wrong: str) -> None:
    lines = [line for line in entry("a").splitlines() if not line.startswith(wrong.split()[0])]
    suite.write_text("\n".join([*lines, wrong]), encoding="utf-8")
    small_project.commit(suite.parents[1])
    suite.write_text(entry("a"), encoding="utf-8")
    (note,) = read(suite, "HEAD", ".", suite.parents[1]).notes
    assert f"'{wrong.split()[0]}' is " in note


def test_a_benchmark_that_is_gone_has_failed() -> None:
    plan, _ = gate_plan()
    arms = Arms(here(Path(), under_test="library"), here(Path(), "head", under_test="library"))
    suite = replace(suite_of(Path(), *plan.benchmarks.values()), gone=("lost",))
    gate = judged(ReadyGate(suite, arms, plan), GateRules())
    assert [one.verdict for one in gate.judgements if one.benchmark == "lost"] == [GateVerdict.FAILED]
    assert (gate.verdict, gate.exit_code) == (GateVerdict.FAILED, 2)

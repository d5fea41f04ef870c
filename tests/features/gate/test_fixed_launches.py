"""``--launches`` and ``--only``: every benchmark that is asked for gets all launches, and is known by what it does."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from cases.command_line import call
from gating.arms import here, suite_of
from gating.doubles import NAMES, gate_plan
from pyharness.features.gate import suites
from pyharness.features.gate.builds.arms import Arms
from pyharness.features.gate.drivers import project_tests
from pyharness.features.gate.records import gate_as_json, gate_from_json
from pyharness.features.gate.session import GateRequest, ReadyGate, checked, judged
from pyharness.features.gate.types import BELOW_ALL, Gate, GateRules, Side
from pyharness.features.gate.verdicts.times import looks
from pyharness.types import InputError

FIXED = GateRules(launches=6, screen=BELOW_ALL)
OWN = """
benchmarks = [{ name = "a", workload = "encode", bytes = 64 }, { name = "b", workload = "encode", bytes = 65 },
              { name = "c", workload = "split", library = "other", bytes = 64 }]
"""


def gated(rules: GateRules, slow: str = "") -> Gate:
    def seconds(benchmark: str, side: Side, launch: int) -> float:
        return 0.004 if (benchmark, side) == (slow, "head") else 0.002

    plan, _ = gate_plan(seconds, rules)
    plan.benchmarks = {**plan.benchmarks, "split": replace(plan.benchmarks["split"], library="python")}
    arms = Arms(here(Path(), under_test="library"), here(Path(), "head", under_test="library"))
    return judged(ReadyGate(suite_of(Path(), *plan.benchmarks.values()), arms, plan), rules)


@pytest.mark.parametrize("slow", ["", "encode"])
def test_every_benchmark_gets_all_launches_the_control_too(slow: str) -> None:
    gate = gated(FIXED, slow)
    launches = Counter(part.benchmark for part in gate.rounds)
    assert launches == dict.fromkeys(NAMES, 1 + FIXED.launches)
    times = {one.benchmark: one for one in gate.judgements if one.figure == "time"}
    assert {one.launches for one in times.values()} == {FIXED.launches}
    assert all(one.interval is not None for one in times.values())
    assert (gate.exit_code == 1) is bool(slow)
    assert gate_from_json(gate_as_json(gate), "again").rules.fixed


def test_rules_are_not_fixed_unless_asked() -> None:
    assert not GateRules().fixed
    assert len(Counter(part.benchmark for part in gated(GateRules()).rounds).keys()) == len(NAMES)
    assert looks(GateRules()) != looks(FIXED) == ()


def test_a_definition_changes_with_what_a_benchmark_does_and_with_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text(OWN, encoding="utf-8")
    before = suites.definitions(suites.read(path))
    path.write_text("\n" + OWN.replace("65", "66"), encoding="utf-8")
    after = suites.definitions(suites.read(path))
    assert before.keys() == {"a", "b", "c"}
    assert {name for name in before if before[name] != after[name]} == {"b"}


def test_the_definition_of_a_test_is_the_code_of_its_file(tmp_path: Path) -> None:
    file = tmp_path / "test_a.py"

    def digest(text: str) -> str | None:
        file.write_text(text, encoding="utf-8")
        return project_tests.definitions(tmp_path, ["test_a.py::test_x[1]", "gone.py::test_y"]).get(
            "test_a.py::test_x[1]"
        )

    first = digest('def test_x(benchmark):\n    """One."""\n    benchmark(len, [])\n')
    assert first is not None
    assert digest("def test_x(benchmark):\n    # other words\n    benchmark(len, [])\n") == first
    assert digest("def test_x(benchmark):\n    benchmark(len, [1])\n") != first
    assert digest("def test_x(") is None


def test_only_leaves_the_named_benchmark_and_the_controls(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text(OWN, encoding="utf-8")
    suite = suites.of_library(suites.read(path), "mine")
    assert [one.name for one in suites.only(suite, ("a",), "mine").benchmarks] == ["a", "c"]
    assert suites.only(suite, (), "mine") == suite
    assert suites.only(replace(suite, gone=("d",)), ("a",), "mine").gone == ()
    with pytest.raises(InputError, match="'aa'"):
        suites.only(suite, ("aa",), "mine")


def test_a_gate_ends_after_its_first_launch_if_this_shows_no_test_that_is_expected() -> None:
    plan, diary = gate_plan(rules=FIXED)
    arms = Arms(here(Path(), under_test="library"), here(Path(), "head", under_test="library"))
    tests = ReadyGate(suite_of(Path(), *plan.benchmarks.values()), arms, plan, expected=("encod",))
    with pytest.raises(InputError, match="'encode'"):  # a near name
        judged(tests, FIXED)
    assert len(diary.started) == 2
    gate = judged(replace(tests, expected=("gone", "encode")), FIXED)
    assert len(gate.launches) == 1 + FIXED.launches


def test_definitions_are_in_the_record(tmp_path: Path) -> None:
    rules, (plan, _) = GateRules(), gate_plan()
    suite = suite_of(Path(), *plan.benchmarks.values())
    arms = Arms(here(Path(), under_test="library"), here(Path(), "head", under_test="library"))
    named = replace(suite, work={name: {"bytes": 100} for name in NAMES})
    about = judged(ReadyGate(named, arms, plan), rules).about
    assert about["definitions"] == suites.definitions(named)
    assert about["definitions"].keys() == set(NAMES)


def test_a_test_is_named_by_its_path_and_not_by_only() -> None:
    with pytest.raises(InputError, match="--only"):
        checked(GateRequest("HEAD", "HEAD", tests="tests", only=("a",)))


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        (["--calibrate", "--launches", "5"], "--launches"),
        (["--calibrate", "--only", "encode"], "--only"),
        (["--head", "raw_bytes", "--launches", "1"], "--launches"),
        (["--head", "raw_bytes", "--only", "nothing", "--force"], "'nothing'"),
    ],
)
def test_bad_options_are_named(arguments: list[str], option: str) -> None:
    done = call("gate", "--base", "raw_bytes", *arguments)
    assert done.returncode == 2
    assert option in done.stderr

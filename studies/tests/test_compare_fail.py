"""Rules of pytest-benchmark on trials whose answers are known."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from statistics import fmean

import pytest

import compare_fail
from gate_trials import RULES, Trial
from pyharness.features.gate.types import (
    SIDES,
    ArmFacts,
    Gate,
    GateBenchmark,
    GateVerdict,
    Launch,
    Rounds,
    SelfTest,
    Timing,
)

NAMES = ("a", "b", "c", "d")


def trial(number: int, level: float, slowed: Mapping[str, float], *, loaded: bool = False) -> Trial:
    """One launch of constant times: ``level`` is how slow the machine is."""

    def timings(factor: float) -> tuple[Timing, ...]:
        nanoseconds = round(1_000_000 * level * factor)
        return (Timing(nanoseconds, nanoseconds),) * 6

    rounds = tuple(
        Rounds(name, 0, 2, timings(1), timings(1 + slowed.get(name, 0)), (True, False) * 3) for name in NAMES
    )
    arms = {side: ArmFacts(side, side, "1", {}, {}) for side in SIDES}
    benchmarks = tuple(GateBenchmark(name, "encode", "pyharness") for name in NAMES)
    gate = Gate("s", RULES, arms, benchmarks, (Launch(0, "base"),), rounds, (), SelfTest(()), GateVerdict.PASS,
                about={"begun": float(number)})  # fmt: skip
    return Trial(number, loaded, dict(slowed), 1.0, gate)


def cells(trials: list[Trial]) -> dict[str, list[str]]:
    rows = [line.strip("| ").split(" | ") for line in compare_fail.table(trials)][2:]
    return {row[0]: row[1:] for row in rows}


def test_a_machine_that_gets_slower_alarms_a_stored_baseline_and_no_rule_in_turns() -> None:
    found = cells([trial(0, 1.0, {}), trial(1, 1.1, {})])
    for rule in compare_fail.STATISTICS:
        assert found[f"`{rule}`, stored"][0].startswith("4 of 4 (100.0%")
        assert found[f"`{rule}`, stored"][1] == "1 of 1"
        assert found[f"`{rule}`, in turns"][0].startswith("0 of 8 (0.0%")


def test_a_baseline_of_a_machine_as_busy() -> None:
    found = cells(
        [trial(0, 1.0, {}), trial(1, 2.0, {}, loaded=True), trial(2, 1.0, {}), trial(3, 2.0, {}, loaded=True)]
    )
    assert found["`min:5%`, stored"][0].startswith("8 of 12")
    assert found["`min:5%`, stored, alike"][0].startswith("0 of 8")


def test_what_was_slowed_is_power_and_no_false_alarm() -> None:
    found = cells([trial(0, 1.0, {}), trial(1, 1.0, {"a": 0.03, "b": 0.05, "c": 0.10})])
    assert found["`mean:5%`, stored"][0].startswith("0 of 1 ")
    assert found["`mean:5%`, stored"][2:] == ["0 of 1", "0 of 1", "1 of 1"]  # 5 % is not above 5 %


def test_the_rule_is_that_of_pytest_benchmark(tmp_path: Path) -> None:
    """The real one, told the same times: it fails where ours says that it does."""
    script = (
        "from pytest_benchmark.utils import parse_compare_fail\n"
        "import json, sys\n"
        "rule, base, head = json.loads(sys.argv[1])\n"
        "print(bool(parse_compare_fail(rule).fails({'mean': head, 'min': head}, {'mean': base, 'min': base})))\n"
    )
    for rule, head in [("mean:5%", 1.049), ("mean:5%", 1.051), ("min:5%", 1.049), ("min:5%", 1.051), ("min:5%", 0.9)]:
        asked = json.dumps([rule, 1.0, head])
        said = subprocess.run([sys.executable, "-c", script, asked], capture_output=True, text=True, check=True).stdout
        assert said.strip() == str(compare_fail.fails([1.0], [head], compare_fail.STATISTICS[rule]))


@pytest.mark.parametrize(("head", "failed"), [([1.0, 1.2], True), ([1.0, 1.08], False)])
def test_means(head: list[float], failed: bool) -> None:
    assert compare_fail.fails([1.0, 1.0], head, fmean) is failed

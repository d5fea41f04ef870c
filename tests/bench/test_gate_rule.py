"""The simulation of the gate's rule: its machines do what they say, and its table is whole."""

from __future__ import annotations

import random
import statistics

import pytest

import gate_rule
from pyharness.statistics.launches import effect


def test_launches_scatter_as_the_machine_says() -> None:
    for machine in gate_rule.MACHINES:
        generator = random.Random(machine.name)
        shifts = [gate_rule.launch_shift(machine, generator) for _ in range(20_000)]
        assert statistics.stdev(shifts) == pytest.approx(machine.launch, rel=0.25 if machine.heavy else 0.03)


def test_rounds_are_balanced_and_as_slow_as_asked() -> None:
    generator = random.Random(1)
    drawn = [gate_rule.rounds(gate_rule.MACHINES[-1], 0.05, generator) for _ in range(200)]
    assert {sum(one.head_first) for one in drawn} == {gate_rule.ROUNDS // 2}
    found = [seen for one in drawn if (seen := effect(one)) is not None]
    assert statistics.fmean(seen.log for seen in found) == pytest.approx(0.05, abs=0.003)
    assert statistics.fmean(seen.order or 0 for seen in found) == pytest.approx(0.05, abs=0.003)


def test_the_table_has_a_row_for_every_rule() -> None:
    lines = list(gate_rule.table(8, [0.02], gate_rule.MACHINES[:1]))
    rows = [line for line in lines if line.startswith("| ")]
    assert len(rows) == 2 + len(gate_rule.variants(0.02))
    assert {line.count("|") for line in rows} == {len(gate_rule.HEAD) + 1}

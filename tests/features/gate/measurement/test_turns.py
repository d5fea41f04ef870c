"""Batches that are long enough, and rounds that are measured again."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from gating.doubles import NAMES, Diary, gate_plan
from pyharness.features.gate.measurement.plan import GatePlan
from pyharness.features.gate.measurement.rounds import SPARE_ROUNDS
from pyharness.features.gate.measurement.series import measure
from pyharness.features.gate.texts import Texts
from pyharness.features.gate.types import GateRules, GateVerdict, Rounds

ROUNDS = GateRules().rounds


def nobody(rounds: Sequence[Rounds]) -> list[str]:
    return []


def calls_of(plan: GatePlan) -> set[int]:
    return {rounds.calls for rounds in measure(plan, nobody).rounds}


@pytest.mark.parametrize("disturbed", [range(3), (0, 2), (0, 5), ()])
def test_calls_are_settled_by_the_fastest_batch_and_not_by_a_cold_one(disturbed: Sequence[int]) -> None:
    seen: dict[str, int] = dict.fromkeys(NAMES, 0)

    def seconds(name: str, side: str, launch: int) -> float:
        seen[name] += 1
        return 0.0001 * (20 if (seen[name] - 1) // 2 in disturbed else 1)

    plan, diary = gate_plan(seconds)
    assert calls_of(plan) <= {50, 51}
    assert max(len(batch.spans) for *_, batch in diary.timed) <= 51


@pytest.mark.parametrize(("threads", "calls"), [(1, 50), (2, 10)])
def test_a_batch_is_as_long_by_the_clock_that_counts(threads: int, calls: int) -> None:
    plan, _ = gate_plan(lambda *_: 0.0001, waiting=dict.fromkeys(("base", "head"), 5.0))
    plan.benchmarks = {name: dataclasses.replace(one, threads=threads) for name, one in plan.benchmarks.items()}
    assert calls_of(plan) == {calls}


def test_the_faster_side_takes_long_enough() -> None:
    assert calls_of(gate_plan(lambda name, side, launch: 0.0001 * (2 if side == "head" else 1))[0]) == {50}


def test_one_slow_call_is_a_batch_and_is_not_asked_for_again_and_again() -> None:
    plan, diary = gate_plan(lambda *_: 2.0)
    measured = measure(plan, nobody)
    assert {len(rounds.base) for rounds in measured.rounds} == {8}
    assert len([one for one in diary.timed if one[1] == NAMES[0]]) == 2 * (2 + 1 + 8)


@pytest.mark.parametrize("disturbed", [(0,), (1,), (2,), (0, 1), (1, 2), ()])
def test_a_cold_or_disturbed_batch_costs_a_later_launch_no_rounds(disturbed: Sequence[int]) -> None:
    seen: dict[tuple[int, str], int] = {}

    def seconds(name: str, side: str, launch: int) -> float:
        seen[launch, name] = seen.get((launch, name), 0) + 1
        return 0.001 * (100 if launch == 1 and (seen[launch, name] - 1) // 2 in disturbed else 1)

    plan, _ = gate_plan(seconds, GateRules(launches=1))
    measured = measure(plan, lambda _: NAMES)
    fewest = 8 if disturbed == (0, 1) else ROUNDS  # two batches that agree are believed
    assert [len(rounds.base) for rounds in measured.rounds] == [ROUNDS] * 3 + [fewest] * 3


def test_a_long_call_of_a_later_launch_warms_up_twice() -> None:
    plan, diary = gate_plan(lambda *_: 2.0, GateRules(launches=1))
    assert {len(rounds.base) for rounds in measure(plan, lambda _: NAMES).rounds} == {8}
    assert len([one for one in diary.timed if one[:2] == (1, NAMES[0])]) == 2 * (2 + 8)


def real_text(plan: GatePlan, folder: Path, texts: int) -> None:
    """Let benchmarks read a file that has so many texts, and one that is lost at the end."""
    (folder / "english.txt").write_bytes(b"x" * 100 * (texts + 1))
    plan.text = Texts({"english": folder / "english.txt"})


def test_a_long_call_is_not_asked_for_text_of_rounds_that_it_does_not_get(tmp_path: Path) -> None:
    plan, _ = gate_plan(lambda *_: 2.0, GateRules(launches=1))
    real_text(plan, tmp_path, 24)
    measured = measure(plan, lambda _: NAMES)
    assert not measured.refusals
    assert {len(rounds.base) for rounds in measured.rounds} == {8}


def test_too_little_text_costs_its_benchmark_and_not_the_gate(tmp_path: Path) -> None:
    plan, _ = gate_plan(lambda name, side, launch: 0.001 if name == "decode" else 2.0)
    real_text(plan, tmp_path, 24)
    measured = measure(plan, lambda _: NAMES)
    assert set(measured.refusals) == {"decode"}
    verdict, reason = measured.refusals["decode"]
    assert verdict is GateVerdict.INCOMPARABLE
    assert re.search(r"'decode': .*'english'.*\b\d+ fresh texts .*\[corpora\]", reason)
    assert {rounds.benchmark for rounds in measured.rounds} == {"encode", "split"}


def with_faults(*batches: int) -> tuple[Sequence[Rounds], Sequence[str], Diary]:
    plan, diary = gate_plan(faulty={"head": batches}, has=dict.fromkeys(("base", "head"), NAMES[:1]))
    measured = measure(plan, nobody)
    return measured.rounds, measured.notes, diary


def test_a_round_that_waited_for_a_disk_is_measured_again_on_new_text() -> None:
    quiet = len(with_faults()[2].timed)
    (rounds,), notes, diary = with_faults(quiet // 2 - 30, quiet // 2 - 10)
    assert len(rounds.base) == len(rounds.head) == ROUNDS
    assert sum(rounds.head_first) == ROUNDS // 2
    assert len(diary.timed) == quiet + 4
    spans = [span for _, _, side, batch in diary.timed if side == "head" for span in batch.spans]
    assert len(set(spans)) == len(spans)
    (note,) = notes
    assert re.match(r"encode, launch 0: .*\bdisk\b.*: 2$", note)


def test_what_always_waits_for_a_disk_is_kept_and_said() -> None:
    (rounds,), notes, _ = with_faults(*range(1000))
    assert len(rounds.base) == ROUNDS
    assert notes[0].endswith(f"rounds measured again: {SPARE_ROUNDS}, {ROUNDS} stayed so")


def test_pages_that_warm_up_read_are_no_matter() -> None:
    assert not with_faults(0, 1, 2)[1]

"""Launches and rounds: balance, fresh text, failures that cost one benchmark, and time that runs out."""

from __future__ import annotations

import dataclasses
import math
import random
import re
import time
from collections import Counter
from collections.abc import Sequence
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gating.doubles import NAMES, Ruler, gate_plan
from pyharness.features.gate.measurement import series
from pyharness.features.gate.measurement.rounds import SPARE_ROUNDS, WARM_UPS, head_first
from pyharness.features.gate.measurement.series import measure
from pyharness.features.gate.types import SIDES, ArmFailed, GateRules, GateVerdict, Rounds, Side

ROUNDS, LAUNCHES = GateRules().rounds, 5


def nobody(rounds: Sequence[Rounds]) -> list[str]:
    return []


def everybody(rounds: Sequence[Rounds]) -> list[str]:
    return list(NAMES)


def ratios(rounds: Rounds) -> list[float]:
    return [head.cpu / base.cpu for base, head in zip(rounds.base, rounds.head, strict=True)]


@given(st.integers(), st.integers(0, 40))
def test_the_lot_is_balanced_after_every_two(seed: int, pairs: int) -> None:
    drawn = list(islice(head_first(random.Random(seed)), 2 * pairs))
    assert all(drawn[index] != drawn[index + 1] for index in range(0, 2 * pairs, 2))


def test_the_lot_falls_on_both_sides() -> None:
    firsts = Counter(next(head_first(random.Random(seed))) for seed in range(200))
    assert 60 < firsts[True] < 140


def test_a_quiet_screen_is_all() -> None:
    plan, diary = gate_plan()
    measured = measure(plan, nobody)
    assert [rounds.benchmark for rounds in measured.rounds] == list(NAMES)
    assert [launch.number for launch in measured.launches] == [0]
    assert sorted(diary.closed) == ["base", "head"]
    for rounds in measured.rounds:
        assert len(rounds.base) == len(rounds.head) == len(rounds.head_first) == ROUNDS
        assert sum(rounds.head_first) == ROUNDS // 2
        assert rounds.calls == 5  # of a millisecond each, in a batch of five
        assert rounds.memory == {"base": 1000, "head": 1000}


def test_more_launches_are_fresh_and_balanced() -> None:
    plan, diary = gate_plan(rules=GateRules(launches=5))
    measured = measure(plan, lambda _: ["decode"])
    assert [launch.number for launch in measured.launches] == [*range(LAUNCHES + 1)]
    assert Counter(launch.started_first for launch in measured.launches) == {"base": 3, "head": 3}
    assert Counter(diary.started) == {(launch, side): 1 for launch in range(LAUNCHES + 1) for side in SIDES}
    assert Counter(rounds.benchmark for rounds in measured.rounds) == {"encode": 1, "decode": LAUNCHES + 1, "split": 1}
    for number, launch in enumerate(measured.launches):
        assert next(side for started, side in diary.started if started == number) == launch.started_first


def test_each_launch_asks_who_needs_another_and_in_which_order() -> None:
    asked: list[int] = []

    def fewer(rounds: Sequence[Rounds]) -> list[str]:
        asked.append(len(rounds))
        return list(reversed(NAMES))[: 3 - len(asked)]

    measured = measure(gate_plan()[0], fewer)
    assert asked == [len(NAMES), len(NAMES) + 2, len(NAMES) + 3]
    assert [part.benchmark for part in measured.rounds if part.launch == 1] == [NAMES[-1], NAMES[-2]]
    assert [part.benchmark for part in measured.rounds if part.launch == 2] == [NAMES[-1]]


def test_both_sides_get_the_same_text_and_none_twice() -> None:
    plan, diary = gate_plan()
    measure(plan, nobody)
    by_side = {side: [batch.spans for _, _, whose, batch in diary.timed if whose == side] for side in SIDES}
    assert by_side["base"] == by_side["head"]
    spans = [span for batch in by_side["base"] for span in batch]
    assert len(spans) == len(set(spans)) > 300


def test_the_first_of_a_round_is_the_one_that_is_recorded() -> None:
    plan, diary = gate_plan()
    rounds = measure(plan, nobody).rounds[0]
    whose = [side for _, name, side, _ in diary.timed if name == rounds.benchmark][-2 * ROUNDS :]
    assert [whose[2 * number] == "head" for number in range(ROUNDS)] == list(rounds.head_first)


def test_a_slower_head_is_slower_in_the_samples() -> None:
    plan, _ = gate_plan(lambda name, side, launch: 0.001 * (1.1 if side == "head" and name == "split" else 1.0))
    found = {rounds.benchmark: rounds for rounds in measure(plan, nobody).rounds}
    assert all(
        head.cpu / base.cpu == pytest.approx(1.1)
        for base, head in zip(found["split"].base, found["split"].head, strict=True)
    )
    assert all(head.cpu == base.cpu for base, head in zip(found["encode"].base, found["encode"].head, strict=True))


def test_a_planted_slowdown_is_more_work_of_the_share_that_is_asked_for() -> None:
    plan, diary = gate_plan(lambda *_: 0.0001)
    plan.extra = {"encode": 0.05, "decode": 0.031}
    found = {rounds.benchmark: rounds for rounds in measure(plan, nobody).rounds}
    for name, share in (("encode", 1.05), ("decode", 1.031), ("split", 1.0)):
        assert ratios(found[name]) == pytest.approx([share] * ROUNDS, rel=1e-3)
    assert all(not batch.extra for _, _, side, batch in diary.timed if side == "base")


@pytest.mark.parametrize(
    ("seconds", "rounds"), [(0.001, 40), (0.05, 40), (0.051, 38), (0.1, 20), (0.25, 8), (1.0, 8), (60.0, 8)]
)
def test_long_calls_get_fewer_rounds_in_balanced_orders(seconds: float, rounds: int) -> None:
    plan, _ = gate_plan(lambda *_: seconds)
    for part in measure(plan, nobody).rounds:
        assert (len(part.base), sum(part.head_first)) == (rounds, rounds // 2)


def test_other_ids_are_incomparable_and_the_place_is_said() -> None:
    plan, _ = gate_plan(other_ids={"head": "decode"})
    measured = measure(plan, everybody)
    verdict, reason = measured.refusals["decode"]
    assert verdict is GateVerdict.INCOMPARABLE
    assert re.fullmatch(
        r"different ids: text \d of a batch \(100 bytes\), from token 2 on: base \[7\], head \[8\]", reason
    )
    assert {rounds.benchmark for rounds in measured.rounds} == {"encode", "split"}


@pytest.mark.parametrize("side", SIDES)
def test_a_death_costs_its_benchmark_alone(side: Side) -> None:
    plan, diary = gate_plan(dies_in={side: "decode"})
    measured = measure(plan, nobody)
    ((name, (verdict, reason)),) = measured.refusals.items()
    assert (name, verdict) == ("decode", GateVerdict.FAILED)
    assert re.match(rf"{side}: .*\bsignal 9$", reason)
    assert [rounds.benchmark for rounds in measured.rounds] == ["encode", "split"]
    assert Counter(diary.started) == {(0, "base"): 2, (0, "head"): 2}  # both anew: arms stay alike
    assert len(diary.closed) == 4


def test_what_failed_once_is_not_measured_again() -> None:
    measured = measure(gate_plan(dies_in={"head": "decode"})[0], everybody)
    assert {rounds.benchmark for rounds in measured.rounds if rounds.launch} == {"encode", "split"}


def test_a_benchmark_that_the_head_lacks_is_named() -> None:
    plan, _ = gate_plan(has={"head": ("encode", "split", "novel")})
    measured = measure(plan, nobody)
    assert measured.refusals["decode"][0] is GateVerdict.FAILED
    assert "removed or renamed" in measured.refusals["decode"][1]
    assert measured.new == {"novel": ""}


@pytest.mark.parametrize(
    ("absent", "refused", "new"),
    [
        ({"head": {"split": "no split"}}, {"split"}, set()),
        ({"base": {"split": "no split"}}, set(), {"split"}),
        ({"head": {"split": "x"}, "base": {"split": "y"}}, {"split"}, set()),
    ],
)
def test_what_a_side_cannot_prepare(absent: dict[Side, dict[str, str]], refused: set[str], new: set[str]) -> None:
    measured = measure(gate_plan(absent=absent)[0], nobody)
    assert (set(measured.refusals), set(measured.new)) == (refused, new)
    assert {rounds.benchmark for rounds in measured.rounds} == {"encode", "decode"}


def test_a_process_that_cannot_begin_ends_the_gate() -> None:
    plan, diary = gate_plan()
    start = plan.start

    def refuse(side: Side, launch: int, wanted: Sequence[str] | None) -> object:
        if side == "head":
            raise ArmFailed("ended with status 1: No module named 'pyharness'")
        return start(side, launch, wanted)

    plan.start = refuse  # type: ignore[assignment]
    with pytest.raises(ArmFailed, match="head: ended with status 1: No module named"):
        measure(plan, nobody)
    assert set(diary.closed) <= {"base"}


def test_time_runs_out_in_the_screen() -> None:
    plan, diary = gate_plan()
    plan.deadline = time.monotonic() - 1
    measured = measure(plan, everybody)
    assert measured.unmeasured == list(NAMES)
    assert re.match("time ran out .*first launch", measured.notes[0])
    assert not measured.rounds
    assert sorted(diary.closed) == ["base", "head"]


@pytest.mark.parametrize(("share", "slower", "screened"), [(0.0, "decode", 2), (0.0, "none", 3), (0.6, "decode", 3)])
def test_a_screen_leaves_time_for_launches_of_what_looks_slower(
    share: float, slower: str, screened: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(series, "SCREEN_SHARE", share)
    plan, _ = gate_plan(rules=GateRules(launches=2))
    plan.deadline = time.monotonic() + 1000

    def suspects(rounds: Sequence[Rounds]) -> list[str]:
        return [slower] if slower in {part.benchmark for part in rounds} else []

    measured = measure(plan, suspects)
    assert [part.benchmark for part in measured.rounds if part.launch == 0] == list(NAMES[:screened])
    assert [part.benchmark for part in measured.rounds if part.launch > 0] == ["decode"] * (2 * (slower == "decode"))
    assert measured.unmeasured == list(NAMES[screened:])
    assert len(measured.notes) == (screened < len(NAMES))


def test_time_runs_out_between_launches() -> None:
    plan, _ = gate_plan(rules=GateRules(launches=5))
    plan.deadline = math.inf

    def late(rounds: Sequence[Rounds]) -> list[str]:
        plan.deadline = time.monotonic() - 1
        return ["split"]

    measured = measure(plan, late)
    (note,) = measured.notes
    assert re.match(rf"time ran out .*\b0 of {LAUNCHES} ", note)
    assert len(measured.launches) == 1


def test_calls_of_a_batch_are_settled_once() -> None:
    plan, _ = gate_plan(lambda name, side, launch: 0.001 if launch == 0 else 0.004, GateRules(launches=2))
    measured = measure(plan, everybody)
    assert {(rounds.benchmark, rounds.calls) for rounds in measured.rounds} == {(name, 5) for name in NAMES}


def test_little_text_makes_batches_smaller() -> None:
    plan, diary = gate_plan(lambda *_: 0.0001)
    plan.text = Ruler(texts=(ROUNDS + WARM_UPS + SPARE_ROUNDS) * 7)
    assert {rounds.calls for rounds in measure(plan, nobody).rounds} == {7}
    assert max(len(batch.spans) for *_, batch in diary.timed) == 7


def test_both_arms_of_a_round_run_on_one_processor_each_in_turn() -> None:
    ready, diary = gate_plan()
    measure(ready, nobody)
    rounds = ready.rules.rounds
    timed = [(side, batch.core) for _, name, side, batch in diary.timed if name == NAMES[0]][-2 * rounds :]
    assert [core for _, core in timed] == [index // 4 for index in range(2 * rounds)]
    for begin in range(0, 2 * rounds, 4):
        assert {side for side, _ in timed[begin : begin + 4 : 2]} == set(SIDES)  # each goes first once on each


def test_calls_on_more_threads_run_where_they_like() -> None:
    ready, diary = gate_plan()
    ready.benchmarks = {name: dataclasses.replace(one, threads=2) for name, one in ready.benchmarks.items()}
    measure(ready, nobody)
    assert {batch.core for *_, batch in diary.timed} == {None}


def test_instructions_are_counted_beside_and_change_no_time() -> None:
    timed, _ = gate_plan()
    slow, counts = gate_plan(lambda *_: 0.05, counts={"base": 1000, "head": 1020})
    timed.counting = slow.start
    measured = measure(timed, lambda _: ["decode"])
    screen = [rounds for rounds in measured.rounds if rounds.launch == 0]
    assert all(rounds.instructions == {"base": 1000, "head": 1020} for rounds in screen)
    assert all(not rounds.instructions for rounds in measured.rounds if rounds.launch)
    assert max(timing.cpu for rounds in measured.rounds for timing in rounds.base) < 6e6
    assert {len(batch.spans) for *_, batch in counts.timed} == {5}, "as many calls as were timed"


def test_a_head_that_is_a_thousand_times_slower_gets_small_batches() -> None:
    plan, diary = gate_plan(lambda name, side, launch: 1e-5 * (1000 if side == "head" else 1))
    measured = measure(plan, nobody)
    assert {rounds.calls for rounds in measured.rounds} == {10}  # a tenth of a second of the head, and not five seconds
    assert max(len(batch.spans) for *_, batch in diary.timed) == 10


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("times", [1, 2])
def test_a_later_launch_that_does_not_begin_is_tried_once_more_and_has_failed_then(side: Side, times: int) -> None:
    plan, _ = gate_plan(rules=GateRules(launches=LAUNCHES))
    start, left = plan.start, [None] * times

    def refuse(whose: Side, launch: int, wanted: Sequence[str] | None) -> object:
        if launch == 3 and whose == side and left:
            left.pop()
            raise ArmFailed("no process")
        return start(whose, launch, wanted)

    plan.start = refuse  # type: ignore[assignment]
    measured = measure(plan, lambda _: ["split", "decode"])
    assert measured.refusals.keys() == (set() if times == 1 else {"split", "decode"})
    for verdict, reason in measured.refusals.values():
        assert verdict is GateVerdict.FAILED
        assert re.match(rf"launch 3 .*\btwice: {side}: no process$", reason)
    assert [launch.number for launch in measured.launches] == [*range(LAUNCHES + 1 if times == 1 else 4)]
    assert Counter(part.benchmark for part in measured.rounds)["split"] == (LAUNCHES + 1 if times == 1 else 3)
    assert not measured.notes


@pytest.mark.parametrize("where", ["start", "dies_in"])
def test_an_answer_that_the_deadline_cut_off_is_time_that_ran_out(where: str) -> None:
    plan, _ = gate_plan(rules=GateRules(launches=LAUNCHES), dies_in={"head": "split"} if where == "dies_in" else {})
    start = plan.start

    def late(side: Side, launch: int, wanted: Sequence[str] | None) -> object:
        plan.deadline = time.monotonic() - 1 if where == "start" and launch == 2 else plan.deadline
        if where == "start" and launch == 2:
            raise ArmFailed("no answer")
        return start(side, launch, wanted)

    plan.start = late  # type: ignore[assignment]
    if where == "dies_in":
        listener = plan.listener

        class Late(type(listener)):  # type: ignore[misc]
            def measuring(self, launch: int, benchmark: str, done: int, total: int) -> None:
                plan.deadline = time.monotonic() + 0.01 if benchmark == "split" else math.inf
                time.sleep(0.02 if benchmark == "split" else 0)

        plan.listener = Late()
    measured = measure(plan, lambda _: ["decode"])
    assert not measured.refusals
    assert {rounds.benchmark for rounds in measured.rounds} >= {"encode", "decode"}
    assert any("time ran out" in note for note in measured.notes)

"""Verdicts on times, by the rule of docs/gate.md."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gating.launches import benchmark, launch, launches
from pyharness.features.gate.types import GateRules, GateVerdict, Judgement, Rounds, SelfTest, Side, Timing
from pyharness.features.gate.verdicts.judgements import escalated, judge, overall

RULES = GateRules(budget=0.02, screen=0.02, launches=5)
PASS, REGRESSION, IMPROVEMENT, INCONCLUSIVE, FAILED, INCOMPARABLE = (
    GateVerdict.PASS, GateVerdict.REGRESSION, GateVerdict.IMPROVEMENT, GateVerdict.INCONCLUSIVE, GateVerdict.FAILED,
    GateVerdict.INCOMPARABLE,
)  # fmt: skip
SLOWER = [0.034, 0.031, 0.037, 0.029, 0.035]
LOGS = st.integers(-150, 150).map(lambda number: number / 1000)


def only(rounds: list[Rounds], rules: GateRules = RULES, budget: float | None = None) -> Judgement:
    (found,) = judge([benchmark(budget=budget)], rounds, rules)
    return found


@pytest.mark.parametrize(
    ("screen", "noise", "more"),
    [(0.0, 0.0, False), (0.019, 0.0, False), (0.021, 0.0, True), (-0.015, 0.0, False), (-0.03, 0.0, True),
     (0.0, 0.02, False),
     (0.0, 0.1, True)],
)  # fmt: skip
def test_who_gets_more_launches(screen: float, noise: float, more: bool) -> None:
    rounds = [launch("encode", 0, screen, noise=noise)]
    assert escalated(rounds, [benchmark()], RULES) == (("encode",) if more else ())


def test_controls_go_along_and_stay_out_of_the_test() -> None:
    suite = [benchmark("control", "tiktoken"), benchmark("slow"), benchmark("quiet")]
    screens = [launch("control", 0, 0.0), launch("slow", 0, 0.03), launch("quiet", 0, 0.0)]
    assert escalated(screens, suite, RULES, "pyharness") == ("slow", "control")
    assert escalated(screens[::2], suite, RULES, "pyharness") == ()
    rounds = screens + launches("slow", 0.03, SLOWER)[1:]
    alone = {found.benchmark: found for found in judge(suite, rounds, RULES, under_test="pyharness")}
    rounds += launches("control", 0, [0.0, 0.01, -0.01, 0.0, 0.0])[1:]
    along = {found.benchmark: found for found in judge(suite, rounds, RULES, under_test="pyharness")}
    assert alone["slow"].p == along["slow"].p
    assert along["control"].launches == 5


@pytest.mark.parametrize(("log", "words"), [(0.05, "5.1 % slower"), (-0.05, "4.9 % faster")])
def test_a_control_that_moves_is_shown_and_not_judged(log: float, words: str) -> None:
    suite, others = [benchmark("control", "tiktoken"), benchmark("slow")], [log + place / 1e4 for place in range(-2, 3)]
    moved = [replace(part, memory=sides(100 * MB, 110 * MB)) for part in launches("control", log, others)]
    rounds = [*moved, *launches("slow", 0.03, SLOWER)]
    time, memory, slow = judge(suite, rounds, RULES, under_test="pyharness")
    assert (time.verdict, memory.verdict, slow.verdict) == (PASS, PASS, REGRESSION)
    assert re.match(rf"control, .*tiktoken .*: {words} \(", time.reason)
    assert re.match("control, .*tiktoken .*: 10 % more memory in 6 launches", memory.reason)
    (only_slow,) = judge(suite[1:], rounds, RULES, under_test="pyharness")
    assert slow.p == only_slow.p
    assert judge(suite, rounds, RULES, under_test="TikToken")[0].verdict in (REGRESSION, IMPROVEMENT)


def test_a_slower_head_is_a_regression_with_its_figures() -> None:
    found = only(launches("encode", 0.03, SLOWER))
    assert found.verdict is REGRESSION
    assert found.reason == "3.4 % slower (3.0 to 3.8) in 5 launches, budget 2 %"
    assert found.effect == pytest.approx(math.expm1(sum(SLOWER) / 5), abs=1e-6)
    assert found.interval == pytest.approx((0.0297, 0.0377), abs=2e-4)
    assert found.launches == 5
    assert found.noise == pytest.approx(0.00319, abs=1e-5)
    assert found.p is not None
    assert found.p < 0.001
    assert found.values == pytest.approx({"base": 0.0025, "head": 0.0025 * 1.034}, rel=0.003)


@pytest.mark.parametrize(
    ("screen", "others", "verdict", "words"),
    [
        (0.0, [], PASS, "as fast (0.0 to 0.0) in the screen, "),
        (0.05, [0.0, 0.001, -0.001, 0.002, 0.0], PASS, "in 2 launches, budget 2 %; ended early"),
        (0.05, [0.015, 0.016, 0.014, 0.015, 0.015], PASS, "1.5 % slower (1.4 to 1.6) in 5 launches, budget 2 %"),
        (-0.05, [-0.05, -0.051, -0.049, -0.05, -0.052], IMPROVEMENT, "4.9 % faster (4.8 to 5.0) in 5 launches"),
        (0.05, [0.03, -0.02, 0.06, 0.01, 0.09], INCONCLUSIVE, "not significant: p = "),
        (0.05, [0.09, -0.09, 0.01, 0.10, -0.05], INCONCLUSIVE, " too wide"),
        (0.05, [], INCONCLUSIVE, "5.1 % slower in the screen, budget 2 %; "),
        (0.05, [0.05, 0.05], INCONCLUSIVE, "5.1 % slower in 2 launches, budget 2 %; "),
        (0.05, [0.02, 0.021, 0.022], INCONCLUSIVE, "fewer than 5 launches"),
        (0.05, [0.05, 0.051, 0.049, 0.05], INCONCLUSIVE, "5.1 % slower in 4 launches, budget 2 %; "),
        (-0.05, [-0.05, -0.051, -0.049], INCONCLUSIVE, "fewer than 5 launches"),
    ],
)
def test_verdicts(screen: float, others: list[float], verdict: GateVerdict, words: str) -> None:
    found = only(launches("encode", screen, others))
    assert found.verdict is verdict
    assert words in found.reason


@pytest.mark.parametrize("outlier", [math.log(3), -math.log(3)])
def test_one_launch_three_times_as_slow_hides_no_regression(outlier: float) -> None:
    """Effect, interval and p are of one statistic: they agree, whatever one launch of ten does."""
    others = [0.095, 0.1, 0.098, 0.102, 0.094, 0.099, 0.105, 0.097, 0.101, outlier]
    found = only(launches("encode", 0.1, others), replace(RULES, launches=10))
    assert found.verdict is REGRESSION
    assert found.p is not None
    assert found.p < 1e-6
    assert found.interval is not None
    assert found.effect is not None
    assert 0.095 < found.interval[0] < found.effect < found.interval[1] < 0.115


@given(st.lists(LOGS, min_size=10, max_size=10))
@settings(deadline=None)
def test_what_is_proven_has_an_interval_beyond_what_is_tolerated(logs: list[float]) -> None:
    found = only(launches("encode", 0.03, logs), replace(RULES, launches=10))
    if found.verdict is REGRESSION and len(set(logs)) == len(logs):
        assert found.interval is not None
        assert found.effect is not None
        assert found.interval[0] < found.effect < found.interval[1]
        assert (found.p is not None and found.p < 0.025) <= (found.interval[0] > RULES.tolerated - 1e-5)


def test_the_screen_is_no_part_of_the_test() -> None:
    found = [only(launches("encode", screen, SLOWER)) for screen in (0.03, 0.5)]
    assert (found[0].p, found[0].effect, found[0].interval) == (found[1].p, found[1].effect, found[1].interval)


def test_a_budget_of_its_own() -> None:
    rounds = launches("encode", 0.03, SLOWER)
    assert only(rounds, budget=0.05).verdict is PASS
    assert only(rounds, replace(RULES, budget=0.05), budget=0.02).verdict is REGRESSION
    assert escalated(launches("encode", 0.012, []), [benchmark(budget=0.01)], RULES) == ("encode",)


def test_all_that_were_escalated_share_the_level() -> None:
    noisy = [0.05, 0.01, 0.05, 0.02, 0.04]
    assert only(launches("encode", 0.03, noisy)).verdict is REGRESSION
    suite = [benchmark(f"b{number}") for number in range(4)]
    rounds = [part for one in suite for part in launches(one.name, 0.03, noisy)]
    assert {found.verdict for found in judge(suite, rounds, RULES)} == {INCONCLUSIVE}


@settings(deadline=None)
@given(LOGS.filter(lambda log: abs(log) > 0.021), st.lists(LOGS, min_size=5, max_size=5))
def test_swapped_sides_have_the_opposite_verdict(screen: float, others: list[float]) -> None:
    """Or none: a gain fails nothing, so it is let go of sooner than a slowdown."""
    opposite = {REGRESSION: IMPROVEMENT, IMPROVEMENT: REGRESSION}
    found = only(launches("encode", screen, others))
    swapped = only([_swapped(part) for part in launches("encode", screen, others)])
    if found.verdict in opposite:
        assert swapped.verdict is opposite[found.verdict] or "ended early" in swapped.reason
        assert swapped.verdict is opposite[found.verdict] or found.verdict is REGRESSION


def _swapped(part: Rounds) -> Rounds:
    return replace(part, base=part.head, head=part.base, head_first=tuple(not first for first in part.head_first))


@settings(deadline=None)
@given(LOGS, st.lists(LOGS, max_size=5), st.sampled_from([7, 1000]))
def test_the_unit_of_time_does_not_matter(screen: float, others: list[float], factor: int) -> None:
    def scaled(timings: tuple[Timing, ...]) -> tuple[Timing, ...]:
        return tuple(Timing(one.wall * factor, one.cpu * factor) for one in timings)

    rounds = launches("encode", screen, others)
    other = [replace(part, base=scaled(part.base), head=scaled(part.head)) for part in rounds]
    assert (only(other).verdict, only(other).reason) == (only(rounds).verdict, only(rounds).reason)


def test_a_clock_that_stands_still_is_said() -> None:
    still = replace(launch("encode", 0, 0.0), head=(Timing(0, 0),) * 20)
    found = only([still])
    assert found.verdict is INCOMPARABLE
    assert "clock stands still" in found.reason


def test_what_was_not_measured_is_said() -> None:
    suite = [benchmark("gone"), benchmark("late"), benchmark("fine")]
    found = judge(suite, [launch("fine", 0, 0.0)], RULES, refusals={"gone": (FAILED, "the head lacks it")})
    assert [(one.benchmark, one.verdict) for one in found] == [("gone", FAILED), ("late", INCONCLUSIVE), ("fine", PASS)]
    assert found[0].reason == "the head lacks it"
    assert found[1].reason.startswith("not measured: ")


def sides(base: int, head: int) -> dict[Side, int]:
    return {"base": base, "head": head}


MB = 1 << 20


def most(changed: int, count: int, head: int) -> list[tuple[int, int]]:
    """Megabytes of launches of which some have changed."""
    return [(100 * MB, head * MB)] * changed + [(100 * MB, 100 * MB)] * (count - changed)


@pytest.mark.parametrize(
    ("pairs", "verdict", "words"),
    [
        ([(100 * MB, 104 * MB)] * 2, PASS, "4 % more memory in 2 launches (base 104.9 MB, head 109.1 MB), budget 5 %"),
        ([(100 * MB, 110 * MB)] * 2, REGRESSION, "10 % more memory in 2 launches"),
        ([(110 * MB, 100 * MB)] * 2, IMPROVEMENT, "9.1 % less memory"),
        ([(MB // 2, MB)] * 2, PASS, "100 % more memory"),  # half a megabyte
        ([(0, 2 * MB)] * 2, REGRESSION, "growth from nothing in 2 launches"),
        ([(0, 0)] * 2, PASS, "no more memory in 2 launches"),
        ([(100 * MB, 110 * MB)], INCONCLUSIVE, "; one launch is"),
        ([(110 * MB, 100 * MB)], PASS, "9.1 % less memory"),
        ([(100 * MB, 110 * MB), (100 * MB, 100 * MB)], PASS, "more memory in 1 of 2 launches only"),
        (most(9, 11, 110), REGRESSION, "10 % more memory in 11 launches"),
        (most(9, 11, 110), REGRESSION, "; more memory in 9 of 11 launches"),
        (most(8, 11, 110), INCONCLUSIVE, "; more memory in 8 of 11 launches: "),
        (most(6, 11, 110), INCONCLUSIVE, "; more memory in 6 of 11 launches"),
        (most(5, 11, 110), PASS, "; more memory in 5 of 11 launches only"),
        (most(9, 11, 90), IMPROVEMENT, "; less memory in 9 of 11 launches"),
        (most(8, 11, 90), PASS, "; less memory in 8 of 11 launches only"),
    ],
)
def test_memory(pairs: list[tuple[int, int]], verdict: GateVerdict, words: str) -> None:
    rounds = [launch("encode", number, 0.0, memory=sides(*pair)) for number, pair in enumerate(pairs)]
    time, memory = judge([benchmark()], rounds, RULES)
    assert (time.figure, memory.figure) == ("time", "memory")
    assert memory.verdict is verdict
    assert words in memory.reason


def test_memory_alone_asks_for_more_launches() -> None:
    rounds = [launch("encode", 0, 0.0, memory=sides(100 * MB, 110 * MB))]
    assert escalated(rounds, [benchmark()], RULES) == ("encode",)
    assert judge([benchmark()], rounds, RULES)[0].verdict is PASS


def for_memory(name: str, others: list[float]) -> list[Rounds]:
    """Launches that the time of the screen does not ask for."""
    screen, *rest = launches(name, 0.0, others)
    return [replace(screen, memory=sides(100 * MB, 110 * MB)), *rest]


@pytest.mark.parametrize(
    ("others", "verdict", "tested"),
    [(SLOWER, REGRESSION, 5), ([0.0] * 5, PASS, 2), ([0.001] * 4, PASS, 0), (SLOWER[:4], INCONCLUSIVE, 4)],
)
def test_time_is_tested_on_launches_that_memory_asked_for(
    others: list[float], verdict: GateVerdict, tested: int
) -> None:
    found = judge([benchmark()], for_memory("encode", others), RULES)[0]
    assert (found.verdict, found.launches) == (verdict, tested)


def test_launches_that_memory_asked_for_share_the_level() -> None:
    rounds = [*for_memory("encode", SLOWER), *for_memory("other", SLOWER)]
    both = [found for found in judge([benchmark(), benchmark("other")], rounds, RULES) if found.figure == "time"]
    alone = judge([benchmark()], rounds, RULES)[0].p
    assert alone is not None
    assert [found.p for found in both] == pytest.approx([2 * alone] * 2)


@pytest.mark.parametrize(
    ("base", "head", "verdict"), [(1000, 1010, PASS), (1000, 1011, REGRESSION), (1011, 1000, IMPROVEMENT)]
)
def test_instructions(base: int, head: int, verdict: GateVerdict) -> None:
    rounds = [launch("encode", 0, 0.0, instructions=sides(base, head))]
    assert [found.verdict for found in judge([benchmark()], rounds, RULES)] == [PASS, verdict]


def test_time_and_instructions_that_disagree_are_both_shown() -> None:
    rounds = launches("encode", 0.03, SLOWER)
    rounds[0] = launch("encode", 0, 0.03, instructions=sides(1000, 995))
    time, counted = judge([benchmark()], rounds, RULES)
    assert (time.verdict, counted.verdict) == (REGRESSION, PASS)
    assert time.reason.endswith("; instructions disagree: 0.5 % fewer instructions")
    assert counted.reason.endswith("; time disagrees: 3.4 % slower")


def one(verdict: GateVerdict, effect: float | None = 0.0) -> Judgement:
    return Judgement("encode", "time", verdict, effect=effect)


@pytest.mark.parametrize(
    ("judgements", "faults", "verdict"),
    [
        ([], (), INCOMPARABLE),
        ([one(INCONCLUSIVE, None)], (), INCOMPARABLE),  # nothing was measured
        ([one(FAILED, None)], (), FAILED),
        ([one(PASS), one(FAILED, None)], (), FAILED),
        ([one(PASS), one(FAILED, None), one(REGRESSION)], (), REGRESSION),
        ([one(REGRESSION)], ("the arms differ",), INCOMPARABLE),
        ([one(PASS), one(INCOMPARABLE, None)], (), INCOMPARABLE),
        ([one(PASS), one(INCONCLUSIVE), one(IMPROVEMENT)], (), INCONCLUSIVE),
        ([one(PASS), one(IMPROVEMENT)], (), IMPROVEMENT),
        ([one(PASS)], (), PASS),
    ],
)
def test_verdict_of_a_gate(judgements: list[Judgement], faults: tuple[str, ...], verdict: GateVerdict) -> None:
    assert overall(judgements, SelfTest(faults)) is verdict

"""Looks at launches while a gate goes on: who ends early, by what, and who goes on."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gating.launches import benchmark, launch, launches
from pyharness.features.gate.types import GateBenchmark, GateRules, GateVerdict, Judgement, Rounds
from pyharness.features.gate.verdicts import times
from pyharness.features.gate.verdicts.judgements import escalated, judge

RULES = GateRules(budget=0.03)  # ten launches
PASS, REGRESSION, IMPROVEMENT, INCONCLUSIVE = (
    GateVerdict.PASS, GateVerdict.REGRESSION, GateVerdict.IMPROVEMENT, GateVerdict.INCONCLUSIVE,
)  # fmt: skip
MB = 1 << 20


def seen(screen: float, logs: list[float], budget: float | None = None) -> tuple[Judgement, bool]:
    """Judgement on one benchmark, and whether it needs another launch."""
    rounds, suite = launches("encode", screen, logs), [benchmark(budget=budget)]
    (found,) = judge(suite, rounds, RULES)
    return found, bool(escalated(rounds, suite, RULES))


@pytest.mark.parametrize("log", [0.42, 1.9, -0.5])
def test_what_is_large_needs_two_launches(log: float) -> None:
    assert seen(log, [log])[1]
    found, more = seen(log, [log, 1.01 * log])
    assert (found.verdict, found.launches, found.p) == (REGRESSION if log > 0 else IMPROVEMENT, 2, None)
    assert not more


@pytest.mark.parametrize(
    ("screen", "logs"),
    [(0.4, [1.1, 1.1]), (1.1, [0.4, 1.1]), (1.1, [1.1, 0.4]), (1.1, [1.1, -1.1]), (0.009, [1.1, 1.1])],
)
def test_one_odd_launch_is_not_large(screen: float, logs: list[float]) -> None:
    """One launch of ten is three times as slow on some machines: three in a row are not. A screen may be calm."""
    found, more = seen(screen, logs)
    assert (found.verdict, more) == (INCONCLUSIVE, screen > 0.01)


def test_what_is_large_beside_its_budget() -> None:
    assert seen(0.5, [0.5, 0.5], budget=0.3)[0].verdict is INCONCLUSIVE
    assert seen(0.6, [0.6, 0.6], budget=0.3)[0].verdict is REGRESSION


@pytest.mark.parametrize(
    ("logs", "ends"),
    [
        ([0.0], 0), ([0.014, 0.014], 2), ([0.0, 0.016], 0), ([0.0, 0.03, 0.0], 3), ([0.0, 0.03, 0.03, 0.0, 0.0], 5),
        ([0.0, 0.03, 0.03, 0.0], 0), ([0.02] * 2 + [0.0] * 2 + [0.02, 0.0, 0.0], 7), ([-1.1, 0.05, -1.1], 0),
        ([-0.04, -0.04], 0), ([0.02] * 10, 0),
    ],
)  # fmt: skip
def test_what_does_not_come_again_ends_early(logs: list[float], ends: int) -> None:
    found, more = seen(0.03, logs)
    assert more == (not ends and len(logs) < RULES.launches)
    assert ("; ended early" in found.reason) == bool(ends)
    if ends:
        assert (found.verdict, found.launches) == (PASS, ends)


def test_a_gain_is_tested_as_well() -> None:
    found, more = seen(-0.05, [-0.05, -0.051, -0.049, -0.05, -0.052])
    assert (found.verdict, found.launches, more) == (IMPROVEMENT, 5, False)


def test_what_is_close_is_proven_later() -> None:
    """The first test asks for a sixth of the level: p is 0.02 here."""
    five = [0.05, 0.015, 0.07, 0.025, 0.05]
    found, more = seen(0.05, five)
    assert (more, found.verdict) == (True, REGRESSION), "as far as there is no more time"
    found, more = seen(0.05, [*five, 0.05, 0.04])
    assert (found.verdict, found.launches, more) == (REGRESSION, 7, False)


@given(st.lists(st.integers(-60, 90).map(lambda log: log / 1000), min_size=10, max_size=10))
def test_what_ended_stays_ended(logs: list[float]) -> None:
    """A record with more launches than a look needed has the verdict of that look."""
    ended = [count for count in range(1, 10) if not seen(0.03, logs[:count])[1]]
    if ended:
        assert ended[0] in times.EARLY
        first = seen(0.03, logs[: ended[0]])[0]
        assert ended == list(range(ended[0], 10))
        for count in (*ended, 10):
            assert (seen(0.03, logs[:count])[0].verdict, seen(0.03, logs[:count])[0].reason) == (
                first.verdict, first.reason,
            )  # fmt: skip


def test_those_that_ended_keep_their_part_of_the_level() -> None:
    noisy = [0.06, 0.03, 0.05, 0.035, 0.06]
    suite = [benchmark("slow"), *(benchmark(f"b{place}") for place in range(9))]
    others = [part for one in suite[1:] for part in launches(one.name, 0.03, [0.0] * 2)]
    alone = escalated(launches("slow", 0.05, noisy), suite[:1], RULES)
    among = escalated([*launches("slow", 0.05, noisy), *others], suite, RULES)
    assert (alone, among) == ((), ("slow",))


def test_the_slowest_goes_first_and_controls_last() -> None:
    suite = [benchmark("control", "tiktoken"), benchmark("slow"), benchmark("slowest"), benchmark("quiet")]
    logs = {"control": 0.9, "slow": 0.05, "slowest": 0.5, "quiet": 0.0}
    screen = [launch(name, 0, log) for name, log in logs.items()]
    assert escalated(screen, suite, RULES, "pyharness") == ("slowest", "slow", "control")


def controlled(control: float, count: int, slow: float) -> tuple[str, ...]:
    suite: list[GateBenchmark] = [benchmark("slow"), *(benchmark(name, "tiktoken") for name in ("one", "two"))]
    rounds: list[Rounds] = launches("slow", slow, [slow] * count)
    rounds += [part for name in ("one", "two") for part in launches(name, control, [control] * count)]
    return escalated(rounds, suite, RULES, "pyharness")


def test_calm_controls_end_after_two_launches() -> None:
    assert controlled(0.0, 0, 0.05) == controlled(0.0, 1, 0.05) == ("slow", "one", "two")
    assert controlled(0.0, 2, 0.05) == ("slow",)
    assert controlled(0.0, 2, 0.0) == ()


def test_controls_that_are_off_go_on_alone() -> None:
    """What is large ends after two launches, and so few cannot prove that it is the arms that differ."""
    assert controlled(0.5, 2, 0.5) == ("one", "two")
    assert controlled(0.5, 9, 0.5) == ("one", "two")
    assert controlled(0.5, 0, 0.0) == ()


@pytest.mark.parametrize(
    ("grown", "more"),
    [([True], True), ([True, False], True), ([True, False, False], False), ([True, True, False], True),
     ([True] * 10, True), ([True] * 11, False), ([False], False)],
)  # fmt: skip
def test_memory_goes_on_while_most_launches_show_it(grown: list[bool], more: bool) -> None:
    rounds = [
        launch("encode", number, 0.0, memory={"base": 100 * MB, "head": (110 if one else 100) * MB})
        for number, one in enumerate(grown)
    ]
    assert escalated(rounds, [benchmark()], RULES) == (("encode",) if more else ())


def test_a_control_without_launches_shows_its_screen() -> None:
    """No launch is missing: nothing of the library under test asked for one."""
    suite, rounds = (
        [benchmark(), benchmark("control", "tiktoken")],
        [launch("encode", 0, 0.0), launch("control", 0, 0.2)],
    )
    (_, control) = judge(suite, rounds, RULES, under_test="pyharness")
    assert (control.verdict, control.launches) == (PASS, 0)
    assert control.interval is not None
    assert "in the screen" in control.reason
    assert "ran out" not in control.reason

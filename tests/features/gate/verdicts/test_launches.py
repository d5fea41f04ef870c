"""What a launch says: the effect, its error, who goes first, who is started first."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyharness.features.gate.types import Launch, Rounds, Timing
from pyharness.features.gate.verdicts.effects import LaunchEffect, effect, start_effect

TIMES = st.lists(st.tuples(st.integers(1, 10**9), st.integers(1, 10**9), st.booleans()), min_size=4, max_size=30)


def made(pairs: list[tuple[int, int, bool]], factor: int = 1) -> Rounds:
    """Rounds with these processor times; wall times that say something else."""
    return Rounds(
        "one",
        0,
        1,
        tuple(Timing(factor * 7, factor * base) for base, _, _ in pairs),
        tuple(Timing(factor * 7, factor * head) for _, head, _ in pairs),
        tuple(first for _, _, first in pairs),
    )


def noisy(slowdown: float, order: float, noise: float, generator: random.Random, count: int = 20) -> Rounds:
    """Rounds in balanced order; who is second takes longer by ``order``."""
    pairs = []
    for number in range(count):
        head_first = number % 2 == 0
        base = 1e7 * math.exp(generator.gauss(0, noise) + order * head_first)
        head = 1e7 * math.exp(slowdown + generator.gauss(0, noise) + order * (not head_first))
        pairs.append((round(base), round(head), head_first))
    return made(pairs)


def known(rounds: Rounds, threads: int = 1) -> LaunchEffect:
    """Effect of a launch that has one."""
    found = effect(rounds, threads)
    assert found is not None
    return found


@given(TIMES)
def test_swapped_sides_have_the_opposite_effect(pairs: list[tuple[int, int, bool]]) -> None:
    found, swapped = known(made(pairs)), known(made([(head, base, not first) for base, head, first in pairs]))
    assert swapped.log == pytest.approx(-found.log)
    assert swapped.error == pytest.approx(found.error)
    assert swapped.order == (None if found.order is None else pytest.approx(found.order))


@given(TIMES, st.integers(2, 1000))
def test_the_unit_of_time_does_not_matter(pairs: list[tuple[int, int, bool]], factor: int) -> None:
    found, other = known(made(pairs)), known(made(pairs, factor))
    assert (other.log, other.error) == pytest.approx((found.log, found.error), abs=1e-9)


def test_who_goes_first_cancels_however_much_it_does() -> None:
    generator = random.Random(1)
    found = known(noisy(0.03, 0.2, 0.001, generator))
    assert found.log == pytest.approx(0.03, abs=0.002)
    assert found.order == pytest.approx(0.2, abs=0.002)


def test_the_error_is_the_spread_of_the_effect_over_launches() -> None:
    generator = random.Random(2)
    found = [known(noisy(0.0, 0.01, 0.02, generator)) for _ in range(400)]
    logs, errors = [one.log for one in found], [one.error for one in found]
    spread = math.sqrt(math.fsum(log * log for log in logs) / len(logs))
    assert 0.8 < math.fsum(errors) / len(errors) / spread < 1.25


def test_threads_are_timed_by_the_clock_on_the_wall() -> None:
    rounds = replace(made([(100, 200, True)] * 5), head=(Timing(14, 200),) * 5)
    assert known(rounds).log == pytest.approx(math.log(2))
    assert known(rounds, threads=2).log == pytest.approx(math.log(2))
    slower = replace(rounds, head=(Timing(7 * 3, 200),) * 5)
    assert known(slower).log == pytest.approx(math.log(2))
    assert known(slower, threads=2).log == pytest.approx(math.log(3))


@pytest.mark.parametrize("times", [[], [(1, 2, True)] * 3, [(0, 2, True)] * 9, [(2, -2, True)] * 9])
def test_no_effect_without_rounds_that_have_two_positive_times(times: list[tuple[int, int, bool]]) -> None:
    assert effect(made(times)) is None


def test_one_order_alone_says_nothing_of_orders() -> None:
    found = known(made([(100, 103, True)] * 6))
    assert (found.log, found.error) == pytest.approx((math.log(1.03), 0))
    assert found.order is None


def test_starting_first_is_an_effect_of_its_own() -> None:
    launches = [Launch(number, "head" if number % 2 else "base") for number in range(6)]
    found = start_effect(launches, {0: 0.0, 1: 0.02, 2: 0.001, 3: 0.021, 4: -0.001, 5: 0.019})
    assert found is not None
    assert found[0] == pytest.approx(0.01)  # that side is 1 % slower: 2 % between the two orders
    assert found[1][0] < 0.01 < found[1][1] < 0.0125
    assert start_effect([replace(one, started_first="base") for one in launches], dict.fromkeys(range(6), 0.1)) is None

"""What is known of benchmarks that nobody has declared: which clock judges them."""

from __future__ import annotations

import pytest

from pyharness.features.gate.drivers.pytest_process import benchmarks_of_tests
from pyharness.features.gate.types import Rounds, Timing


@pytest.mark.parametrize(
    ("base", "head", "threads"),
    [
        (100, 100, 1),
        (50, 50, 1),  # a busy machine
        (10, 10, 2),
        (180, 180, 2),
        (100, 10, 2),  # the head begins to wait
        (10, 100, 2),
        (100, 180, 2),  # the head begins to use threads
        (90, 55, 2),  # the head waits for a part
        (55, 90, 2),
        (100, 80, 1),
    ],
)
def test_work_that_one_thread_does_not_do_is_judged_by_the_wall(base: int, head: int, threads: int) -> None:
    sides = [(Timing(100, cpu),) * 6 for cpu in (base, head)]
    rounds = Rounds("a", 0, 1, sides[0], sides[1], (True, False) * 3)
    assert [(one.name, one.threads) for one in benchmarks_of_tests([rounds], ["a", "b"], "tinytok")] == [
        ("a", threads),
        ("b", 1),
    ]


def test_a_clock_that_stands_still() -> None:
    still = (Timing(0, 0),) * 6
    assert [
        one.name for one in benchmarks_of_tests([Rounds("a", 0, 1, still, still, (True, False) * 3)], [], "tinytok")
    ] == ["a"]

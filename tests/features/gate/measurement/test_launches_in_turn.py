"""Who starts first in each launch of a gate, and after which launches it looks: of a suite and of a project's tests."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from gating.arms import here
from gating.doubles import NAMES, Diary, FakeArm
from pyharness.features.gate import session
from pyharness.features.gate.builds.arms import Arms
from pyharness.features.gate.builds.names import Specified
from pyharness.features.gate.drivers import pytest_process
from pyharness.features.gate.drivers.project_tests import PlantedTests
from pyharness.features.gate.measurement.plan import GateListener
from pyharness.features.gate.suites import GateSuite
from pyharness.features.gate.types import Gate, GateBenchmark, GateRules, GateVerdict, Side

RULES = GateRules(budget=0.03)  # ten launches
BASE_FIRST, HEAD_FIRST = 0.9, 0.1  # what the lot gives
NOISY = [-0.3, 0.3] * 5  # no look decides: neither clear nor proven
LOOKS = [  # logarithms of head / base by launch after the screen, and the look that ends it
    ([0.0, 0.0], 2),
    ([0.0, 0.03, 0.0], 3),
    ([0.0, 0.03, 0.03, 0.0, 0.0], 5),
    ([0.02] * 2 + [0.0] * 2 + [0.02, 0.0, 0.0], 7),
    (NOISY, 10),
]


class Lot(random.Random):
    """Falls on one side, always."""

    def __init__(self, side: float) -> None:
        super().__init__(0)
        self.side = side

    def random(self) -> float:
        return self.side


class Doubles:
    """Arms of a gate that take the time they are told to, however it starts them."""

    def __init__(self, logs: Sequence[float]) -> None:
        self.diary, self.logs = Diary(), (0.03, *logs)  # the screen suspects the first benchmark
        self.processes: Counter[Side] = Counter()

    def started(self, arm: Any, *_: object, **__: object) -> FakeArm:
        side: Side = arm.side
        launch = self.processes[side]
        self.processes[side] += 1
        self.diary.started.append((launch, side))
        return FakeArm(side, launch, self.diary, self.seconds, NAMES)

    def seconds(self, name: str, side: Side, launch: int) -> float:
        return 0.001 * math.exp(self.logs[launch] if (side, name) == ("head", NAMES[0]) else 0.0)

    @property
    def first(self) -> list[Side]:
        """Who was started first, by launch."""
        return [side for _, side in self.diary.started[::2]]


@contextmanager
def no_build(*_: object, **__: object) -> Iterator[Arms]:
    yield Arms(here(Path(), under_test="library"), here(Path(), "head", under_test="library"))


def gated(
    monkeypatch: pytest.MonkeyPatch, tests: str | None, logs: Sequence[float], lot: random.Random
) -> tuple[Gate, Doubles]:
    """Run a gate of three benchmarks, of a suite or of tests, through the code of both but for builds and processes."""
    doubles = Doubles(logs)
    benchmarks = tuple(GateBenchmark(name, "w", "library", text="") for name in NAMES)
    suite = GateSuite("own", "", benchmarks, {}, Path(), "")
    monkeypatch.setattr(session, "prepare", no_build)
    monkeypatch.setattr(session, "plant", lambda *_: PlantedTests("tests", ()))
    monkeypatch.setattr(session, "DriverProcess", doubles.started)
    monkeypatch.setattr(pytest_process, "PytestProcess", doubles.started)
    asked = session.GateRequest("a", "b", tests=tests, rules=RULES)
    sources = (Specified("a", "a"), Specified("b", "b"))
    request = session.ResolvedRequest(asked, sources, None if tests else suite)
    with session.ready(request, GateListener()) as both:
        both.plan.lot = lot
        return session.judged(both, RULES), doubles


@pytest.mark.parametrize("tests", [None, "tests"])
@pytest.mark.parametrize(
    ("lot", "pair"), [(BASE_FIRST, ["base", "head"]), (HEAD_FIRST, ["head", "base"])], ids=["base", "head"]
)
def test_arms_start_in_turn(monkeypatch: pytest.MonkeyPatch, tests: str | None, lot: float, pair: list[Side]) -> None:
    """Launch 0 is the screen, 1 to 10 are judged: each odd one begins with the other arm than the one before it."""
    gate, doubles = gated(monkeypatch, tests, NOISY, Lot(lot))
    assert [launch.number for launch in gate.launches] == [*range(11)]
    assert doubles.first == [launch.started_first for launch in gate.launches] == [*5 * pair, pair[0]]


@pytest.mark.parametrize("tests", [None, "tests"])
@pytest.mark.parametrize("seed", range(5))
def test_of_each_two_launches_one_begins_with_the_head(
    monkeypatch: pytest.MonkeyPatch, tests: str | None, seed: int
) -> None:
    _, doubles = gated(monkeypatch, tests, NOISY, random.Random(seed))
    firsts = doubles.first
    assert all({firsts[number], firsts[number + 1]} == {"base", "head"} for number in range(0, 10, 2))


@pytest.mark.parametrize("tests", [None, "tests"])
@pytest.mark.parametrize(("logs", "last"), LOOKS)
def test_a_gate_looks_after_two_three_five_seven_and_ten(
    monkeypatch: pytest.MonkeyPatch, tests: str | None, logs: Sequence[float], last: int
) -> None:
    gate, doubles = gated(monkeypatch, tests, [*logs, *NOISY], Lot(BASE_FIRST))
    (found,) = (one for one in gate.judgements if (one.benchmark, one.figure) == (NAMES[0], "time"))
    assert (found.launches, found.verdict is GateVerdict.PASS) == (last, last < RULES.launches)
    assert doubles.processes == dict.fromkeys(("base", "head"), last + 1)

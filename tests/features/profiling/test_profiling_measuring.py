"""How contenders of a profile take turns, and when a series ends."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from cases.fake_device import GB, RULE, FakeDevice
from pyharness.features.profiling import cpu
from pyharness.features.profiling.measuring import Samples, interleaved
from pyharness.features.profiling.record import COPY, OURS, Outcome, Roof
from pyharness.features.profiling.session import RULES, rule_for
from pyharness.features.profiling.types import Floor, Problem
from pyharness.types import InputError


def test_contenders_take_turns_until_each_has_enough() -> None:
    device, order = FakeDevice(), []

    def contender(name: str, seconds: list[float]) -> Callable[[], float]:
        times = iter(seconds)

        def call() -> float:
            order.append(name)
            return next(times)

        return call

    calls = {"a": contender("a", [9.0, 1.0, 1.0, 1.0]), "b": contender("b", [9.0, 1.0, 2.0, 1.0, 2.0])}
    samples = interleaved(device, calls, "warm", replace(RULE, max_seconds=9.0), clock=lambda: device.now)
    assert "".join(order) == "ab" + "ab" + "ba" + "ba" + "b"  # the first round is not counted; none is always first
    assert samples["a"].seconds == (1.0, 1.0, 1.0)
    assert samples["b"].seconds == (1.0, 2.0, 1.0, 2.0)


def test_throttled_samples_are_dropped_from_all_contenders_alike() -> None:
    device = FakeDevice(throttled=lambda now: 4.5 < now < 8.5)
    samples = interleaved(device, {"a": lambda: 1.0, "b": lambda: 1.0}, "warm", RULE, clock=lambda: device.now / 10)
    assert [(len(one.seconds), one.dropped) for one in samples.values()] == [(3, 2), (3, 2)]


def test_a_clock_that_is_always_low_is_what_the_device_sustains() -> None:
    device = FakeDevice(throttled=lambda now: True)
    (samples,) = interleaved(device, {"a": lambda: 1.0}, "warm", RULE, clock=lambda: device.now).values()
    assert samples == Samples((1.0,) * 5, throttled=True)


def test_a_call_below_the_clocks_resolution_has_no_rate() -> None:
    samples = interleaved(FakeDevice(), {"a": lambda: 0.0}, "warm", RULE)["a"]
    assert samples.seconds == ()
    assert re.search("clock.*--shape", str(samples.reason))


def test_a_contender_that_breaks_down_loses_its_own_numbers_only() -> None:
    device = FakeDevice()
    calls = {"good": lambda: 1.0, "bad": lambda: 1.0 if device.now < 4 else 1 / 0}
    samples = interleaved(device, calls, "warm", RULE, clock=lambda: device.now)
    assert samples["good"].seconds == (1.0, 1.0, 1.0)
    assert samples["bad"] == Samples(reason="ZeroDivisionError: division by zero")


TEN = replace(RULE, min_samples=10, max_seconds=8.0)


@pytest.mark.parametrize(
    ("ours", "slow", "samples"),
    [
        (0.1, 3.0, (10, 3)),  # three rounds in time, then ours and the copy alone
        (1.0, 3.0, (2, 2)),  # they would take more than a quarter of the limit
        (0.1, 0.2, (10, 10)),
    ],
)
def test_slow_peers_leave_ours_its_least_samples(ours: float, slow: float, samples: tuple[int, int]) -> None:
    device = FakeDevice()
    calls = {"slow": lambda: slow, OURS: lambda: ours, COPY: lambda: 0.05}
    taken = interleaved(device, calls, "warm", TEN, clock=lambda: device.now, first=(OURS, COPY))
    assert (len(taken[OURS].seconds), len(taken["slow"].seconds)) == samples
    assert len(taken[COPY].seconds) == samples[0]


def test_ours_goes_on_alone_without_a_copy_that_fails() -> None:
    device = FakeDevice()
    calls = {"slow": lambda: 5.0, OURS: lambda: 0.1, COPY: lambda: 1 / 0}
    taken = interleaved(device, calls, "warm", TEN, clock=lambda: device.now, first=(OURS, COPY))
    assert len(taken[OURS].seconds) == 10
    assert taken[COPY].seconds == ()


def test_the_hosts_time_is_kept_beside_the_devices() -> None:
    device = FakeDevice()
    device.has_host_clock = True
    calls = {"a": lambda: 1.0}
    assert interleaved(device, calls, "cold", RULE, clock=lambda: device.now)["a"].host_seconds == ()
    taken = interleaved(device, calls, "warm", RULE, clock=lambda: device.now)["a"]
    assert taken.host_seconds == (1e-5,) * len(taken.seconds)


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan"), float("inf")])
def test_a_time_limit_is_a_time(seconds: float) -> None:
    with pytest.raises(InputError, match=rf"{seconds:g} seconds;.*--max-seconds"):
        rule_for("cpu", seconds)


def test_a_time_limit_leaves_the_rest_of_the_rule() -> None:
    assert rule_for("cuda", 4.0) == replace(RULES["cuda"], max_seconds=4.0)
    assert rule_for("cuda", None) is RULES["cuda"]


@pytest.mark.parametrize(("matrix_flop", "roof", "seconds"), [(0, "copy", 0.05), (10**12, "matrix", 1.0)])
def test_the_longer_roof_binds(matrix_flop: int, roof: str, seconds: float) -> None:
    samples = {"warm": {OURS: Samples((2.0,)), COPY: Samples((0.1,))}}
    floor = Floor(GB // 2, matrix_flop, matrix_flop, 1)
    outcome = Outcome(Problem((1, 1), "fp32", "cpu", 1), "", floor, GB, samples)  # type: ignore[arg-type]
    bound = outcome.bound("warm", Roof(10**12, Samples((1.0,))))
    assert bound is not None
    assert bound.roof == roof
    assert bound.seconds == pytest.approx(seconds)
    assert (outcome.bound("warm", None) is None) is (matrix_flop > 0)


class SlowMatrix:
    """A square matrix on a processor that multiplies ``size`` rows in a time that grows faster than it should."""

    def __init__(self, size: int, seconds: Callable[[int], float], clock: list[float]) -> None:
        self.size, self.seconds, self.clock = size, seconds, clock

    def __matmul__(self, other: SlowMatrix) -> SlowMatrix:
        self.clock[0] += self.seconds(self.size)
        return other


@pytest.mark.parametrize(
    ("seconds", "size"),
    [
        (lambda size: size**3 * 1e-12, 2048),
        (lambda size: size**3 * 2e-9, 512),  # bf16 without instructions for it
        (lambda _: 9.0, 256),
    ],
)
def test_the_matrix_roof_of_a_slow_processor_is_that_of_smaller_matrices(
    seconds: Callable[[int], float], size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [0.0]
    monkeypatch.setattr(cpu, "normal", lambda _device, _dtype, shape, _deviation: SlowMatrix(shape[0], seconds, clock))
    monkeypatch.setattr("time.perf_counter", lambda: clock[0])
    call, flop = cpu.Cpu(1).multiplying("fp32")
    assert flop == 2 * size**3
    assert call().size == size
    assert clock[0] <= 40

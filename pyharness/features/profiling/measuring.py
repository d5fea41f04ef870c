"""Sampling: all contenders in turn, in a fair order, so that a slow minute affects all."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyharness.features.profiling.types import Machine, Phase
from pyharness.statistics.rounds import turns
from pyharness.statistics.samples import StoppingRule, Timings, median
from pyharness.system.timing import without_collector


@dataclass(frozen=True, slots=True)
class Samples:
    """Seconds of one contender's rounds. Sample i of two contenders is from the same round."""

    seconds: tuple[float, ...] = ()
    dropped: int = 0  # taken while the device was throttled
    throttled: bool = False  # all samples were: the device sustains no more
    reason: str | None = None  # for the absence of samples
    host_seconds: tuple[float, ...] = ()  # until calls returned in Python, also of those that were dropped


@dataclass(slots=True)
class _Lane:
    """State of one contender."""

    call: Callable[[], Any]
    series: Timings
    pending: list[float] = field(default_factory=list)  # samples not yet accepted
    throttled: list[float] = field(default_factory=list)
    host: list[float] = field(default_factory=list)
    reason: str | None = None

    @property
    def open(self) -> bool:
        return self.reason is None and not self.series.enough

    @property
    def taken(self) -> list[float]:
        return [*self.series.samples, *self.throttled, *self.pending]

    def settle(self, throttled: bool) -> None:
        take = self.throttled.append if throttled else self.series.add
        for seconds in self.pending:
            take(seconds)
        self.pending.clear()

    def samples(self) -> Samples:
        if self.reason is not None:
            return Samples(reason=self.reason)
        if not self.series.samples:
            return Samples(tuple(self.throttled), throttled=True, host_seconds=tuple(self.host))
        return Samples(tuple(self.series.samples), len(self.throttled), host_seconds=tuple(self.host))


def interleaved(
    device: Machine,
    calls: Mapping[str, Callable[[], Any]],
    phase: Phase,
    rule: StoppingRule,
    clock: Callable[[], float] = time.monotonic,
    first: Collection[str] = (),
) -> dict[str, Samples]:
    """Time every call in turn until each has enough samples for the rule, or the rule's time is over.

    The first round does not count: it fills memory pools and compiles code. A call with enough samples leaves the
    rotation. So does a call that raises or takes no measurable time, with its reason and without numbers. Samples count
    only after the device has reported that its clock was not low meanwhile, unless the clock was always low.

    Slow calls may use up the time: then those of ``first`` go on alone to the least number of samples, if that is
    quick.
    """
    lanes = {name: _Lane(call, Timings(rule)) for name, call in calls.items()}
    with without_collector():
        for lane in lanes.values():
            _take(device, lane, phase)
            lane.pending.clear()
            lane.host.clear()
        device.throttled()  # discard the state from before the contenders
        started = checked = clock()
        number = 0
        while running := [lane for lane in lanes.values() if lane.open]:
            for index in turns(len(running), number):
                _take(device, running[index], phase)
            now, number = clock(), number + 1
            if now - started >= rule.max_seconds:
                break
            if now - checked >= device.check_seconds:
                _settle(device, lanes)
                checked = now
        alone = [lanes[name] for name in first if lanes[name].taken]
        for index in range(_rounds_alone(alone, rule)):
            for place in turns(len(alone), index):
                _take(device, alone[place], phase)
        _settle(device, lanes)
    return {name: lane.samples() for name, lane in lanes.items()}


def _rounds_alone(lanes: Sequence[_Lane], rule: StoppingRule) -> int:
    """Return the rounds that lanes lack to the least number of samples; 0 if they take a quarter of the limit."""
    rounds = max((rule.min_samples - len(lane.taken) for lane in lanes if lane.open), default=0)
    return rounds if rounds * sum(median(lane.taken) for lane in lanes) <= rule.max_seconds / 4 else 0


def _take(device: Machine, lane: _Lane, phase: Phase) -> None:
    if lane.reason is not None:
        return
    try:
        seconds, on_host = device.time(lane.call, phase)
    except Exception as error:  # a peer's library may raise anything, such as its own out-of-memory errors
        lane.reason = reason_of(error)
        return
    if on_host is not None:
        lane.host.append(on_host)
    if seconds > 0:
        lane.pending.append(seconds)
    else:
        lane.reason = "takes less than the clock can tell; give a larger --shape"


def _settle(device: Machine, lanes: Mapping[str, _Lane]) -> None:
    throttled = device.throttled()
    for lane in lanes.values():
        lane.settle(throttled)


def reason_of(error: Exception) -> str:
    """Return one line for a table: the kind of error and its first line."""
    first = next(iter(str(error).strip().splitlines()), "")
    return f"{type(error).__name__}: {first[:200]}" if first else type(error).__name__

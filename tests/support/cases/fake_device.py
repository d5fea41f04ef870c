"""A device whose clock tests set, and profiles of calls on it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from pyharness.features.profiling.types import CallTime, DeviceKind, Moving, Phase
from pyharness.statistics.samples import StoppingRule
from pyharness.types import Unsupported

GB = 1_000_000_000


RULE = StoppingRule(min_samples=3, min_seconds=0.0, max_seconds=5.0)


class FakeDevice:
    """A device on which a call takes what it returns, in seconds, and time passes only there."""

    kind: DeviceKind = "cpu"
    phases: tuple[Phase, ...] = ("cold", "warm")
    notes: tuple[str, ...] = ("a fake",)
    check_seconds = 0.0
    reads = has_host_clock = False

    def __init__(self, free: int | None = None, throttled: Callable[[float], bool] = lambda now: False) -> None:
        self.now, self.free, self.is_throttled = 0.0, free, throttled
        self.log: list[str] = []

    def time(self, call: Callable[[], Any], phase: Phase) -> CallTime:
        taken = float(call())
        self.now += taken
        return CallTime(taken, 1e-5 if self.has_host_clock and phase == "warm" else None)

    def throttled(self) -> bool:
        return self.is_throttled(self.now)

    def free_bytes(self) -> int | None:
        return self.free

    def reclaim(self) -> None:
        self.log.append("reclaim")

    def range(self, name: str) -> AbstractContextManager[object]:
        self.log.append(name)
        return nullcontext()

    def copying(self) -> Moving:
        return lambda wanted: (lambda: 0.1, GB)

    def reading(self) -> Moving | None:
        return (lambda wanted: (lambda: 0.05, GB)) if self.reads else None

    def multiplying(self, dtype: str) -> tuple[Callable[[], Any], int]:
        if dtype == "fp16":
            raise Unsupported("no fp16 here")
        return lambda: 0.1, 100 * GB

    def describe(self) -> dict[str, Any]:
        return {"name": "fake"}

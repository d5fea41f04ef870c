"""Results of a profile: raw samples of every contender, and the figures computed from them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pyharness.features.profiling.measuring import Samples
from pyharness.features.profiling.types import Floor, Phase, Problem
from pyharness.statistics.rounds import ratios
from pyharness.statistics.samples import StoppingRule, median, noise, percentile
from pyharness.types import Status

OURS = "pyharness"
COPY = "copy"  # copy of a buffer within the device: the memory roof, sampled in the same rounds
READ = "read"  # read of a buffer: the memory roof of kernels that only read, likewise


@dataclass(frozen=True, slots=True)
class Roof:
    """A rate measured in this run: ``amount`` (bytes or FLOP) of a call, and samples of its seconds."""

    amount: int
    samples: Samples

    @property
    def rate(self) -> float | None:
        """Return the amount per second of the median call, or None without samples."""
        return self.amount / median(self.samples.seconds) if self.samples.seconds else None


@dataclass(frozen=True, slots=True)
class Figures:
    """Statistics of one contender in one phase. Rates refer to the problem's floor, not to actual traffic."""

    median_seconds: float
    p5_seconds: float
    p95_seconds: float
    samples: int
    dropped: int
    noise: float | None
    bytes_per_second: float
    flop_per_second: float
    tokens_per_second: float
    copy_share: float | None  # of the copy rate, round by round
    read_share: float | None  # of the read rate, likewise
    times_ours: float | None  # time relative to our kernel, round by round
    host_seconds: float | None  # median, until a call returned in Python


@dataclass(frozen=True, slots=True)
class Bound:
    """The roof that limits a problem, at the rates of this run."""

    roof: str  # copy, read or matrix
    seconds: float


@dataclass(frozen=True, slots=True)
class Missing:
    """A peer without numbers: skipped (left out, not installed, too large) or failed (wrong result, error)."""

    status: Status
    reason: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one problem: ``reason`` explains missing numbers of our kernel, ``missing`` those of peers."""

    problem: Problem
    data: str = ""
    floor: Floor | None = None
    copy_bytes: int = 0
    samples: Mapping[Phase, Mapping[str, Samples]] = field(default_factory=dict)
    missing: Mapping[str, Missing] = field(default_factory=dict)
    status: Status = "ok"
    reason: str | None = None
    read_bytes: int = 0  # 0: its roof is a copy

    @property
    def roof_bytes(self) -> Mapping[str, int]:
        """Bytes that the memory roofs of this problem's rounds move."""
        return {COPY: self.copy_bytes} | ({READ: self.read_bytes} if self.read_bytes else {})

    def memory_roof(self, phase: Phase, name: str) -> Roof:
        """Return a roof of this problem's rounds."""
        return Roof(self.roof_bytes[name], self.samples.get(phase, {}).get(name, Samples(reason="not measured")))

    def figures(self, phase: Phase, name: str) -> Figures | None:
        """Return the figures of a contender, or None without samples."""
        seconds = self.samples[phase].get(name, Samples()).seconds
        if not seconds or self.floor is None:
            return None
        middle, on_host = median(seconds), self.samples[phase][name].host_seconds
        is_roof = name in self.roof_bytes
        floor = Floor(self.roof_bytes[name], 0, 0, 0) if is_roof else self.floor

        def share(roof: str) -> float | None:
            longer = _pair_ratio(seconds, self.samples[phase].get(roof))
            return None if longer is None else floor.bytes / self.roof_bytes[roof] / longer

        return Figures(
            middle,
            percentile(seconds, 0.05),
            percentile(seconds, 0.95),
            len(seconds),
            self.samples[phase][name].dropped,
            noise(seconds),
            floor.bytes / middle,
            floor.flop / middle,
            floor.tokens / middle,
            share(COPY),
            share(READ),
            None if is_roof else _pair_ratio(seconds, self.samples[phase].get(OURS)),
            median(on_host) if on_host else None,
        )

    def bound(self, phase: Phase, matrix: Roof | None) -> Bound | None:
        """Return the roof that takes longer at the rates of this run; None where a rate is unknown."""
        memory = READ if self.read_bytes else COPY
        rate = self.memory_roof(phase, memory).rate
        if self.floor is None or rate is None:
            return None
        moving = Bound(memory, self.floor.bytes / rate)
        if self.floor.matrix_flop == 0:
            return moving
        if matrix is None or matrix.rate is None:
            return None
        multiplying = Bound("matrix", self.floor.matrix_flop / matrix.rate)
        return max(moving, multiplying, key=lambda bound: bound.seconds)


def _pair_ratio(seconds: tuple[float, ...], other: Samples | None) -> float | None:
    """Return the median time ratio to ``other`` over the rounds with samples of both."""
    if other is None or not other.seconds:
        return None
    rounds = min(len(seconds), len(other.seconds))
    return median(ratios(seconds[:rounds], other.seconds[:rounds]))


@dataclass(frozen=True, slots=True)
class ProfileRecord:
    """One run of ``pyharness profile``."""

    kernel: str
    environment: Mapping[str, Any]
    matrix: Mapping[str, Roof]  # by dtype
    rule: StoppingRule
    device: Mapping[str, Any] = field(default_factory=dict)  # facts after the last problem
    outcomes: tuple[Outcome, ...] = ()
    peers: Mapping[str, str] = field(default_factory=dict)  # name -> description
    notes: tuple[str, ...] = ()
    finished: bool = False  # whether all requested problems are included
    unmeasured: tuple[tuple[Problem, Floor], ...] = ()  # problems of an absent device, with their floors
    unmeasured_reason: str | None = None
    started: float = field(default_factory=time.time, compare=False)  # seconds since 1970

    @property
    def failed(self) -> bool:
        """Whether our kernel broke down or gave a wrong result on some problem."""
        return any(outcome.status == "failed" for outcome in self.outcomes)

"""Nouns of a calibration: what a machine can tell apart with one suite."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyharness.types.gating import GateRules


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """What the machine can tell of one benchmark."""

    benchmark: str
    launches: int  # of identical code, on which the rest stands
    noise: float | None  # standard deviation of the logarithms of their effects; None below two
    detectable: float | None  # slowdown that is proven in 80 of 100 gates; None: fewer than 6 launches


@dataclass(frozen=True, slots=True)
class Planted:
    """A slowdown that was really there."""

    slowdown: float
    count: int  # times that it was planted
    found: int  # of these, regressions
    expected: float | None  # share of regressions by resampling: far from found / count, the resampling is wrong


@dataclass(frozen=True, slots=True)
class Calibration:
    """What a machine can tell apart with one suite."""

    machine: Mapping[str, Any]  # what identifies it
    suite: str
    suite_digest: str
    rules: GateRules
    gates: int
    comparisons: int  # of unchanged benchmarks
    alarms: int  # of these, regressions
    bound: float  # upper, 95 %, of their rate
    benchmarks: tuple[Sensitivity, ...]
    planted: tuple[Planted, ...] = ()
    seconds: float = 0.0  # that it took
    made: str = ""  # ISO date and time

"""Rounds of launches with effects that are given, for tests of the gate's judges."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence

from pyharness.features.gate.types import GateBenchmark, Rounds, Side, Timing

NANOSECONDS = 10_000_000


def benchmark(name: str = "encode", library: str = "pyharness", budget: float | None = None) -> GateBenchmark:
    """One benchmark of a single thread."""
    return GateBenchmark(name, "encode", library, budget=budget)


def launch(
    name: str,
    number: int,
    log: float,
    *,
    noise: float = 0.0,
    order: float = 0.0,
    count: int = 20,
    memory: Mapping[Side, int] | None = None,
    instructions: Mapping[Side, int] | None = None,
) -> Rounds:
    """Balanced rounds whose effect is ``log``, of head / base; who is second takes longer by ``order``."""
    generator = random.Random(f"{name} {number} {log}")
    first = tuple(place % 2 == 0 for place in range(count))
    base = [_timing(generator.gauss(0, noise) + order * head_first) for head_first in first]
    head = [_timing(generator.gauss(0, noise) + log + order * (not head_first)) for head_first in first]
    return Rounds(name, number, 4, tuple(base), tuple(head), first, memory or {}, instructions or {})


def _timing(log: float) -> Timing:
    nanoseconds = round(NANOSECONDS * math.exp(log))
    return Timing(nanoseconds + 1000, nanoseconds)


def launches(name: str, screen: float, others: Sequence[float], **options: float) -> list[Rounds]:
    """A screen, and the launches after it."""
    noise, order = options.get("noise", 0.0), options.get("order", 0.0)
    return [launch(name, number, log, noise=noise, order=order) for number, log in enumerate([screen, *others])]

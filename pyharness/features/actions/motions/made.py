"""Clips that are made here, for tests and for those without data: an arm that reaches, and a gripper.

All but the last dimension go from place to place along minimum-jerk curves, with a little tremor; the last is 0 or 1.
They are no evidence about robots.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator

FEWEST_FRAMES, MOST_FRAMES = 60, 140


def clips(count: int, dims: int) -> Iterator[tuple[str, list[list[float]]]]:
    """Names and frames; the first of more are those of fewer."""
    for number in range(count):
        yield f"made-{number}", _clip(random.Random(f"{dims}/{number}"), dims)  # noqa: S311 - no secret


def _clip(draw: random.Random, dims: int) -> list[list[float]]:
    frames: list[list[float]] = []
    length = draw.randint(FEWEST_FRAMES, MOST_FRAMES)
    pace, tremor = draw.uniform(12, 40), draw.choice([0.0, 0.002, 0.01])
    here = [draw.uniform(-1, 1) for _ in range(dims)]
    while len(frames) < length:
        there = [draw.uniform(-1, 1) for _ in range(dims - 1)] + [float(draw.random() < 0.5)]
        steps = max(4, round(draw.gauss(pace, pace / 4)))
        for step in range(steps):
            share = _minimum_jerk((step + 1) / steps)
            moved = [a + (b - a) * share + draw.gauss(0, tremor) for a, b in zip(here, there, strict=True)]
            frames.append([round(value, 6) for value in [*moved[:-1], there[-1]]])
        here = there
    return frames[:length]


def _minimum_jerk(time: float) -> float:
    """Way done at a time, both in 0..1 (Flash and Hogan 1985)."""
    return math.fsum((10 * time**3, -15 * time**4, 6 * time**5))

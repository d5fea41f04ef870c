"""Numbers of the points of a curve, over seeds and over works, from the lines of a file of results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from curriculum.slopes import Bits, Estimate, estimate
from small_model.results import Key, Results

FIXED_WINDOWS, TOKEN_WINDOWS = "fixed", "token_windows"

Point: TypeAlias = tuple[str, int]  # a method, and a round
Number: TypeAlias = Callable[[Sequence[int], Bits], float]  # of sizes and bits per character of all points


@dataclass(frozen=True, slots=True)
class Curves:
    """What a file of results says, on one kind of windows."""

    results: Results
    kind: str = FIXED_WINDOWS

    def seeds(self, points: Sequence[Point]) -> list[int]:
        """Seeds that have all these points."""
        having = (
            {key.seed for key in self.results.lines if key[1:] == (name, _stage(number))} for name, number in points
        )
        return sorted(set.intersection(*having)) if points else []

    def number(self, points: Sequence[Point], of: Number) -> Estimate | None:
        """Compute a number of every seed; None where no seed has all points."""
        if not (seeds := self.seeds(points)):
            return None
        lines = [[self.results.lines[Key(seed, name, _stage(number))] for name, number in points] for seed in seeds]
        sums = [
            np.array([[line[self.kind][name] for line in row] for row in lines]) for name in ("nats", "characters")
        ]  # [seeds, points, groups of works] each
        sizes = [[line["ids"] for line in row] for row in lines]

        def numbers(groups: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> list[float]:
            bits = sums[0][..., groups].sum(-1) / sums[1][..., groups].sum(-1) / np.log(2)
            return [of(*one) for one in zip(sizes, bits, strict=True)]

        every = np.ones(sums[0].shape[-1], np.bool_)
        without = [every & (np.arange(len(every)) != group) for group in range(len(every))]
        return estimate(numbers(every), [float(np.mean(numbers(groups))) for groups in without])

    def bits(self, point: Point) -> Estimate | None:
        """Bits per character of one point."""
        return self.number([point], lambda _, bits: float(bits[0]))

    def difference(self, point: Point, other: Point) -> Estimate | None:
        """Bits per character that ``point`` takes beyond ``other``: above 0, it is worse."""
        return self.number([point, other], lambda _, bits: float(bits[0] - bits[1]))


def _stage(number: int) -> str:
    return f"round {number}"

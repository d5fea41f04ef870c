"""Indicators of undertrained ids, and the threshold below which an id is a candidate (arXiv 2405.05417, section 3.2).

Untied: the L2 norm of the row of the input embedding, which only a token that occurs moves. Tied: the cosine distance
of the row to the mean row of tokens known to be unused, because training moves all rows that are never the next token
the same way.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pyharness.features.glitch.matrices import IdMatrices, IdMatrix
from pyharness.metrics.reachability import UNREACHABLE
from pyharness.types import InputError, TokenKind, Unsupported, Vocabulary

NEVER_IN_UTF8 = frozenset((0xC0, 0xC1, *range(0xF5, 0x100)))
MOST_UNUSED = 256  # rows of unused ids that are read
SHARE = 1 / 3  # of the way from unused ids to the median: docs/metrics.md "Glitch tokens" has what it finds
LEAST_SPREADS = 3.5  # of a normal distribution whose median is so far from unused ids, 1 % is below the threshold
UNUSED_SPREADS = 5.0  # of unused ids: a gap is sought only where the median is three times as far
VALLEY = 8  # widths of a valley reach from unused ids to a third of the way
MOST_IN_VALLEY = 0.002  # of the ids
MOST_BELOW = 0.01  # of the ids: below a valley, but not near unused ids
NEAR_UNUSED = 0.75  # of the way to the valley
_PLACES = 256  # where a valley is sought
_ROUNDS = 20  # at most, until the median is that of the ids above the threshold
NEAR_ZERO = 1e-3  # of the median norm
_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?", re.ASCII)
_LEAST_NORM = 1e-6  # of a product of norms, as in the original


@dataclass(frozen=True, slots=True)
class UnusedIds:
    """Ids that no text gives, and why: they show what a row without training looks like."""

    ids: NDArray[np.int64]
    reason: str

    @classmethod
    def of(cls, vocabulary: Vocabulary, verdicts: NDArray[np.uint8], rows: int, given: str = "") -> UnusedIds:
        """Choose ids: the given ones, or bytes that UTF-8 never has, or rows without a token, or dead tokens.

        Args:
            vocabulary: of the tokenizer.
            verdicts: of reachability, by id.
            rows: of the matrix; those behind the last id are padding.
            given: ids and ranges of them, such as ``177-187+40241``; "": none.

        Raises:
            InputError: the given ids are no ids of the matrix.
        """
        if given:
            return cls(_parsed(given, rows), "given")
        strings = vocabulary.strings()
        single = [token for token, data in enumerate(strings) if len(data) == 1 and data[0] in NEVER_IN_UTF8]
        absent = [*np.flatnonzero(vocabulary.kinds == TokenKind.ABSENT).tolist(), *range(len(vocabulary), rows)]
        dead = np.flatnonzero(np.isin(verdicts, UNREACHABLE)).tolist()
        kinds = {"bytes that UTF-8 never has": single, "rows without a token": absent, "unreachable tokens": dead}
        for reason, ids in kinds.items():
            if ids:
                return cls(np.array(ids, np.int64), reason)
        return cls(np.zeros(0, np.int64), "none known")


def _parsed(given: str, rows: int) -> NDArray[np.int64]:
    ids = np.zeros(rows, np.bool_)
    for part in given.split("+"):
        match = _RANGE.fullmatch(part)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (rows, rows)
        if not first <= last < rows:
            raise InputError(f"unused={given[:80]!r}: {part[:40]!r} is no range below {rows:,}; write 177-187+40241")
        ids[first : last + 1] = True
    return np.flatnonzero(ids)


@dataclass(frozen=True, slots=True)
class Indicators:
    """One indicator of all rows. Small values: hardly trained."""

    name: str
    values: NDArray[np.float64]  # [rows]
    near_zero: NDArray[np.bool_]  # [rows]: a norm under NEAR_ZERO of the median
    level: float  # the median of unused ids, each against the others; 0 for norms if no ids are known to be unused
    median: float  # of the tested ids above the threshold
    spread: float  # of the same, upwards: the median to the 84th percentile
    valley: float  # between rows like those of unused ids and the others; infinite without one

    @property
    def threshold(self) -> float | None:
        """Where candidates begin; None where unused ids do not differ from the others, so that nothing is known."""
        gap, third = self.median - self.level, _between(self.level, self.median)
        if gap > 0 and gap >= LEAST_SPREADS * self.spread:
            return third
        return self.valley if self.valley < third else None

    def candidates(self, tested: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return the tested ids at or below the threshold, smallest indicator first; none without a threshold."""
        limit = -np.inf if self.threshold is None else self.threshold
        ids = np.flatnonzero(tested & (self.values <= limit))
        return ids[np.argsort(self.values[ids], kind="stable")]


def measure_rows(matrices: IdMatrices, unused: UnusedIds, tested: NDArray[np.bool_]) -> Indicators:
    """Compute the indicator that fits the matrices; ``tested`` [rows]: ids with a token.

    Raises:
        Unsupported: the matrices are tied, and no ids are known to be unused.
        InputError: as ``IdMatrix.blocks``; or no id is tested.
    """
    if not tested.any():
        raise InputError("the vocabulary has no ids to test")
    norms = norms_of(matrices.entry)
    near_zero = norms <= NEAR_ZERO * np.median(norms[tested])
    if matrices.tied:
        if len(unused.ids) < 2:
            raise Unsupported("the matrices are tied and fewer than 2 unused ids are known; write unused=FIRST-LAST")
        rows = matrices.entry.take(_some(unused.ids))
        values = distances_of(matrices.entry, rows.mean(axis=0))
        return _summarise("cosine distance", values, near_zero, tested, _levels(rows))
    return _summarise("L2 norm", norms, near_zero, tested, norms[unused.ids])


def _summarise(
    name: str, values: NDArray[np.float64], near_zero: NDArray[np.bool_], tested: NDArray[np.bool_],
    levels: NDArray[np.float64],
) -> Indicators:  # fmt: skip
    level = float(np.median(levels)) if len(levels) else 0.0
    trained = np.sort(values[tested])
    for _ in range(_ROUNDS):
        above = trained[trained > _between(level, float(np.median(trained)))]
        if len(above) in (0, len(trained)):
            break
        trained = above
    middle, upper = np.quantile(trained, (0.5, 0.8413)).tolist()
    valley = find_valley(values[tested], levels, _between(level, middle))
    return Indicators(name, values, near_zero, level, middle, upper - middle, valley)


def find_valley(values: NDArray[np.float64], levels: NDArray[np.float64], stop: float) -> float:
    """Return a place between rows like unused ones and the others, before ``stop``; infinite without a valley.

    A window, an eighth of the way to ``stop`` wide, moves up from unused ids. The valley is where it holds the fewest
    ids, if they are few; of several such places the middle one. So it does not depend on how far the few unused ids
    happen to spread.
    """
    level, spread = (float(np.median(levels)), float(levels.std())) if len(levels) else (0.0, 0.0)
    if len(levels) < len(NEVER_IN_UTF8) or stop <= level or stop - level < UNUSED_SPREADS * spread:
        return np.inf
    half, ordered = (stop - level) / (2 * VALLEY), np.sort(values)
    places = np.linspace(level + spread + half, stop, _PLACES)
    held = np.searchsorted(ordered, places + half, "right") - np.searchsorted(ordered, places - half)
    emptiest = np.flatnonzero(held == held.min())
    if held.min() > MOST_IN_VALLEY * len(values):
        return np.inf
    middle = float(places[emptiest[len(emptiest) // 2]])
    reach = max(UNUSED_SPREADS * spread, NEAR_UNUSED * (middle - level))  # a few ids may seem to spread less
    others = (values < middle) & (np.abs(values - level) > reach)
    return middle if others.mean() <= MOST_BELOW else np.inf


def _between(level: float, median: float) -> float:
    return level + SHARE * (median - level)


def norms_of(matrix: IdMatrix) -> NDArray[np.float64]:
    """Return the L2 norm of each row, float64 [rows]."""
    return np.concatenate([np.sqrt(np.square(block).sum(axis=1)) for block in matrix.blocks()])


def distances_of(matrix: IdMatrix, direction: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the cosine distance of each row to a vector, float64 [rows]; 1 for a row of zeros."""
    return np.concatenate([_distances(block, direction) for block in matrix.blocks()])


def _distances(rows: NDArray[np.float64], direction: NDArray[np.float64]) -> NDArray[np.float64]:
    norms = np.sqrt(np.square(rows).sum(axis=1)) * np.sqrt(np.square(direction).sum())
    distances: NDArray[np.float64] = 1 - rows @ direction / norms.clip(min=_LEAST_NORM)
    return distances


def _levels(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the distance of each unused row to the mean of the others: its own share would make it small."""
    others = (rows.sum(axis=0) - rows) / (len(rows) - 1)
    return np.concatenate([_distances(row[None], other) for row, other in zip(rows, others, strict=True)])


def _some(ids: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return at most ``MOST_UNUSED`` of the ids, spread evenly."""
    return ids[:: -(-len(ids) // MOST_UNUSED)]

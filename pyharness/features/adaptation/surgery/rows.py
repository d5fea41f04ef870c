"""Rows of one vocabulary matrix by a plan, in blocks: memory does not grow with the matrix.

Numbers are rounded from float64 to the bytes of a dtype.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyharness.features.adaptation.surgery.plan import EmbeddingPlan, Operation
from pyharness.features.language_models.weights_file import StoredTensor, to_float64
from pyharness.features.training.trainers.feeding import Phases
from pyharness.types import InputError

BLOCK = 4 << 20  # bytes per read


def to_bytes(numbers: NDArray[np.float64], dtype: str) -> NDArray[np.uint8]:
    """Round numbers to float32 and then to a dtype, to nearest even: [columns] -> uint8 [bytes].

    torch takes the same two steps from float64 to bfloat16 or float16.
    """
    with np.errstate(over="ignore"):
        single = np.ascontiguousarray(numbers, "<f4")
        if dtype == "F16":
            return single.astype("<f2").view(np.uint8)
    if dtype == "F32":
        return single.view(np.uint8)
    bits = single.view("<u4")
    rounded: NDArray[Any] = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    rounded[np.isnan(single)] = 0x7FC0  # otherwise a NaN could become an infinity
    return rounded.astype("<u2").view(np.uint8)


def rows_of(tensor: StoredTensor) -> int:
    """Return the number of rows, one per id. A matrix of one row counts as a vector, with one number per id."""
    return tensor.shape[-1] if tensor.shape[0] == 1 else tensor.shape[0]


@dataclass(frozen=True)
class StoredMatrix:
    """A matrix, or a vector, in an open file: one row for each id."""

    handle: int
    tensor: StoredTensor

    @property
    def row_bytes(self) -> int:
        """Return the bytes of a row."""
        return self.tensor.size // rows_of(self.tensor)

    def read(self, first: int, block: NDArray[np.uint8]) -> None:
        """Fill a block, uint8 [rows, row_bytes], with the rows from ``first`` on."""
        fill(self.handle, self.tensor.start + first * self.row_bytes, block.data.cast("B"), self.tensor.name)

    def numbers(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return float64 [rows, columns]."""
        data = np.empty((len(rows), self.row_bytes), np.uint8)
        for place, row in enumerate(rows.tolist()):
            self.read(row, data[place : place + 1])
        return to_float64(data, self.tensor.dtype)


def fill(handle: int, start: int, target: memoryview, name: str) -> None:
    """Read bytes of a file into all of ``target``.

    Raises:
        InputError: the file ends before; ``name`` is the tensor in the message.
    """
    while target:
        if not (count := os.preadv(handle, [target], start)):
            raise InputError(f"the file of {name} has become shorter while it was read")
        target, start = target[count:], start + count


@dataclass(frozen=True)
class Columns:
    """Mean and standard deviation of every column over the rows with tokens, float64 [columns]."""

    mean: NDArray[np.float64]
    deviation: NDArray[np.float64]

    @classmethod
    def of(cls, matrix: StoredMatrix, tokens: NDArray[np.bool_], phases: Phases) -> Columns:
        """Read the matrix twice: for the mean, then for the squared deviations."""
        report = phases.gauge("averaging", "bytes", 2 * matrix.tensor.size)
        total = sum(block.sum(axis=0) for block in _blocks(matrix, tokens, report, 0))
        mean = np.asarray(total / max(int(tokens.sum()), 1), np.float64)
        squares = sum(np.square(block - mean).sum(axis=0) for block in _blocks(matrix, tokens, report, 1))
        return cls(mean, np.sqrt(np.asarray(squares / max(int(tokens.sum()), 1), np.float64)))


def _blocks(
    matrix: StoredMatrix, tokens: NDArray[np.bool_], report: Callable[[int], None], times: int
) -> Iterator[NDArray[np.float64]]:
    """Yield the numbers of rows with tokens; ``times``: number of earlier passes, for the progress."""
    count = max(BLOCK // 8 // matrix.row_bytes, 1)  # room for float64 and intermediate results
    for first in range(0, len(tokens), count):
        block = np.empty((min(count, len(tokens) - first), matrix.row_bytes), np.uint8)
        matrix.read(first, block)
        yield to_float64(block, matrix.tensor.dtype)[tokens[first : first + count]]
        report(times * matrix.tensor.size + (first + len(block)) * matrix.row_bytes)


class PlannedRows:
    """New rows of one matrix."""

    def __init__(self, plan: EmbeddingPlan, matrix: StoredMatrix, role: int, phases: Phases | None = None) -> None:
        self._plan, self._matrix, self._phases = plan, matrix, phases or Phases(None)
        self._single = plan.single
        self._draws = np.random.default_rng([plan.seed, role])

    def blocks(self) -> Iterator[bytes]:
        """Yield the bytes of all new rows, in order."""
        count = max(BLOCK // self._matrix.row_bytes, 1)
        for first in range(0, len(self._plan), count):
            block = np.empty((min(count, len(self._plan) - first), self._matrix.row_bytes), np.uint8)
            # Copy each run of rows that is consecutive in both matrices at once.
            sources = self._single[first : first + len(block)]
            edges = np.flatnonzero(np.diff(np.where(sources < 0, -2, sources)) != 1) + 1  # -1, 0 would be one run
            for start, stop in zip([0, *edges.tolist()], [*edges.tolist(), len(block)], strict=True):
                if sources[start] >= 0:
                    self._matrix.read(int(sources[start]), block[start:stop])
            for place in np.flatnonzero(self._single[first : first + count] < 0).tolist():
                block[place] = to_bytes(self._compute(first + place), self._matrix.tensor.dtype)
            yield block.tobytes()

    def _compute(self, row: int) -> NDArray[np.float64]:
        operation = self._plan.operations[row]
        if operation == Operation.AVERAGE:
            return self._columns.mean
        if operation == Operation.RANDOM:
            drawn = self._draws.standard_normal(len(self._columns.mean))  # in the order of rows
            random: NDArray[np.float64] = self._columns.mean + self._columns.deviation * drawn
            return random
        parts = self._matrix.numbers(self._plan.of_row(row))
        total: NDArray[np.float64] = parts[0].copy()
        for part in parts[1:]:  # sequentially, so that the sum does not depend on NumPy's order
            total += part
        total /= len(parts)
        return total

    @cached_property
    def _columns(self) -> Columns:
        return Columns.of(self._matrix, self._plan.tokens, self._phases)

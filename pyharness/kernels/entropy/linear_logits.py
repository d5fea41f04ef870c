"""Logits from hidden states and the unembedding, a chunk of them at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from pyharness.kernels.arrays.place import ITEM_BYTES, Place
from pyharness.kernels.entropy.states import STATE_WORDS
from pyharness.types import InputError

# Rows of a chunk start at multiples of this many logits, so that wide loads stay aligned.
ROW_ALIGNMENT = 64


@dataclass(frozen=True, slots=True)
class Chunks:
    """A [rows, columns] product cut so that one chunk's scratch memory stays in bounds."""

    rows: int
    columns: int
    row_step: int
    column_step: int

    @classmethod
    def within(cls, rows: int, columns: int, max_bytes: int, memory: ChunkMemory) -> Chunks:
        """The largest chunks that fit, by halving the longer side: the product reads each side once per chunk."""
        chunks = cls(rows, columns, rows, columns)
        while (needed := memory.of(chunks)) > max_bytes:
            if (chunks.row_step, chunks.column_step) == (1, 1):
                raise InputError(f"max_bytes = {max_bytes} does not hold one logit and its state; {needed} does")
            if chunks.row_step >= chunks.column_step:
                chunks = replace(chunks, row_step=-(-chunks.row_step // 2))
            else:
                chunks = replace(chunks, column_step=-(-chunks.column_step // 2))
        return chunks

    def shapes(self) -> Iterator[tuple[int, int]]:
        """Of whole chunks, and of the last ones of the rows and of the columns."""
        heights = {self.row_step, self.rows % self.row_step or self.row_step}
        return product(heights, {self.column_step, self.columns % self.column_step or self.column_step})

    def row_slices(self) -> Iterator[slice]:
        """Rows of one chunk after the other."""
        for begin in range(0, self.rows, self.row_step):
            yield slice(begin, min(begin + self.row_step, self.rows))

    def column_slices(self) -> Iterator[slice]:
        """Columns likewise."""
        for begin in range(0, self.columns, self.column_step):
            yield slice(begin, min(begin + self.column_step, self.columns))


@dataclass(frozen=True, slots=True)
class ChunkMemory:
    """Bytes that chunks of logits need beside the inputs and outputs."""

    place: Place
    dtype: str  # of hidden and weight
    width: int

    def of(self, chunks: Chunks) -> int:
        """All of them, for the largest chunk."""
        library, rows, columns = self.place.library, chunks.row_step, chunks.column_step
        logits = rows * aligned(columns) * ITEM_BYTES[library.product_dtype(self.dtype)]
        states = 2 * rows * STATE_WORDS * 4
        return logits + states + self.workspace(chunks) + library.product_bytes(rows, columns, self.width, self.dtype)

    def workspace(self, chunks: Chunks) -> int:
        """Bytes that the kernels work in: a last chunk of few rows may need more than a whole one."""
        return max(int(self.place.module.entropy_workspace(*shape)) for shape in chunks.shapes())


def aligned(columns: int) -> int:
    """Columns rounded up to the alignment of rows."""
    return -(-columns // ROW_ALIGNMENT) * ROW_ALIGNMENT


@dataclass(frozen=True, slots=True)
class LinearLogits:
    """The product, chunk by chunk, in one buffer, and the scratch memory of the kernels that read it."""

    place: Place
    hidden: Any
    weight: Any
    bias: Any
    buffer: Any
    scratch: Any

    @classmethod
    def of_chunks(cls, chunks: Chunks, memory: ChunkMemory, hidden: Any, weight: Any, bias: Any) -> LinearLogits:
        """With memory for the largest chunk."""
        place, own = memory.place, memory.place.library.own
        size, dtype = chunks.row_step * aligned(chunks.column_step), place.library.product_dtype(memory.dtype)
        buffer = place.empty((size,), dtype, "a chunk of logits")
        needed = memory.workspace(chunks)
        scratch = place.allocate(needed, "the workspace of entropy") if needed else None
        return cls(place, own(hidden), own(weight), None if bias is None else own(bias), buffer, scratch)

    def options(self, options: dict[str, Any]) -> dict[str, Any]:
        """Options of the native functions, with the scratch memory for all of them in turn."""
        return options if self.scratch is None else {**options, "allocate": lambda *_: self.scratch}

    def of(self, rows: slice, columns: slice) -> Any:
        """Logits of these rows and columns; they last until the next call."""
        height, width = rows.stop - rows.start, columns.stop - columns.start
        stride = aligned(width)
        logits = self.buffer[: height * stride].reshape(height, stride)[:, :width]
        bias = None if self.bias is None else self.bias[columns]
        self.place.library.linear(self.hidden[rows], self.weight[columns], bias, logits)
        return logits

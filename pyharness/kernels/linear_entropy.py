"""The outputs of ``entropy`` from hidden states and the unembedding, without storing [rows, vocabulary] logits."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from pyharness.kernels.arrays import ArrayInfo, describe
from pyharness.kernels.entropy import (
    LOGIT_DTYPES,
    MOST_COLUMNS,
    OUTPUTS,
    EntropyOutputs,
    Unit,
    as_arguments,
    check_outputs,
    check_target_ids,
    check_temperature,
    check_unit,
    make_outputs,
)
from pyharness.kernels.entropy_states import STATE_WORDS
from pyharness.kernels.place import ITEM_BYTES, Place
from pyharness.types import InputError

# Rows of a chunk start at multiples of this many logits, so that wide loads stay aligned.
ROW_ALIGNMENT = 64


@dataclass(frozen=True, slots=True)
class Chunks:
    """A [rows, columns] product, cut so that the scratch memory of one chunk is bounded."""

    rows: int
    columns: int
    row_step: int
    column_step: int

    @classmethod
    def within(cls, rows: int, columns: int, max_bytes: int, memory: ChunkMemory) -> Chunks:
        """Halve the longer side of a chunk until it fits; raise ``InputError`` where not even one logit does."""
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
        """Yield the shapes of whole chunks, and of the last ones of the rows and of the columns."""
        heights = {self.row_step, self.rows % self.row_step or self.row_step}
        return product(heights, {self.column_step, self.columns % self.column_step or self.column_step})

    def row_slices(self) -> Iterator[slice]:
        """Yield the rows of each chunk."""
        for begin in range(0, self.rows, self.row_step):
            yield slice(begin, min(begin + self.row_step, self.rows))

    def column_slices(self) -> Iterator[slice]:
        """Yield the columns of each chunk."""
        for begin in range(0, self.columns, self.column_step):
            yield slice(begin, min(begin + self.column_step, self.columns))


@dataclass(frozen=True, slots=True)
class ChunkMemory:
    """Bytes that chunks of logits need in addition to inputs and outputs."""

    place: Place
    dtype: str  # of hidden and weight
    width: int
    overlaps: bool = False  # a chunk is read while the next is computed

    def buffers(self, chunks: Chunks) -> int:
        """Return how many chunks exist at a time."""
        return 2 if self.overlaps and chunks.row_step * chunks.column_step < chunks.rows * chunks.columns else 1

    def of(self, chunks: Chunks) -> int:
        """Return all bytes, for the largest chunk."""
        library, rows, columns = self.place.library, chunks.row_step, chunks.column_step
        logits = self.buffers(chunks) * rows * aligned(columns) * ITEM_BYTES[library.product_dtype(self.dtype)]
        states = 2 * rows * STATE_WORDS * 4
        return logits + states + self.workspace(chunks) + library.product_bytes(rows, columns, self.width, self.dtype)

    def workspace(self, chunks: Chunks) -> int:
        """Return the kernels' workspace in bytes: a last chunk of few rows may need more than a whole one."""
        return max(int(self.place.module.entropy_workspace(*shape)) for shape in chunks.shapes())


def aligned(columns: int) -> int:
    """Round columns up to the alignment of rows."""
    return -(-columns // ROW_ALIGNMENT) * ROW_ALIGNMENT


@dataclass(frozen=True, slots=True)
class LinearLogits:
    """The product, chunk by chunk, in one buffer or in two by turns, and the scratch memory of the kernels."""

    place: Place
    hidden: Any
    weight: Any
    bias: Any
    buffers: Any  # [1 or 2, logits of the largest chunk]
    scratch: Any
    side: tuple[Any, int]  # with two buffers, a second stream and its handle

    @classmethod
    def of_chunks(cls, chunks: Chunks, memory: ChunkMemory, hidden: Any, weight: Any, bias: Any) -> LinearLogits:
        """Allocate memory for the largest chunk, or for two of it."""
        place, own, count = memory.place, memory.place.library.own, memory.buffers(chunks)
        size, dtype = chunks.row_step * aligned(chunks.column_step), place.library.product_dtype(memory.dtype)
        buffers = place.empty((count, size), dtype, "a chunk of logits")
        needed = memory.workspace(chunks)
        scratch = place.allocate(needed, "the workspace of entropy") if needed else None
        side = place.library.side_stream(place.device) if count == 2 else (None, 0)
        return cls(place, own(hidden), own(weight), None if bias is None else own(bias), buffers, scratch, side)

    def options(self, options: dict[str, Any]) -> dict[str, Any]:
        """Return options of the native functions, with their stream and the scratch memory that they share in turn."""
        shared = {} if self.scratch is None else {"allocate": lambda *_: self.scratch}
        return options | shared | ({} if len(self.buffers) == 1 else {"stream": self.side[1]})

    def of(self, rows: slice, columns: slice, turn: int) -> Any:
        """Compute the logits of these rows and columns; they last until the buffer's next turn."""
        height, width = rows.stop - rows.start, columns.stop - columns.start
        stride = aligned(width)
        logits = self.buffers[turn % len(self.buffers)][: height * stride].reshape(height, stride)[:, :width]
        bias = None if self.bias is None else self.bias[columns]
        self.place.library.linear(self.hidden[rows], self.weight[columns], bias, logits)
        return logits

    def by_turns(self, chunks: Chunks) -> Generator[tuple[slice, slice, Any]]:
        """Yield rows, columns and logits of each chunk; with two buffers on the second stream, during the next product.

        Closed, it makes the first stream wait for the second.
        """
        pieces = list(product(chunks.row_slices(), chunks.column_slices()))
        if len(self.buffers) == 1:
            yield from ((*piece, self.of(*piece, 0)) for piece in pieces)
            return
        on_stream, device = self.place.library.on_stream, self.place.device
        first, second = self.place.stream or 0, self.side[1]
        following = self.of(*pieces[0], 0)
        try:
            for turn, piece in enumerate(pieces, 1):
                logits = following
                with on_stream(device, second):  # after this product
                    if turn < len(pieces):
                        with on_stream(device, first):  # after what was read before, in the buffer that is free then
                            following = self.of(*pieces[turn], turn)
                    yield *piece, logits
        finally:
            with on_stream(device, second), on_stream(device, first):
                pass


def check_shapes(hidden: ArrayInfo, weight: ArrayInfo, bias: ArrayInfo | None, vocab_size: int | None) -> int:
    """Refuse factors that cannot be multiplied; return the number of columns that count."""
    for info, name in ((hidden, "hidden"), (weight, "weight")):
        if len(info.shape) != 2 or info.shape[1] < 1:
            raise InputError(f"{name} must have shape [rows, width of 1 or more], not {list(info.shape)}: reshape it")
        if info.dtype not in LOGIT_DTYPES:
            raise InputError(f"{name} must hold {', '.join(LOGIT_DTYPES)}, not {info.dtype}: convert it")
    if hidden.shape[1] != weight.shape[1]:
        raise InputError(f"hidden has width {hidden.shape[1]}, weight {weight.shape[1]}: weight is [vocabulary, width]")
    for other, name in ((weight, "weight"), (bias, "bias")):
        if other is None:
            continue
        if other.dtype != hidden.dtype:
            raise InputError(f"hidden holds {hidden.dtype}, {name} {other.dtype}: convert one of them")
        if other.device != hidden.device:
            raise InputError(f"hidden is on {hidden.device}, {name} on {other.device}: move one of them")
    if bias is not None and bias.shape != weight.shape[:1]:
        raise InputError(f"bias must have shape [{weight.shape[0]}], one per row of weight, not {list(bias.shape)}")
    columns = weight.shape[0] if vocab_size is None else vocab_size
    if not 1 <= columns <= min(weight.shape[0], MOST_COLUMNS):
        raise InputError(f"vocab_size must be 1 to {weight.shape[0]}, the rows of weight, not {columns}")
    return columns


def linear_entropy(
    hidden: Any,
    weight: Any,
    bias: Any = None,
    *,
    targets: Any = None,
    temperature: float = 1.0,
    outputs: Sequence[str] = ("entropy",),
    unit: Unit = "nats",
    vocab_size: int | None = None,
    max_bytes: int | None = None,
    out: EntropyOutputs | None = None,
    stream: Any = None,
    threads: int | None = None,
) -> EntropyOutputs:
    """Compute ``entropy`` of the logits ``hidden @ weight.T + bias``, of which only a chunk exists at a time.

    The logits have the dtype of ``hidden``, as the model's own would; NumPy's float16 is multiplied in float32.

    Args:
        hidden: [rows, width] float32, float16 or bfloat16 of NumPy, torch (CPU or CUDA) or cupy.
        weight: [vocabulary or more, width], the unembedding, of the same dtype and device.
        bias: [rows of ``weight``], likewise; none by default.
        targets: as for ``entropy``.
        temperature: as for ``entropy``.
        outputs: as for ``entropy``.
        unit: as for ``entropy``.
        vocab_size: number of rows of ``weight`` that are tokens; padding after them never counts. All by default.
        max_bytes: bound of the memory in addition to inputs and outputs: a chunk of logits (on a GPU two, one of which
            is read while the other is computed), two states per row of it, the workspace of the kernels, converted
            factors; without the internal memory of a library's product. By default a quarter of the free memory, at
            most 64 MiB on the CPU and 2 GiB on a GPU. Required where the call is captured into a CUDA graph.
        out: as for ``entropy``.
        stream: as for ``entropy``; the product runs on it too.
        threads: native threads of the entropy on the CPU; the product uses its library's own.

    Returns:
        As ``entropy``.

    Raises:
        InputError: an argument does not fit; the message names it and the remedy.
        ValueError: as ``entropy``.
        CudaUnavailable: as ``entropy``.
        MemoryError: out of memory; the message says how much was needed.

    Source: docs/gpu.md "From hidden states".

    >>> import numpy as np
    >>> hidden, weight = np.eye(2, 3, dtype=np.float32), np.zeros((16, 3), np.float32)
    >>> linear_entropy(hidden, weight, unit="bits").entropy.round(4).tolist()
    [4.0, 4.0]
    """
    info = describe(hidden, "hidden")
    bias_info = None if bias is None else describe(bias, "bias")
    columns = check_shapes(info, describe(weight, "weight"), bias_info, vocab_size)
    names, temperature, scale = check_outputs(outputs, targets, out), check_temperature(temperature), check_unit(unit)
    place, rows = Place.of(hidden, info, stream, threads), info.shape[0]
    if targets is not None:
        check_target_ids(targets, place, rows, columns)
    inputs = {"hidden": hidden, "weight": weight, "bias": bias, "targets": targets}
    with place.using(*inputs.values(), *as_arguments(out).values()) as options:
        results = make_outputs(names, out, place, rows, inputs)
        if rows:
            # What is captured into a graph keeps to its one stream.
            overlaps = place.stream is not None and not place.is_captured
            memory = ChunkMemory(place, info.dtype, info.shape[1], overlaps)
            chunks = Chunks.within(rows, columns, default_bytes(place) if max_bytes is None else max_bytes, memory)
            logits = LinearLogits.of_chunks(chunks, memory, hidden, weight, bias)
            finish = {"temperature": temperature, "unit_scale": scale}
            add_chunks(logits, chunks, targets, results, finish, logits.options(options))
    return results


def default_bytes(place: Place) -> int:
    """Return the default bytes of chunks. On a CPU 16 to 256 MiB were equally fast; not measured on a GPU."""
    place.refuse_capture("asks how much memory is free: pass max_bytes")
    most = 2 << 30 if place.device.is_cuda else 64 << 20
    return min(most, place.library.free_bytes(place.device) // 4)


def add_chunks(
    logits: LinearLogits,
    chunks: Chunks,
    targets: Any,
    results: EntropyOutputs,
    finish: dict[str, float],
    options: dict[str, Any],
) -> None:
    """Merge the states of all chunks of columns, and write the outputs, for one chunk of rows after the other."""
    place, shared = logits.place, {"temperature": finish["temperature"], **options}
    both = place.empty((2, chunks.row_step, STATE_WORDS), "float32", "the states of entropy")
    own_targets = None if targets is None else place.library.own(targets)
    with closing(logits.by_turns(chunks)) as turns:
        for rows, columns, chunk in turns:
            states, part = both[0, : rows.stop - rows.start], both[1, : rows.stop - rows.start]
            into = part if columns.start else states
            row_targets = None if own_targets is None else own_targets[rows]
            place.module.entropy_states(chunk, row_targets, into, first_column=columns.start, **shared)
            if columns.start:
                place.module.entropy_merge(states, part, **shared)
            if columns.stop == chunks.columns:
                place.module.entropy_finish(states, **finish, **of_rows(results, rows, place), **options)


def of_rows(results: EntropyOutputs, rows: slice, place: Place) -> dict[str, Any]:
    """Return the parts of the outputs that belong to these rows."""
    arrays = as_arguments(results)
    return {name: None if arrays[name] is None else place.library.own(arrays[name])[rows] for name in OUTPUTS}

"""The outputs of ``entropy`` from hidden states and the unembedding, without storing [rows, vocabulary] logits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyharness.kernels.arrays.arrays import ArrayInfo, describe
from pyharness.kernels.arrays.place import Place
from pyharness.kernels.entropy.entropy import LOGIT_DTYPES, MOST_COLUMNS, check_target_ids
from pyharness.kernels.entropy.linear_logits import ChunkMemory, Chunks, LinearLogits
from pyharness.kernels.entropy.outputs import (
    OUTPUTS,
    EntropyOutputs,
    Unit,
    as_arguments,
    check_outputs,
    check_temperature,
    check_unit,
    make_outputs,
)
from pyharness.kernels.entropy.states import STATE_WORDS
from pyharness.types import InputError


def check_shapes(hidden: ArrayInfo, weight: ArrayInfo, bias: ArrayInfo | None, vocab_size: int | None) -> int:
    """Refuse factors that cannot be multiplied. Returns the number of columns that count."""
    for info, name in ((hidden, "hidden"), (weight, "weight")):
        if len(info.shape) != 2 or info.shape[1] < 1:
            raise InputError(f"{name} must have shape [{name} rows, width], not {list(info.shape)}: reshape it")
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
    """``entropy`` of the logits ``hidden @ weight.T + bias``, of which only a chunk exists at a time.

    The logits have the dtype of ``hidden``, as the model's own would; NumPy's float16 is multiplied in float32.

    Args:
        hidden: [rows, width] float32, float16 or bfloat16 of NumPy, torch (CPU or CUDA) or cupy.
        weight: [vocabulary or more, width], the unembedding, of the same dtype and device.
        bias: [as many], likewise; none by default.
        targets: as for ``entropy``.
        temperature: as for ``entropy``.
        outputs: as for ``entropy``.
        unit: as for ``entropy``.
        vocab_size: how many rows of ``weight`` are tokens; rows of padding after them never count. All by default.
        max_bytes: bound of the memory used beside inputs and outputs: a chunk of logits, two states per row of it, the
            workspace of the kernels, factors that are converted; not what a library's product keeps for itself. By
            default a quarter of the free memory, at most 64 MiB on the CPU and 2 GiB on a GPU. Needed where the call is
            captured into a CUDA graph.
        out: as for ``entropy``.
        stream: as for ``entropy``; the product runs on it too.
        threads: native threads of the entropy on the CPU; the product uses its library's own.

    Returns:
        As ``entropy``.

    Raises:
        InputError: an argument does not fit; the message says which and what to do.
        CudaUnavailable: CUDA arrays, and no CUDA module or device.
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
            memory = ChunkMemory(place, info.dtype, info.shape[1])
            chunks = Chunks.within(rows, columns, default_bytes(place) if max_bytes is None else max_bytes, memory)
            logits = LinearLogits.of_chunks(chunks, memory, hidden, weight, bias)
            finish = {"temperature": temperature, "unit_scale": scale}
            add_chunks(logits, chunks, targets, results, finish, logits.options(options))
    return results


def default_bytes(place: Place) -> int:
    """Bytes that chunks may take. On a CPU 16 to 256 MiB were equally fast; on a GPU this was not measured."""
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
    """States of every chunk of columns, merged; then the outputs of these rows."""
    place, temperature = logits.place, finish["temperature"]
    both = place.empty((2, chunks.row_step, STATE_WORDS), "float32", "the states of entropy")
    for rows in chunks.row_slices():
        states, part = both[0, : rows.stop - rows.start], both[1, : rows.stop - rows.start]
        row_targets = None if targets is None else place.library.own(targets)[rows]
        for columns in chunks.column_slices():
            into = part if columns.start else states
            chunk = logits.of(rows, columns)
            place.module.entropy_states(
                chunk, row_targets, into, first_column=columns.start, temperature=temperature, **options
            )
            if columns.start:
                place.module.entropy_merge(states, part, temperature=temperature, **options)
        place.module.entropy_finish(states, **finish, **of_rows(results, rows, place), **options)


def of_rows(results: EntropyOutputs, rows: slice, place: Place) -> dict[str, Any]:
    """The parts of the outputs that belong to these rows."""
    arrays = as_arguments(results)
    return {name: None if arrays[name] is None else place.library.own(arrays[name])[rows] for name in OUTPUTS}

"""Entropy of next-token distributions, and the other outputs of one pass over logits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyharness.kernels.arrays import ArrayInfo, check_vector, describe
from pyharness.kernels.entropy_outputs import (
    EntropyOutputs,
    Unit,
    as_arguments,
    check_outputs,
    check_temperature,
    check_unit,
    make_outputs,
)
from pyharness.kernels.place import Place
from pyharness.types import InputError

LOGIT_DTYPES = ("float32", "float16", "bfloat16")
MOST_COLUMNS = 2**31 - 1
TARGET_DTYPES = ("int32", "int64")


def check_logits(info: ArrayInfo, name: str = "logits") -> None:
    """Refuse anything but [rows, vocabulary] of a known dtype, contiguous in the vocabulary."""
    if len(info.shape) != 2:
        raise InputError(
            f"{name} must have two dimensions, [rows, vocabulary], not {len(info.shape)}: reshape(-1, vocabulary) it"
        )
    if info.dtype not in LOGIT_DTYPES:
        raise InputError(f"{name} must hold {', '.join(LOGIT_DTYPES)}, not {info.dtype}: convert it")
    if info.shape[1] > 1 and info.strides[1] != 1:
        raise InputError(f"{name} must be contiguous in its last dimension; its stride is {info.strides[1]}: copy it")
    if not 1 <= info.shape[1] <= MOST_COLUMNS:
        raise InputError(f"{name} must have 1 to {MOST_COLUMNS} columns, not {info.shape[1]}")


def check_target_ids(targets: Any, place: Place, rows: int, vocab_size: int) -> None:
    """Refuse targets that are not ids of the vocabulary. On CUDA this waits for the device, once."""
    check_vector(targets, "targets", rows, TARGET_DTYPES, place.device)
    place.refuse_capture("the check of targets waits for the device: leave them out, or call outside of the capture")
    with place.using(targets) as options:
        try:
            place.module.check_targets(targets, vocab_size, **options)
        except ValueError as error:
            raise InputError(str(error)) from None


def entropy(
    logits: Any,
    *,
    targets: Any = None,
    temperature: float = 1.0,
    outputs: Sequence[str] = ("entropy",),
    unit: Unit = "nats",
    out: EntropyOutputs | None = None,
    stream: Any = None,
    threads: int | None = None,
) -> EntropyOutputs:
    """Entropy of every row's ``softmax(logits / temperature)``, in one pass over the logits.

    Args:
        logits: [rows, vocabulary] float32, float16 or bfloat16; any row stride, contiguous in the vocabulary. NumPy,
            torch (CPU or CUDA), cupy or anything that speaks DLPack. -inf has probability 0.
        targets: int32 or int64 [rows] on the same device, the ids for ``nll``. On CUDA a kernel checks them, which
            costs one synchronisation; all else only enqueues work. Without targets, and on torch tensors, a call can
            be captured into a CUDA graph.
        temperature: divides the logits; 1e-30 to 1e30 on every device.
        outputs: names of fields of ``EntropyOutputs``. All together cost hardly more than one.
        unit: of entropy, log_sum_exp, nll and margin.
        out: arrays to write to, one per name in ``outputs``; returned as they are. They share memory with nothing else.
        stream: CUDA stream (handle, torch's or cupy's); the library's current one by default. With another one, cupy's
            arrays must be kept until it has passed; torch's are kept by torch.
        threads: native threads on the CPU; all that this process may use by default. They use the widest vectors of
            the machine; the environment variable PYHARNESS_ISA names others: portable, avx2 or avx512.

    Returns:
        Arrays of the library and on the device of ``logits``. Against float64, entropy errs by at most 2e-6 nats.

    Raises:
        InputError: an argument does not fit, or the call cannot be captured; the message says which and what to do.
        CudaUnavailable: CUDA arrays, and no CUDA module or device, or one below compute capability 8.0.
        MemoryError: out of memory; the message says how much was needed.

    Source: docs/gpu.md "Next-token entropy".

    >>> import numpy as np
    >>> logits = np.log(np.array([[0.5, 0.25, 0.25], [1.0, 1.0, 2.0]], np.float32))
    >>> results = entropy(logits, targets=np.array([0, 2]), outputs=("entropy", "nll", "argmax"), unit="bits")
    >>> results.entropy.round(3).tolist(), results.nll.round(3).tolist(), results.argmax.tolist()
    ([1.5, 1.5], [1.0, 1.0], [0, 2])
    """
    info = describe(logits, "logits")
    check_logits(info)
    names, temperature, scale = check_outputs(outputs, targets, out), check_temperature(temperature), check_unit(unit)
    place = Place.of(logits, info, stream, threads)
    rows, columns = info.shape
    if targets is not None:
        check_target_ids(targets, place, rows, columns)
    with place.using(logits, targets, *as_arguments(out).values()) as options:
        results = make_outputs(names, out, place, rows, {"logits": logits, "targets": targets})
        place.module.entropy(
            logits, targets, temperature=temperature, unit_scale=scale, **as_arguments(results), **options
        )
    return results

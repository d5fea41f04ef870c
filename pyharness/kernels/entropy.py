"""Entropy of next-token distributions, and the other outputs of one pass over logits: names, unit, temperature."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeAlias

from pyharness.kernels.arrays import ArrayInfo, check_apart, check_vector, describe
from pyharness.kernels.place import Place
from pyharness.types import InputError

LOGIT_DTYPES = ("float32", "float16", "bfloat16")
MOST_COLUMNS = 2**31 - 1
TARGET_DTYPES = ("int32", "int64")


def check_logits(info: ArrayInfo, name: str = "logits") -> None:
    """Check that logits are [rows, vocabulary] of a known dtype, contiguous in the vocabulary."""
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
    """Refuse targets that are not ids of the vocabulary.

    On CUDA this waits for the device once, so it also refuses a capture into a graph.
    """
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
    """Compute the entropy of every row's ``softmax(logits / temperature)``, in one pass over the logits.

    Args:
        logits: [rows, vocabulary] float32, float16 or bfloat16; any row stride, contiguous in the vocabulary. NumPy,
            torch (CPU or CUDA), cupy or any DLPack producer. -inf has probability 0.
        targets: int32 or int64 [rows] on the same device, the ids for ``nll``. On CUDA a kernel checks them, which
            costs one synchronisation; all else only enqueues work. Without targets, and on torch tensors, a call can
            be captured into a CUDA graph.
        temperature: divides the logits; 1e-30 to 1e30 on every device.
        outputs: names of fields of ``EntropyOutputs``. All together cost hardly more than one.
        unit: of entropy, log_sum_exp, nll and margin.
        out: arrays to write to, one per name in ``outputs``; returned unchanged. They share memory with no other array.
        stream: CUDA stream (handle, torch's or cupy's); the library's current one by default. With another one, keep
            cupy's arrays until the stream has passed this call; torch keeps its own.
        threads: native threads on the CPU; all that this process may use by default. They use the widest vectors of
            the machine; the environment variable PYHARNESS_ISA selects others: portable, avx2 or avx512.

    Returns:
        Arrays of the library and on the device of ``logits``. Against float64, entropy errs by at most 2e-6 nats.

    Raises:
        InputError: an argument does not fit, or the call cannot be captured; the message names it and the remedy. On
            the CPU, ``threads`` is not 1 to 1,024.
        ValueError: on the CPU, PYHARNESS_ISA names what the machine lacks.
        CudaUnavailable: CUDA arrays, and no CUDA module or device, or one below compute capability 8.0.
        Unsupported: CUDA arrays of a library other than torch, and cupy is not installed.
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


Unit: TypeAlias = Literal["nats", "bits"]
UNITS = {"nats": 1.0, "bits": math.log2(math.e)}


@dataclass(frozen=True, slots=True)
class EntropyOutputs:
    """Outputs per row of logits, of ``softmax(logits / temperature)``: float32 [rows], argmax int64 [rows], or None.

    ``entropy``, ``log_sum_exp``, ``nll`` and ``margin`` are in the requested unit. ``margin`` is the difference of the
    two largest log-probabilities, +inf where there is no second finite logit. ``argmax`` is the smallest index among
    equals. A row that is no distribution (NaN, +inf, or -inf only) has NaN everywhere and argmax -1.

    >>> import numpy as np
    >>> room = EntropyOutputs(entropy=np.empty(2, np.float32), argmax=np.empty(2, np.int64))
    >>> [name for name in OUTPUTS if getattr(room, name) is not None]
    ['entropy', 'argmax']
    """

    entropy: Any = None
    log_sum_exp: Any = None
    nll: Any = None
    max_probability: Any = None
    argmax: Any = None
    margin: Any = None


OUTPUTS = tuple(field.name for field in fields(EntropyOutputs))


def check_temperature(temperature: float) -> float:
    """Return a temperature as a float; refuse one outside of 1e-30 to 1e30, and NaN."""
    if not 1e-30 <= temperature <= 1e30:
        raise InputError(f"temperature must be between 1e-30 and 1e30, not {temperature}")
    return float(temperature)


def check_unit(unit: str) -> float:
    """Return the factor from nats to a unit."""
    if unit not in UNITS:
        raise InputError(f"unknown unit {unit!r}; known: {', '.join(UNITS)}")
    return UNITS[unit]


def check_outputs(outputs: Sequence[str], targets: Any, out: EntropyOutputs | None) -> tuple[str, ...]:
    """Return the requested names, which must be those of ``out``; ``nll`` needs targets."""
    names = (outputs,) if isinstance(outputs, str) else tuple(outputs)
    unknown = [name for name in names if name not in OUTPUTS]
    if unknown:
        raise InputError(f"unknown output {unknown[0]!r}; known: {', '.join(OUTPUTS)}")
    if not names:
        raise InputError(f"outputs is empty; name some of {', '.join(OUTPUTS)}")
    if "nll" in names and targets is None:
        raise InputError("nll needs targets: the id of the token that came next, one per row")
    if out is not None and not isinstance(out, EntropyOutputs):
        raise InputError(f"out must be EntropyOutputs with an array per name, not {type(out).__qualname__}")
    present = {name for name, array in as_arguments(out).items() if array is not None}
    if out is not None and present != set(names):
        raise InputError(
            f"out has {', '.join(sorted(present)) or 'nothing'}; outputs asks for {', '.join(sorted(names))}"
        )
    return names


def make_outputs(
    names: tuple[str, ...], out: EntropyOutputs | None, place: Place, rows: int, inputs: dict[str, Any]
) -> EntropyOutputs:
    """Return the output arrays: those of ``out``, checked, also against the call's inputs; or new ones."""
    if out is None:
        return EntropyOutputs(
            **{name: place.empty((rows,), output_dtype(name), f"the output {name}") for name in names}
        )
    for name in names:
        if check_vector(getattr(out, name), f"out.{name}", rows, (output_dtype(name),), place.device).read_only:
            raise InputError(f"out.{name} is read-only: pass an array that can be written")
    check_apart({f"out.{name}": getattr(out, name) for name in names}, inputs)
    return out


def output_dtype(name: str) -> str:
    """Return the dtype of an output: float32, but int64 for ids."""
    return "int64" if name == "argmax" else "float32"


def as_arguments(outputs: EntropyOutputs | None) -> dict[str, Any]:
    """Return the arrays by name, as the native functions take them."""
    return {} if outputs is None else {name: getattr(outputs, name) for name in OUTPUTS}

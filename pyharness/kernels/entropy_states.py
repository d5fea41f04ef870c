"""The associative state behind entropy: states of column chunks, even from several machines, can be merged.

A state array is float32 [rows, 8]: largest logit, sum 2^z, sum z 2^z with z = (logit - largest) log2(e) / temperature,
second largest logit, logit of the target, column of the largest (as int32 bits), two spare words; on all backends.
Every merge rounds the sums to float32: 256 chunks of a row kept entropy within 2e-6 nats, 2,000 within 8e-6.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyharness.kernels.arrays import ArrayInfo, check_apart, check_vector, describe
from pyharness.kernels.entropy import (
    MOST_COLUMNS,
    TARGET_DTYPES,
    EntropyOutputs,
    Unit,
    as_arguments,
    check_logits,
    check_outputs,
    check_temperature,
    check_unit,
    make_outputs,
)
from pyharness.kernels.place import Place
from pyharness.types import InputError

STATE_WORDS = 8
STATE_ALIGNMENT = 16  # bytes: the kernels read a state in two loads


def check_states(states: Any, name: str) -> ArrayInfo:
    """Refuse anything but a state array."""
    info = describe(states, name)
    if info.dtype != "float32" or len(info.shape) != 2 or info.shape[1] != STATE_WORDS:
        raise InputError(f"{name} must be float32 [rows, {STATE_WORDS}], not {info.dtype} {list(info.shape)}")
    if info.strides != (STATE_WORDS, 1) and info.shape[0] > 1:
        raise InputError(f"{name} must be contiguous: copy it")
    if info.address % STATE_ALIGNMENT:
        raise InputError(f"{name} must be aligned to {STATE_ALIGNMENT} bytes: copy it")
    return info


def entropy_states(
    logits: Any,
    *,
    targets: Any = None,
    first_column: int = 0,
    temperature: float = 1.0,
    stream: Any = None,
    threads: int | None = None,
) -> Any:
    """Compute the states of some columns of every row.

    Args:
        logits: [rows, columns] as for ``entropy``; the columns ``first_column ..`` of the vocabulary.
        targets: int32 or int64 [rows], ids of the vocabulary; those of other columns are ignored.
        first_column: id of the first column.
        temperature: the same for all states that are merged and for their finish.
        stream: as for ``entropy``.
        threads: as for ``entropy``.

    Returns:
        float32 [rows, 8], of the library and on the device of ``logits``.

    Raises:
        InputError: an argument does not fit. The other errors are those of ``entropy``.

    >>> import numpy as np
    >>> states = entropy_states(np.array([[1.0, 3.0]], np.float32), first_column=50_000)
    >>> states.shape, states[:, 0].tolist(), states[:, 5].view(np.int32).tolist()
    ((1, 8), [3.0], [50001])
    """
    info = describe(logits, "logits")
    check_logits(info)
    rows, columns = info.shape
    if not 0 <= first_column <= MOST_COLUMNS - columns:
        raise InputError(f"first_column must leave all ids below 2^31, not {first_column} with {columns} columns")
    place = Place.of(logits, info, stream, threads)
    if targets is not None:
        check_vector(targets, "targets", rows, TARGET_DTYPES, place.device)
    with place.using(logits, targets) as options:
        states = place.empty((rows, STATE_WORDS), "float32", "the states of entropy")
        temperature = check_temperature(temperature)
        place.module.entropy_states(
            logits, targets, states, first_column=first_column, temperature=temperature, **options
        )
    return states


def entropy_merge(states: Any, other: Any, *, temperature: float = 1.0, stream: Any = None) -> None:
    """Merge ``other`` into ``states``, in place: the states of all their columns; ``stream`` as for ``entropy``.

    Raises:
        InputError: the arguments are not state arrays of equally many rows on one device, share memory, or ``states``
            is read-only; or another argument does not fit.

    >>> import numpy as np
    >>> logits = np.array([[1.0, 3.0, 2.0, 0.0]], np.float32)
    >>> states, other = entropy_states(logits[:, :2]), entropy_states(logits[:, 2:], first_column=2)
    >>> entropy_merge(states, other)
    >>> bool(np.allclose(states, entropy_states(logits)))
    True
    """
    into, source = check_states(states, "states"), check_states(other, "other")
    rows, device = into.shape[0], into.device
    if (rows, device) != (source.shape[0], source.device):
        raise InputError(f"states has {rows} rows on {device}, other {source.shape[0]} on {source.device}")
    if into.read_only:
        raise InputError("states is read-only: pass an array that can be written")
    check_apart({"states": states}, {"other": other})
    place = Place.of(states, into, stream, None)
    with place.using(states, other) as options:
        place.module.entropy_merge(states, other, temperature=check_temperature(temperature), **options)


def entropy_finish(
    states: Any,
    *,
    temperature: float = 1.0,
    outputs: Sequence[str] = ("entropy",),
    unit: Unit = "nats",
    out: EntropyOutputs | None = None,
    stream: Any = None,
) -> EntropyOutputs:
    """Compute the outputs from states of whole rows; ``nll`` needs states that contain the targets.

    ``temperature`` is the one of the states, the other arguments are as for ``entropy``.

    Raises:
        InputError: an argument does not fit.

    >>> import numpy as np
    >>> states = entropy_states(np.zeros((2, 8), np.float32))
    >>> entropy_finish(states, unit="bits").entropy.round(4).tolist()
    [3.0, 3.0]
    """
    info = check_states(states, "states")
    names = check_outputs(outputs, states, out)
    temperature, scale = check_temperature(temperature), check_unit(unit)
    place = Place.of(states, info, stream, None)
    with place.using(states, *as_arguments(out).values()) as options:
        results = make_outputs(names, out, place, info.shape[0], {"states": states})
        place.module.entropy_finish(
            states, temperature=temperature, unit_scale=scale, **as_arguments(results), **options
        )
    return results

"""The outputs of entropy, and its arguments: output names, unit, temperature."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeAlias

from pyharness.kernels.arrays import check_apart, check_vector
from pyharness.kernels.place import Place
from pyharness.types import InputError

Unit: TypeAlias = Literal["nats", "bits"]
UNITS = {"nats": 1.0, "bits": math.log2(math.e)}


@dataclass(frozen=True, slots=True)
class EntropyOutputs:
    """Per row of logits, of ``softmax(logits / temperature)``: float32 [rows], argmax int64 [rows]; None: not asked.

    ``entropy``, ``log_sum_exp``, ``nll`` and ``margin`` are in the unit asked for. ``margin`` is the difference of the
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
    """Refuse a temperature that is not positive or that float32 logits cannot be divided by."""
    if not 1e-30 <= temperature <= 1e30:
        raise InputError(f"temperature must be between 1e-30 and 1e30, not {temperature}")
    return float(temperature)


def check_unit(unit: str) -> float:
    """Return the factor from nats to a unit."""
    if unit not in UNITS:
        raise InputError(f"unknown unit {unit!r}; known: {', '.join(UNITS)}")
    return UNITS[unit]


def check_outputs(outputs: Sequence[str], targets: Any, out: EntropyOutputs | None) -> tuple[str, ...]:
    """The names asked for, which are those of ``out``; ``nll`` needs targets."""
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
    given = {name for name, array in as_arguments(out).items() if array is not None}
    if out is not None and given != set(names):
        raise InputError(
            f"out has {', '.join(sorted(given)) or 'nothing'}; outputs asks for {', '.join(sorted(names))}"
        )
    return names


def make_outputs(
    names: tuple[str, ...], out: EntropyOutputs | None, place: Place, rows: int, inputs: dict[str, Any]
) -> EntropyOutputs:
    """The arrays that results go to: those of ``out``, checked, also against the call's inputs; or new ones."""
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
    """float32, but ids are int64."""
    return "int64" if name == "argmax" else "float32"


def as_arguments(outputs: EntropyOutputs | None) -> dict[str, Any]:
    """The arrays by name, as the native functions take them."""
    return {} if outputs is None else {name: getattr(outputs, name) for name in OUTPUTS}

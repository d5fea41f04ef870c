"""Parameters of benchmarks: every value checked against the default that the benchmark declares."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import product
from typing import Any

from pyharness.benchmarks import Benchmark
from pyharness.corpora.options import size
from pyharness.suite.declaration import shown
from pyharness.system.environment import cores
from pyharness.types import InputError

EVERY_POWER = "powers of two"  # thread counts: 1, 2, 4, ... up to the cores of the machine
_LARGEST = 2**63 - 1
_LONGEST_SIZE = 40  # characters of a number of bytes


def parameter_points(benchmark: Benchmark, given: Mapping[str, Any], oversubscribe: bool) -> list[dict[str, Any]]:
    """Return one set of values per case: a list gives one per value. More threads than cores must be allowed."""
    most_threads = None if oversubscribe else cores()
    axes: dict[str, list[Any]] = {}
    for name, value in {**benchmark.parameters, **given}.items():
        if name == "threads" and value == EVERY_POWER:
            axes[name] = powers_of_two(cores())
            continue
        values = list(value) if isinstance(value, list | tuple) else [value]
        if not values:
            raise InputError(f"benchmark {benchmark.name!r}: {name} = [] has no value; give one or leave it out")
        try:
            most = most_threads if name in given else None
            axes[name] = [_checked(name, one, benchmark.parameters[name], most) for one in values]
        except InputError as error:
            raise InputError(f"benchmark {benchmark.name!r}: {error}") from None
    return [dict(zip(axes, point, strict=True)) for point in product(*axes.values())]


def _checked(name: str, value: Any, default: Any, most_threads: int | None) -> Any:
    if name == "threads":
        return _threads(value, most_threads)
    sample = default[0] if isinstance(default, list | tuple) and default else default
    if isinstance(sample, bool):
        return _of_type(name, value, bool, "true or false")
    if isinstance(sample, int):
        if name == "bytes":
            least, wanted = 1, "a whole number of bytes, or one with kB, MB, GB, KiB, MiB or GiB: 2MB"
            value = size(name, value) if isinstance(value, str) and len(value) <= _LONGEST_SIZE else value
        else:
            least, wanted = 0, "a whole number from 0"
        return _of_range(name, _of_type(name, value, int, wanted), least, wanted)
    if isinstance(sample, float):
        number = float(_of_type(name, value, int | float, "a number"))
        if not math.isfinite(number):
            raise InputError(f"{name} = {shown(value)} is not finite; write a number")
        return number
    return _of_type(name, value, str, "text") if isinstance(sample, str) else value


def _threads(value: Any, most: int | None) -> int:
    wanted = f"a number of threads from 1, a list of them, or {EVERY_POWER!r}"
    count = _of_range("threads", _of_type("threads", value, int, wanted), 1, wanted)
    if most is not None and count > most:
        raise InputError(
            f"threads = {count} is more than this process has cores ({most}): ask for at most {most}, or let a suite "
            "say oversubscribe = true"
        )
    return count


def _of_type(name: str, value: Any, kind: Any, wanted: str) -> Any:
    if not isinstance(value, kind) or (kind is not bool and isinstance(value, bool)):
        raise InputError(f"{name} = {shown(value)} is not {wanted}")
    return value


def _of_range(name: str, value: int, least: int, wanted: str) -> int:
    if not least <= value <= _LARGEST:
        raise InputError(f"{name} = {shown(value)} is out of range; write {wanted}")
    return value


def powers_of_two(limit: int) -> list[int]:
    """1, 2, 4, ... up to the limit."""
    return [1 << exponent for exponent in range(limit.bit_length())]

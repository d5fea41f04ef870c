"""One shape of native functions: the same arguments, bounds and words whatever the backend."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from backends import Backend, backend
from pyharness.kernels import entropy_finish, entropy_merge, entropy_states, place
from pyharness.types import InputError

__all__ = ["backend"]  # the fixture

LOGITS = np.array([[0.0, 1.0, 3.0], [2.0, 2.0, -1.0]], np.float32)
INSIDE = (1e-30, 1e-3, 1.0, 1e30)
OUTSIDE = (0.0, -1.0, 9e-31, 1.1e30, float("nan"), float("inf"))


def native(backend: Backend) -> Any:
    return place.MODULES["cuda" if backend.kind == "cuda" else "cpu"]()


def memory(backend: Backend) -> dict[str, Any]:
    """The options of a call of this backend's module."""
    if backend.kind == "core":
        return {}
    return {"allocate": lambda size, purpose: backend.put(np.zeros(size, np.uint8))}


def calls(backend: Backend, temperature: float) -> list[Callable[[], None]]:
    """Every native function that takes a temperature."""
    module, logits, options = native(backend), backend.put(LOGITS), memory(backend)
    states, other = (backend.put(np.zeros((2, 8), np.float32)) for _ in range(2))
    result = backend.put(np.zeros(2, np.float32))
    options = {"temperature": temperature, **options}
    return [
        lambda: module.entropy(logits, None, entropy=result, **options),
        lambda: module.entropy_states(logits, None, states, **options),
        lambda: module.entropy_merge(states, other, **options),
        lambda: module.entropy_finish(states, entropy=result, **options),
    ]


@pytest.mark.parametrize("temperature", OUTSIDE)
def test_temperatures_outside_the_bounds_are_refused(backend: Backend, temperature: float) -> None:
    text = f"temperature.*1e-30.*1e30.*{re.escape(f'{temperature:g}')}"
    for call in calls(backend, temperature):
        with pytest.raises(ValueError, match=text):
            call()


@pytest.mark.parametrize("temperature", INSIDE)
def test_temperatures_at_the_bounds_give_the_reference_s_numbers(backend: Backend, temperature: float) -> None:
    from pyharness import _core

    for call in calls(backend, temperature):
        call()
    expected, result = np.zeros(2), backend.put(np.zeros(2, np.float32))
    _core.entropy_reference(LOGITS, temperature=temperature, entropy=expected)
    native(backend).entropy(backend.put(LOGITS), None, entropy=result, temperature=temperature, **memory(backend))
    np.testing.assert_allclose(backend.get(result), expected, atol=2e-6)


@pytest.mark.parametrize(("first", "columns"), [(-1, 3), (2**31 - 3, 3), (0, 0)])
def test_columns_are_ids(backend: Backend, first: int, columns: int) -> None:
    module, states = native(backend), backend.put(np.zeros((2, 8), np.float32))
    logits = backend.put(np.zeros((2, columns), np.float32))
    text = f"logits must have 1 to 2147483647 columns, not {columns} from column {first} on"
    with pytest.raises(ValueError, match=text):
        module.entropy_states(logits, None, states, first_column=first, **memory(backend))


def test_options_of_another_backend_are_refused(backend: Backend) -> None:
    other = {"stream": 1} if backend.kind == "core" else {"threads": 2}
    with pytest.raises(TypeError, match=f"unknown option '{next(iter(other))}'; known: "):
        native(backend).check_targets(backend.put(np.zeros(2, np.int64)), 3, **memory(backend), **other)


def test_options_of_another_type_are_refused(backend: Backend) -> None:
    options, text = ({"threads": 2.5}, "threads.*float")
    if backend.kind != "core":
        options, text = ({"stream": 2.5}, "stream.*float")
    with pytest.raises(TypeError, match=text):
        native(backend).check_targets(backend.put(np.zeros(2, np.int64)), 3, **memory(backend), **options)


def test_a_call_without_the_memory_it_needs_says_so(backend: Backend) -> None:
    if backend.kind == "core":
        pytest.skip("the core needs none")
    with pytest.raises(ValueError, match=r"8 bytes.*targets.*allocate"):
        native(backend).check_targets(backend.put(np.zeros(2, np.int64)), 3)


def test_states_that_are_not_aligned_are_refused(backend: Backend) -> None:
    flat = np.zeros(2 * 8 + 5, np.float32)
    first = next(at for at in range(4) if flat[at:].ctypes.data % 16 == 4)
    odd = backend.put(flat)[first : first + 16].reshape(2, 8)
    states = entropy_states(backend.put(LOGITS))
    for call in (lambda: entropy_finish(odd), lambda: entropy_merge(states, odd), lambda: entropy_merge(odd, states)):
        with pytest.raises(InputError, match=r"aligned.* 16 bytes"):
            call()
    with pytest.raises(ValueError, match=r"states .*aligned.* 16 bytes"):
        native(backend).entropy_merge(odd, states, **memory(backend))


@pytest.mark.parametrize(
    ("offsets", "weights", "message"),
    [
        ([1, 4], None, r"offsets .* 0\b"),
        ([0, 3, 2, 4], None, r"offsets\[2\] = 2 .*3"),
        ([0, 3], None, r"offsets .* 4\b.* 3\b"),
        ([0, 2, 4], [1, -1], r"weights\[1\] = -1\b"),
        ([0, 2, 4], [1], r"weights .* 2\b.* 1\b"),
        ([], None, "offsets .*one value"),
        ([0, 2, 4], [[1, 1]], "weights .*dimension"),
        ([0, 4], [2**63 - 1], "weighted.*pairs.*64 bits"),
    ],
)
def test_segments_are_checked_in_the_same_words(
    backend: Backend, offsets: list[int], weights: list[Any] | None, message: str
) -> None:
    ends = backend.put(np.array(offsets, np.int64))
    times = None if weights is None else backend.put(np.array(weights, np.int64))
    with pytest.raises(ValueError, match=message):
        native(backend).check_segments(ends, times, 4, **memory(backend))

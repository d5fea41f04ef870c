"""Arrays of other libraries: what is missing or refused is said, results are of the same library."""

from __future__ import annotations

import gc
import sys
import weakref
from typing import Any

import numpy as np
import pytest

from backends import Bfloat16Array
from pyharness import _core
from pyharness.kernels import arrays, entropy
from pyharness.kernels.arrays import describe
from pyharness.kernels.entropy import OUTPUTS
from pyharness.types import InputError, Unsupported

LOGITS = np.zeros((3, 5), np.float32)
IDS = np.zeros(3, np.int64)


def test_out_of_memory_says_how_much(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing_left(*_: Any) -> Any:
        raise MemoryError

    monkeypatch.setattr(arrays.Library, "empty", nothing_left)
    with pytest.raises(MemoryError, match=r"entropy .*\b12 bytes.*cpu.* [0-9,]+ "):
        entropy(LOGITS)


def test_other_failures_are_not_taken_for_missing_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """torch reports both as RuntimeError, and failures of earlier kernels wherever it is next asked."""

    def failing(message: str) -> None:
        def empty(*_: Any) -> Any:
            raise RuntimeError(message)

        monkeypatch.setattr(arrays.Library, "empty", empty)

    for message in ("CUDA out of memory. Tried to allocate", "DefaultCPUAllocator: can't allocate memory: you tried"):
        failing(message)
        with pytest.raises(MemoryError, match="needs 12 bytes"):
            entropy(LOGITS)
    failing("CUDA error: an illegal memory access was encountered")
    with pytest.raises(RuntimeError, match="illegal memory access"):
        entropy(LOGITS)


def test_no_cupy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(Unsupported, match=r"cupy.*'pyharness\[cuda\]'"):
        arrays.library_of(LOGITS, arrays.Device(is_cuda=True, number=0))


def test_instruction_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _core.instruction_sets()[0] == "portable"
    monkeypatch.setenv("PYHARNESS_ISA", "portable")
    assert _core.instruction_set() == "portable"
    monkeypatch.setenv("PYHARNESS_ISA", "sse9")
    with pytest.raises(ValueError, match=r"PYHARNESS_ISA=sse9 .*portable"):
        entropy(LOGITS)
    monkeypatch.setenv("PYHARNESS_ISA", "")
    assert _core.instruction_set() == _core.instruction_sets()[-1]


def test_results_are_of_the_same_library() -> None:
    assert all(type(getattr(entropy(LOGITS, targets=IDS, outputs=OUTPUTS), name)) is np.ndarray for name in OUTPUTS)
    assert type(entropy(Bfloat16Array(np.zeros((3, 5), np.uint16))).entropy) is np.ndarray


def test_read_only_logits_are_fine() -> None:
    logits = LOGITS.copy()
    logits.flags.writeable = False
    np.testing.assert_allclose(entropy(logits).entropy, np.log(5), rtol=1e-6)


def test_native_byte_order_may_be_named() -> None:
    named = LOGITS.view(LOGITS.dtype.newbyteorder("<" if sys.byteorder == "little" else ">"))
    np.testing.assert_allclose(entropy(named).entropy, np.log(5), rtol=1e-6)


def test_addresses_of_an_array() -> None:
    array = np.zeros((4, 6), np.float32)
    start = array.__array_interface__["data"][0]
    assert describe(array, "it").extent == range(start, start + 96)
    assert describe(array[::-1, 1:3], "it").extent == range(start + 4, start + 84)
    assert not describe(array[:0], "it").extent


def test_views_keep_nothing_alive() -> None:
    """Neither the array nor the capsule of a foreign library outlives the call."""
    bits = np.zeros((3, 5), np.uint16)
    gone = weakref.ref(bits)
    before = sys.getrefcount(bits)
    entropy(Bfloat16Array(bits))
    assert sys.getrefcount(bits) == before
    del bits
    gc.collect()
    assert gone() is None


class Refusing:
    """A library that does not hand its array out."""

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __dlpack__(self, **_: Any) -> Any:
        raise BufferError("it is lazy; compute it first")


def test_the_library_s_reason_is_passed_on() -> None:
    with pytest.raises(InputError, match=r"logits .*it is lazy; compute it first"):
        entropy(Refusing())

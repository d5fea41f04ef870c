"""Arguments of entropy kernels that do not fit: one line each, before anything is computed."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from backends import Backend, address_in
from pyharness.kernels import EntropyOutputs, entropy, entropy_states, linear_entropy
from pyharness.types import InputError

LOGITS = np.zeros((3, 5), np.float32)
IDS = np.zeros(3, np.int64)


def floats(size: int = 3) -> Any:
    return np.zeros(size, np.float32)


def read_only() -> Any:
    array = floats()
    array.flags.writeable = False
    return array


@dataclass(frozen=True)
class OddArray:
    """A producer whose DLTensor says something unusual: ``change`` edits it."""

    change: Callable[[int], None]
    shape: tuple[int, ...] = (3, 5)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __dlpack__(self, **_: Any) -> Any:
        capsule = np.zeros(self.shape, np.float32, order="F").__dlpack__()  # in C order strides may be left out
        self.change(address_in(capsule, b"dltensor"))
        return capsule


def on_metal(tensor: int) -> None:
    ctypes.c_int32.from_address(tensor + 8).value = 8


def without_bits(tensor: int) -> None:
    ctypes.c_uint8.from_address(tensor + 21).value = 0


def shaped(*lengths: int) -> Callable[[int], None]:
    """These lengths, all with stride 0."""

    def change(tensor: int) -> None:
        for field, values in ((24, lengths), (32, (0,) * len(lengths))):
            first = ctypes.c_uint64.from_address(tensor + field).value
            for axis, value in enumerate(values):
                ctypes.c_int64.from_address(first + 8 * axis).value = value

    return change


@dataclass(frozen=True)
class FlaggedArray:
    """An array whose capsule of DLPack 1 has these flags."""

    array: Any
    flags: int

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __dlpack__(self, **_: Any) -> Any:
        capsule = self.array.__dlpack__(max_version=(1, 0))
        ctypes.c_uint64.from_address(address_in(capsule, b"dltensor_versioned") + 24).value = self.flags
        return capsule


@pytest.mark.parametrize(
    ("logits", "message"),
    [
        ([[1.0, 2.0]], "logits .*DLPack.*list"),
        (np.zeros(5, np.float32), r"logits .*\[rows, vocabulary\].* 1\b"),
        (np.zeros((2, 3, 5), np.float32), r"logits .*\[rows, vocabulary\].* 3\b"),
        (np.zeros((3, 5)), "logits .*float32, float16, bfloat16.*float64"),
        (np.zeros((3, 5), np.int32), r"logits .*\bint32"),
        (np.zeros((3, 5), np.complex64), "logits .*complex64"),
        (np.zeros((3, 5), ">f4"), "byte order"),
        (np.zeros((3, 5), "S4"), "numbers"),
        (np.zeros((5, 3), np.float32).T, r"logits .*stride.* 3\b"),
        (np.zeros((3, 10), np.float32)[:, ::2], r"logits .*stride.* 2\b"),
        (np.zeros((3, 0), np.float32), r"columns.* 0\b"),
        (np.zeros(62, np.uint8)[1:61].view(np.float32).reshape(3, 5), "aligned"),
        (np.zeros((3, 5), np.clongdouble), "128 bits.*complex256"),
        (OddArray(on_metal), r"DLPack type 8\b.*CUDA"),
        (OddArray(without_bits), r"\b0 bits"),
        # Products that wrap around to a small number would pass for small arrays.
        (OddArray(shaped(2**34, 2**30)), "lengths.*product"),
        (OddArray(shaped(0, 2**34, 2**30), (3, 5, 1)), "lengths.*product"),
        (OddArray(shaped(-3, 5)), r"lengths from 0\b"),
    ],
)
def test_logits(logits: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        entropy(logits)


def test_too_many_columns() -> None:
    logits = np.lib.stride_tricks.as_strided(np.zeros(1, np.float32), (1, 2**31), (0, 4))
    with pytest.raises(InputError, match="1 to 2147483647 columns, not 2147483648"):
        entropy(logits)


@pytest.mark.parametrize(
    ("targets", "message"),
    [
        (np.zeros(2, np.int64), r"targets .*\[3\].*\[2\]"),
        (np.zeros((3, 1), np.int64), r"targets .*\[3\]"),
        (np.zeros(3, np.uint32), "targets .*int64.*uint32"),
        (np.zeros(3), "targets .*int64.*float64"),
        (np.zeros(6, np.int64)[::2], r"targets .*stride.* 2\b"),
        ([0, 0, 0], "targets .*list"),
    ],
)
def test_targets(targets: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        entropy(LOGITS, targets=targets, outputs=("nll",))


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize(("row", "identifier"), [(0, -1), (2, 5), (1, 2**31 - 1), (1, -(2**31))])
def test_targets_outside_the_vocabulary(backend: Backend, dtype: type, row: int, identifier: int) -> None:
    targets: NDArray[Any] = np.zeros(3, dtype)
    targets[row] = identifier
    if row == 1:
        targets[2] = 99  # the first one is named
    with pytest.raises(InputError, match=rf"targets\[{row}\] = {identifier} .*0\.\.4"):
        entropy(backend.put(LOGITS), targets=backend.put(targets))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"outputs": ("entropy", "perplexity")}, "'perplexity'.*entropy, log_sum_exp, nll"),
        ({"outputs": ()}, "outputs"),
        ({"outputs": ("nll",)}, "nll.*targets"),
        ({"unit": "bans"}, "unit 'bans'.*nats, bits"),
        ({"stream": 7}, "stream.*CUDA.*CPU"),
        ({"temperature": 0.0}, r"temperature.* 0\b"),
        ({"temperature": -1.0}, r"temperature.* -1\b"),
        ({"temperature": float("nan")}, "temperature.*1e-30.*1e30.*nan"),
        ({"temperature": float("inf")}, "temperature.* inf"),
        ({"temperature": 1e-31}, "temperature.* 1e-31"),
    ],
)
def test_options(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        entropy(LOGITS, **arguments)


@pytest.mark.parametrize("threads", [0, -1, 1025])
def test_threads(threads: int) -> None:
    for call in (entropy, entropy_states, partial(linear_entropy, weight=LOGITS)):
        with pytest.raises(InputError, match=r"threads .*1\.\.1024"):
            call(LOGITS, threads=threads)


@pytest.mark.parametrize(
    ("out", "message"),
    [
        (EntropyOutputs(), "out.*nothing.*entropy"),
        (EntropyOutputs(margin=floats()), "out.*margin.*entropy"),
        (EntropyOutputs(entropy=floats(), margin=floats()), "out.*entropy, margin.*entropy"),
        (EntropyOutputs(entropy=floats(4)), r"out\.entropy.*\[3\].*\[4\]"),
        (EntropyOutputs(entropy=np.zeros(3)), r"out\.entropy.*float32.*float64"),
        (EntropyOutputs(entropy=floats(6)[::2]), r"out\.entropy.*contiguous"),
        (EntropyOutputs(entropy=read_only()), r"out\.entropy.*read-only"),
        (EntropyOutputs(entropy=[0.0] * 3), r"out\.entropy.*list"),
        (floats(), "EntropyOutputs.*ndarray"),
    ],
)
def test_out(out: EntropyOutputs, message: str) -> None:
    with pytest.raises(InputError, match=message):
        entropy(LOGITS, out=out)


def test_out_for_argmax_is_int64() -> None:
    with pytest.raises(InputError, match=r"out\.argmax.*int64.*int32"):
        entropy(LOGITS, outputs="argmax", out=EntropyOutputs(argmax=np.zeros(3, np.int32)))


@pytest.mark.parametrize("flags", [1, 2])
def test_out_that_would_be_lost(flags: int) -> None:
    """DLPack's flags: read-only, and a copy that the library made for us."""
    if np.lib.NumpyVersion(np.__version__) < "2.1.0":
        pytest.skip("this NumPy has no versioned capsules")
    out = floats()
    entropy(LOGITS, out=EntropyOutputs(entropy=FlaggedArray(out, 0)))
    assert out.tolist() == pytest.approx([np.log(5)] * 3)
    with pytest.raises(InputError, match=r"out\.entropy.*read-only"):
        entropy(LOGITS, out=EntropyOutputs(entropy=FlaggedArray(out, flags)))


def test_out_that_shares_memory() -> None:
    room = np.zeros(40, np.float32)
    logits, both = room[:15].reshape(3, 5), ("entropy", "margin")
    with pytest.raises(InputError, match=r"out\.entropy.*memory.*logits"):
        entropy(logits, out=EntropyOutputs(entropy=room[14:17]))
    with pytest.raises(InputError, match=r"out\.entropy.*memory.*logits"):
        entropy(logits[::-1], out=EntropyOutputs(entropy=room[:3]))
    with pytest.raises(InputError, match=r"out\.entropy.*memory.*out\.margin"):
        entropy(logits, outputs=both, out=EntropyOutputs(entropy=room[15:18], margin=room[17:20]))
    with pytest.raises(InputError, match=r"out\.argmax.*memory.*targets"):
        entropy(logits, targets=IDS, outputs="argmax", out=EntropyOutputs(argmax=IDS))
    results = entropy(logits, outputs=both, out=EntropyOutputs(entropy=room[15:18], margin=room[18:21]))
    assert results.entropy.tolist() == pytest.approx([np.log(5)] * 3)


def test_native_checks_of_memory(backend: Backend) -> None:
    """The face has looked already; a wrong call must still not leave its arrays."""
    from pyharness.kernels import place

    module: Any = place.MODULES["cuda" if backend.kind == "cuda" else "cpu"]()
    memory: dict[str, Any] = {}
    if backend.kind != "core":
        memory["allocate"] = lambda size, purpose: backend.put(np.zeros(size, np.uint8))
    logits, result = backend.put(LOGITS), backend.put(floats())
    for arguments, message in (
        ({"entropy": backend.put(floats(2))}, "entropy"),
        ({"entropy": backend.put(np.zeros(3, np.int32))}, "entropy"),
        ({"argmax": backend.put(floats())}, "argmax"),
        ({"targets": backend.put(np.zeros(2, np.int64)), "entropy": result}, "targets"),
        ({"targets": backend.put(np.zeros(3, np.int16)), "entropy": result}, "targets"),
        ({"nll": result}, "targets"),
    ):
        with pytest.raises((ValueError, TypeError), match=message):
            module.entropy(logits, **memory, **arguments)
    for bad in (LOGITS[0], LOGITS.T, LOGITS.astype(np.float64)):
        with pytest.raises((ValueError, TypeError), match="logits"):
            module.entropy(backend.put(bad), entropy=result, **memory)
    with pytest.raises((ValueError, TypeError), match="states"):
        module.entropy_states(logits, None, backend.put(np.zeros((2, 8), np.float32)), **memory)
    states = backend.put(np.zeros((3, 8), np.float32))
    with pytest.raises((ValueError, TypeError), match="other"):
        module.entropy_merge(states, backend.put(np.zeros((2, 8), np.float32)))

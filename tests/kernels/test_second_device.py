"""Arrays on the second of two GPUs: results, workspaces, streams and the device of the call follow them.

The library and the kernels are stand-ins that note what they are asked for; test_kernel_devices.py has a test for where
there are two.
"""

from __future__ import annotations

import ctypes
import sys
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from backends import address_in
from pyharness.kernels import entropy, pair_histogram, place
from pyharness.types import InputError

DLPACK_CUDA = 2
DEVICE_OFFSET = 8  # of DLTensor: data 8 bytes, then the type of the device and its number


class OnDevice:
    """An array in host memory that says it is on a GPU."""

    def __init__(self, array: Any, device: int) -> None:
        self.array, self.device = array, device

    def __len__(self) -> int:
        return len(self.array)

    def __dlpack_device__(self) -> tuple[int, int]:
        return DLPACK_CUDA, self.device

    def __dlpack__(self, stream: int | None = None) -> Any:
        capsule = self.array.__dlpack__()
        place_of_device = address_in(capsule, b"dltensor") + DEVICE_OFFSET
        ctypes.memmove(place_of_device, np.array(self.__dlpack_device__(), np.int32).ctypes.data, 8)
        return capsule


@dataclass
class Driver:
    """Two devices, of which one is current, as cupy and the kernels see them."""

    current: int = 0
    calls: list[tuple[Any, ...]] = field(default_factory=list)

    def on(self, device: int) -> Any:
        """``cupy.cuda.Device(device)``."""
        driver = self

        class Within:
            def __enter__(self) -> None:
                self.before, driver.current = driver.current, device

            def __exit__(self, *_: object) -> None:
                driver.current = self.before

        return Within()

    def stream(self) -> Any:
        """The current stream of the current device: its handle tells the device."""
        return SimpleNamespace(ptr=100 + self.current)

    def empty(self, shape: tuple[int, ...], dtype: str) -> OnDevice:
        return OnDevice(np.empty(shape, dtype), self.current)

    def cupy(self) -> SimpleNamespace:
        pool = SimpleNamespace(free_bytes=lambda: 0)
        cuda = SimpleNamespace(
            Device=self.on,
            get_current_stream=self.stream,
            runtime=SimpleNamespace(memGetInfo=lambda: (1 << 30, 1 << 30)),
        )
        return SimpleNamespace(
            cuda=cuda, empty=self.empty, ndarray=OnDevice, get_default_memory_pool=lambda: pool, __version__="0"
        )

    def kernels(self) -> SimpleNamespace:
        return SimpleNamespace(
            is_capturing=lambda stream: False,
            entropy=lambda logits, targets, **options: self.calls.append(("entropy", options)),
            PairCounter=lambda method, allocate, device, tuning: Counter(self, allocate, device),
        )


@dataclass
class Counter:
    """Notes the device that it is made for, and where its memory is."""

    driver: Driver
    allocate: Any
    device: int

    def add(self, tokens: Any, first: int, offsets: Any, weights: Any, stream: int) -> None:
        self.driver.calls.append(("add", self.device, self.allocate(16, "a test").device, stream))

    def order(self, stream: int, ordered: bool) -> int:
        return 2

    def write(self, left: Any, right: Any, count: Any, stream: int) -> None:
        self.driver.calls.append(("write", left.device, right.device, count.device, stream))


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Driver:
    driver = Driver()
    monkeypatch.setitem(sys.modules, "cupy", driver.cupy())
    monkeypatch.setitem(place.MODULES, "cuda", lambda device: driver.kernels())
    return driver


def test_results_and_stream_are_the_second_device_s(driver: Driver) -> None:
    found = entropy(OnDevice(np.zeros((3, 40), np.float32), 1))
    ((name, options),) = driver.calls
    assert (name, options["stream"]) == ("entropy", 101)
    assert options["entropy"] is found.entropy
    assert found.entropy.device == 1
    assert options["allocate"](64, "a test").device == 1
    assert driver.current == 0


def test_pairs_are_counted_where_they_are(driver: Driver) -> None:
    histogram: Any = pair_histogram(OnDevice(np.arange(9, dtype=np.uint32), 1))
    assert driver.calls == [("add", 1, 1, 101), ("write", 1, 1, 1, 101)]
    assert histogram.count.device == 1
    assert driver.current == 0


def test_arrays_of_two_devices_are_refused(driver: Driver) -> None:
    logits = OnDevice(np.zeros((3, 40), np.float32), 1)
    targets = OnDevice(np.zeros(3, np.int64), 0)
    with pytest.raises(InputError, match=r"targets.*cuda:0.*logits.*cuda:1"):
        entropy(logits, targets=targets, outputs=("nll",))
    with pytest.raises(InputError, match=r"offsets.*cuda:0.*tokens.*cuda:1"):
        pair_histogram(OnDevice(np.arange(9, dtype=np.uint32), 1), OnDevice(np.array([0, 9]), 0))


def test_a_stream_of_the_other_device_is_refused(driver: Driver) -> None:
    stream = SimpleNamespace(device_id=0, ptr=7)
    for call in (
        lambda: entropy(OnDevice(np.zeros((3, 40), np.float32), 1), stream=stream),
        lambda: pair_histogram(OnDevice(np.arange(9, dtype=np.uint32), 1), stream=stream),
    ):
        with pytest.raises(InputError, match=r"stream.*cuda:0.*arrays.*cuda:1"):
            call()
    assert driver.calls == []

"""Which devices there are, why there are none, and what the built modules look like from outside."""

from __future__ import annotations

import importlib
import importlib.util
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from pyharness.kernels import devices, entropy, pair_histogram
from pyharness.kernels.arrays import Device
from pyharness.kernels.devices import CudaUnavailable, cuda_reason, device_info, require_cuda
from pyharness.kernels.place import module_for
from pyharness.types import Unsupported

ROOT = Path(__file__).parents[2]
OURS = re.compile(r"_Z(T[ISV])?NK?[0-9]+(pyharness|pybind11)|_*cu(da)?[A-Z]")
NO_DRIVER = "no NVIDIA driver was found (this build uses CUDA 13.0)"


@pytest.fixture(autouse=True)
def _forget_the_module() -> Iterator[None]:
    for known in (devices._load, devices._too_old):
        known.cache_clear()
    yield
    for known in (devices._load, devices._too_old):
        known.cache_clear()


def built(name: str) -> ModuleType:
    if importlib.util.find_spec(f"pyharness.{name}") is None:
        pytest.skip(f"pyharness.{name} is not built")
    return importlib.import_module(f"pyharness.{name}")


def pretend(monkeypatch: pytest.MonkeyPatch, reason: str | None) -> None:
    """Put a module in place of ``_cuda`` that reports ``reason``."""
    module = SimpleNamespace(why_unavailable=lambda: reason, device_info=built("_emulated").device_info)
    monkeypatch.setitem(sys.modules, "pyharness._cuda", module)


def test_a_build_without_cuda_says_how_to_get_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyharness._cuda", None)
    reason = cuda_reason()
    assert reason is not None
    assert "PYHARNESS_CUDA=ON" in reason
    with pytest.raises(CudaUnavailable, match="PYHARNESS_CUDA=ON"):
        require_cuda()


def test_an_extension_that_does_not_load_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(name: str) -> ModuleType:
        raise ImportError("undefined symbol: cudaNothing")

    monkeypatch.setattr(importlib, "import_module", fail)
    assert str(cuda_reason()).endswith("undefined symbol: cudaNothing")


def test_the_reason_of_the_driver_is_handed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, NO_DRIVER)
    assert cuda_reason() == NO_DRIVER
    with pytest.raises(CudaUnavailable, match="no NVIDIA driver"):
        require_cuda()
    with pytest.raises(CudaUnavailable, match="no NVIDIA driver"):
        device_info()


def test_a_case_that_needs_cuda_is_skipped_not_failed() -> None:
    assert issubclass(CudaUnavailable, Unsupported)


def test_facts_of_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, None)
    assert cuda_reason() is None
    assert require_cuda() is sys.modules["pyharness._cuda"]
    info = device_info(0)
    assert (info.index, info.name, info.driver_version) == (0, "emulator", "0.0")
    with pytest.raises(ValueError, match="one device"):
        device_info(1)


def test_a_device_that_is_too_old_is_refused_and_another_one_works(monkeypatch: pytest.MonkeyPatch) -> None:
    facts = [{"name": "Old GPU", "compute_capability": (7, 5)}, {"name": "GPU", "compute_capability": (10, 0)}]
    module = SimpleNamespace(why_unavailable=lambda: None, device_info=facts.__getitem__)
    monkeypatch.setitem(sys.modules, "pyharness._cuda", module)
    assert re.search(r"cuda:0 \(Old GPU\).*7\.5.*8\.0", str(cuda_reason(0)))
    with pytest.raises(CudaUnavailable, match=r"cuda:0 \(Old GPU\).*7\.5"):
        module_for(Device(is_cuda=True, number=0))
    assert cuda_reason(1) is None
    assert module_for(Device(is_cuda=True, number=1)) is module


def test_importing_and_asking_needs_no_driver() -> None:
    built("_cuda")
    script = (
        "from pyharness import _cuda\n"
        "count, reason = _cuda.device_count(), _cuda.why_unavailable()\n"
        "assert count >= 0\n"
        "assert (count == 0) == (reason is not None), reason\n"
    )
    subprocess.run([sys.executable, "-P", "-c", script], check=True, env={"CUDA_VISIBLE_DEVICES": ""})


def test_without_a_device_every_question_has_a_plain_answer() -> None:
    cuda = built("_cuda")
    if cuda.device_count():
        pytest.skip("a device is here")
    with pytest.raises(ValueError, match=r"device 0\b"):
        cuda.device_info(0)


@pytest.mark.cuda
def test_facts_of_a_real_device() -> None:
    if cuda_reason() is not None:
        pytest.skip(f"no CUDA: {cuda_reason()}")
    info = device_info(0)
    assert info.name
    assert info.compute_capability >= (8, 0)
    assert info.multiprocessors > 0
    assert info.l2_bytes > 1 << 20
    assert 0 < info.free_bytes <= info.memory_bytes
    assert info.memory_bus_bits > 0
    with pytest.raises(ValueError, match=r"device 99\b"):
        device_info(99)


@pytest.mark.cuda
def test_the_second_of_two_real_devices() -> None:
    torch = pytest.importorskip("torch")
    if cuda_reason() is not None or torch.cuda.device_count() < 2:
        pytest.skip("there are no two GPUs here")
    logits = torch.randn(8, 100_000)
    found = entropy(logits.cuda(1)).entropy
    assert found.device.index == 1
    torch.testing.assert_close(found.cpu(), entropy(logits).entropy, atol=2e-6, rtol=0)
    ids = torch.arange(100_000, dtype=torch.int32) % 97
    histogram: Any = pair_histogram(ids.cuda(1))
    assert histogram.count.device.index == 1
    assert histogram.count.sum().item() == 99_999


@pytest.mark.parametrize("name", ["_core", "_cuda", "_emulated"])
def test_a_module_exports_nothing_of_its_parts(name: str) -> None:
    """Another extension in the process may hold another CUDA runtime or another pybind11."""
    path = built(name).__file__
    nm = shutil.which("nm")
    if nm is None or path is None:
        pytest.skip("nm is missing")
    text = subprocess.run([nm, "-D", "--defined-only", path], capture_output=True, text=True, check=True).stdout
    exported = {line.split()[-1] for line in text.splitlines()}
    assert f"PyInit_{name}" in exported
    assert [symbol for symbol in exported if OURS.match(symbol)] == []

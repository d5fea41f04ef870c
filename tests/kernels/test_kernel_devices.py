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

import pytest

from pyharness.kernels.arrays import devices
from pyharness.kernels.arrays.devices import CudaUnavailable, cuda_reason, device_info, require_cuda
from pyharness.types import Unsupported

ROOT = Path(__file__).parents[2]
OURS = re.compile(r"_Z(T[ISV])?NK?[0-9]+(pyharness|pybind11)|_*cu(da)?[A-Z]")
NO_DRIVER = "no NVIDIA driver was found (this build uses CUDA 13.0)"


@pytest.fixture(autouse=True)
def _forget_the_module() -> Iterator[None]:
    devices._load.cache_clear()
    yield
    devices._load.cache_clear()


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
    with pytest.raises(CudaUnavailable, match="no CUDA kernels"):
        require_cuda()


def test_an_extension_that_does_not_load_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(name: str) -> ModuleType:
        raise ImportError("undefined symbol: cudaNothing")

    monkeypatch.setattr(importlib, "import_module", fail)
    assert cuda_reason() == "the CUDA kernels cannot be loaded: undefined symbol: cudaNothing"


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
        pytest.skip("there is a device here")
    with pytest.raises(ValueError, match="there is no CUDA device 0"):
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
    with pytest.raises(ValueError, match="there is no CUDA device 99"):
        device_info(99)


@pytest.mark.parametrize("name", ["_core", "_cuda", "_emulated"])
def test_a_module_exports_nothing_of_its_parts(name: str) -> None:
    """Another extension in the process may hold another CUDA runtime or another pybind11."""
    path = built(name).__file__
    nm = shutil.which("nm")
    if nm is None or path is None:
        pytest.skip("nm is not on the PATH")
    text = subprocess.run([nm, "-D", "--defined-only", path], capture_output=True, text=True, check=True).stdout
    exported = {line.split()[-1] for line in text.splitlines()}
    assert f"PyInit_{name}" in exported
    assert [symbol for symbol in exported if OURS.match(symbol)] == []


def check_sass() -> ModuleType:
    spec = importlib.util.spec_from_file_location("check_sass", ROOT / "bench" / "device" / "check_sass.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["check_sass"] = module
    spec.loader.exec_module(module)
    return module


def listing(loads: int, arithmetic: int, early: int, registers: int = 32) -> str:
    """Disassemble an imaginary kernel: a loop of ``loads`` loads, ``early`` of them before the first exponential."""
    loop = ["LDG.E.EF.128 R4, desc[UR8][R4.64]"] * early + ["MUFU.EX2 R1, R2"]
    loop += ["LDG.E.EF.128 R4, desc[UR8][R4.64]"] * (loads - early) + ["FADD R1, R1, R2"] * (arithmetic - 1)
    body = ["MOV R1, R2", *loop, "@P0 BRA 0x10", "EXIT"]
    name = "_ZN12_GLOBAL__N_112entropy_rowsI13__nv_bfloat16Lb0EEEvi"
    lines = [f"        /*{16 * index:04x}*/                   {text} ;" for index, text in enumerate(body)]
    resources = [f" Function {name}:", f"  REG:{registers} STACK:0 SHARED:1280 LOCAL:0 CONSTANT[0]:704"]
    return "\n".join(["\tcode for sm_90", f"\t\tFunction : {name}", *lines, *resources])


def test_instructions_are_counted_from_the_loop_only() -> None:
    sass = check_sass()
    (loop,) = sass.entropy_loops(listing(loads=4, arithmetic=283, early=4))
    assert (loop.architecture, loop.element, loop.outputs) == ("sm_90", "bfloat16", "entropy")
    assert (loop.instructions, loop.elements, loop.per_element) == (288, 32, 9.0)
    assert (loop.registers, loop.shared, loop.threads) == (32, 1280, 2048)
    assert sass.complaint(loop) is None


def test_loads_of_states_are_no_loads_of_logits() -> None:
    """Joining parts reads 16 bytes at a time in a loop, too, and a shorter one."""
    sass = check_sass()
    joining = ["LDG.E.128 R4, desc[UR8][R4.64]"] * 4 + ["@P0 BRA 0x2000"]
    lines = [f"        /*{0x2000 + 16 * index:04x}*/                   {text} ;" for index, text in enumerate(joining)]
    text = listing(loads=4, arithmetic=283, early=4).replace("\n Function", "\n" + "\n".join(lines) + "\n Function")
    (loop,) = sass.entropy_loops(text)
    assert (loop.instructions, loop.in_flight) == (288, 4)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        (listing(4, 284, 4), "over 9"),
        (listing(4, 283, 2), "loads in flight"),
        (listing(4, 283, 4).replace("MOV R1, R2", "STL [R1], R2"), "local memory"),
        (listing(4, 283, 4, registers=33), "fewer than 2048 threads"),
    ],
)
def test_a_slow_loop_is_a_complaint(text: str, word: str) -> None:
    sass = check_sass()
    (loop,) = sass.entropy_loops(text)
    assert word in sass.complaint(loop)


def test_the_built_kernels_are_within_their_budget(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = built("_cuda").__file__
    sass = check_sass()
    try:
        sass.disassembler()
    except FileNotFoundError as error:
        pytest.skip(str(error))
    monkeypatch.setattr(sys, "argv", ["check_sass.py", str(path)])
    assert sass.main() == 0, capsys.readouterr()

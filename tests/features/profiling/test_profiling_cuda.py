"""What the CUDA clock enqueues, in which order, with libraries that only write it down; and the same on a device."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pyharness.features.profiling import arrays
from pyharness.features.profiling.arrays import copied_bytes
from pyharness.features.profiling.cpu import Cpu
from pyharness.features.profiling.cuda import ClockWatch, Cuda, device_state, watching
from pyharness.features.profiling.libraries import CupyDevice, TorchDevice, device_library
from pyharness.features.profiling.measuring import Samples
from pyharness.features.profiling.record import Outcome, ProfileRecord
from pyharness.features.profiling.report import profile_sheets
from pyharness.features.profiling.types import Floor, Problem
from pyharness.kernels.devices import DeviceInfo, cuda_reason
from pyharness.report import to_text
from pyharness.statistics.samples import StoppingRule
from pyharness.types import Unsupported

BUS = "0000:41:00.0"
INFO = DeviceInfo(
    0, "A device", (9, 0), 132, 50_000_000, 80 << 30, 7, 1_980_000, 2_619_000, 5120, "13.0", "13.0", BUS
)  # fmt: skip


class Recorder:
    """Stands for the kernels, and for cupy and torch in turn: every call leaves a word in ``log``."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.events = iter(["start", "stop"])

    def event(self, **_: Any) -> Any:
        name = next(self.events)
        return SimpleNamespace(
            record=lambda: self.log.append(name),
            synchronize=lambda: self.log.append(f"wait for {name}"),
            elapsed_time=lambda stop: 1500.0,
        )

    def note(self, *words: str) -> Any:
        return lambda *given: self.log.append(" ".join((*words, *given)))

    def copied(self, target: Any, source: Any) -> None:
        self.log.append(f"copy {len(source)} bytes to {len(target)}")

    def kernels(self) -> Any:
        return SimpleNamespace(
            add_words=lambda words, total: self.log.append(f"read {words.nbytes} bytes"),
            hold=lambda cycles: self.log.append("hold"),
        )

    def cupy(self) -> CupyDevice:
        runtime = SimpleNamespace(memGetInfo=lambda: (7, 9), deviceSynchronize=self.note("wait"))
        nvtx = SimpleNamespace(RangePush=self.note("push"), RangePop=self.note("pop"))
        cuda = SimpleNamespace(
            runtime=runtime, nvtx=nvtx, Event=self.event, get_elapsed_time=lambda start, stop: start.elapsed_time(stop)
        )
        pool = SimpleNamespace(free_all_blocks=self.note("reclaim"))
        return CupyDevice(
            SimpleNamespace(
                cuda=cuda, zeros=np.zeros, copyto=self.copied, get_default_memory_pool=lambda: pool, __name__="cupy"
            )
        )

    def torch(self) -> TorchDevice:
        nvtx = SimpleNamespace(range_push=self.note("push"), range_pop=self.note("pop"))
        cuda = SimpleNamespace(
            nvtx=nvtx, synchronize=self.note("wait"), empty_cache=self.note("reclaim"), Event=self.event,
            mem_get_info=lambda: (7, 9),
        )  # fmt: skip
        recorder = self

        class Tensor(np.ndarray):
            def copy_(self, source: Any) -> None:
                recorder.copied(self, source)

        def zeros(size: int, dtype: Any, device: str) -> Any:
            assert device == "cuda"
            return np.zeros(size, dtype).view(Tensor)

        return TorchDevice(SimpleNamespace(cuda=cuda, zeros=zeros, uint8=np.uint8, uint64=np.uint64))

    def device(self, library: str = "cupy", watch: ClockWatch | None = None) -> Cuda:
        return Cuda(getattr(self, library)(), self.kernels(), INFO, watch)


@pytest.fixture(params=["cupy", "torch"])
def library(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.mark.parametrize(
    ("phase", "expected"),
    [
        ("cold", ["read 100000000 bytes", "hold", "start", "call", "stop", "wait for stop"]),
        ("warm", ["call", "hold", "start", "call", "stop", "wait for stop"]),
    ],
)
def test_events_are_close_around_the_call(phase: Any, expected: list[str], library: str) -> None:
    recorder = Recorder()
    taken = recorder.device(library).time(lambda: recorder.log.append("call"), phase)
    assert taken.seconds == 1.5
    assert recorder.log == expected


def test_the_host_is_timed_while_the_device_is_idle(monkeypatch: pytest.MonkeyPatch, library: str) -> None:
    """Before the kernel that idles: a call that waits for the device would wait for that one, too."""
    now = iter(range(9))
    monkeypatch.setattr("time.perf_counter", lambda: next(now))
    device = Recorder().device(library)
    assert device.time(lambda: None, "warm").host_seconds == 1
    assert device.time(lambda: None, "cold").host_seconds is None


@pytest.mark.parametrize(("floor", "half"), [(128, 64), (129, 64), (1, 1)])
def test_a_small_problem_is_held_against_a_copy_of_as_many_bytes(floor: int, half: int, library: str) -> None:
    recorder = Recorder()
    call, counted = recorder.device(library).copying()(floor)
    call()
    assert recorder.log == [f"copy {half} bytes to {half}"]
    assert counted == 2 * half


@pytest.mark.parametrize(("floor", "whole"), [(128, 128), (143, 128), (1, 16), (1 << 40, 1 << 31)])
def test_a_kernel_that_reads_is_held_against_a_read_of_as_many_bytes(floor: int, whole: int, library: str) -> None:
    recorder = Recorder()
    call, counted = recorder.device(library).reading()(floor)
    call()
    assert recorder.log == [f"read {whole} bytes"]
    assert counted == whole


def test_a_large_problem_is_held_against_the_largest_copy() -> None:
    assert copied_bytes(1 << 40, 1 << 30) == 1 << 30
    call, counted = Cpu(2).copying()(2000)
    call()
    assert counted == 2000


def test_a_device_without_nvidia_smi_says_that_nobody_watches(library: str) -> None:
    recorder = Recorder()
    device = recorder.device(library)
    assert not device.throttled()
    assert "50 MB" in device.notes[0]
    assert "not watched" in device.notes[1]
    assert device.free_bytes() == 7
    device.reclaim()
    assert recorder.log == ["reclaim"]


def test_a_range_lasts_as_long_as_the_work_in_it(library: str) -> None:
    recorder = Recorder()
    with recorder.device(library).range("once"):
        recorder.log.append("call")
    assert recorder.log == ["push pyharness: once", "call", "wait", "pop"]


def test_a_watch_without_readings_says_so() -> None:
    silent, reading = ClockWatch(["[N/A], [N/A]\n"]), ClockWatch(["1200, 1980\n"] * 3)
    for watch in (silent, reading):
        watch._reader.join()
    assert "not watched" in Recorder().device(watch=silent).notes[1]
    assert "3 readings" in Recorder().device(watch=reading).notes[1]


def test_ranges_are_closed_when_a_phase_fails(library: str) -> None:
    recorder = Recorder()
    with pytest.raises(KeyError), recorder.device(library).range("warm"):
        raise KeyError
    assert recorder.log == ["push pyharness: warm", "pop"]


def full(size: int, dtype: Any, device: str) -> Any:
    raise RuntimeError(f"CUDA out of memory. Tried to allocate {size} bytes")


def test_no_memory_is_one_error_of_either_library() -> None:
    cuda = SimpleNamespace(nvtx=SimpleNamespace(range_push=None, range_pop=None), synchronize=None, empty_cache=None)
    with pytest.raises(MemoryError, match="out of memory"):
        TorchDevice(SimpleNamespace(cuda=cuda, zeros=full, uint8=None)).zeros(9, "uint8")


def test_torch_serves_where_cupy_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    cuda = SimpleNamespace(
        nvtx=SimpleNamespace(range_push=None, range_pop=None), synchronize=None, empty_cache=None,
        is_available=lambda: True,
    )  # fmt: skip
    cupy = SimpleNamespace(
        cuda=SimpleNamespace(nvtx=SimpleNamespace(RangePush=None, RangePop=None), Event=None), __name__="cupy"
    )
    torch = SimpleNamespace(cuda=cuda, __name__="torch")
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    assert isinstance(device_library(), CupyDevice)
    monkeypatch.setattr(arrays, "is_installed", lambda name: False)
    assert isinstance(device_library(), TorchDevice)
    cuda.is_available = lambda: False
    monkeypatch.setattr("pyharness.plugins.libraries.is_installed", lambda name: False)
    with pytest.raises(Unsupported, match=r"profiling on CUDA needs cupy.*torch"):
        device_library()


@pytest.mark.parametrize(
    ("lines", "low"),
    [
        (["1980, 1980\n"] * 3, False),
        (["900, 1980\n"] * 3, True),
        (["1460, 1980\n"] * 3, False),  # a bf16 matrix product at the limit of power
        (["1980, 1980\n", "300, 1980\n", "1980, 1980\n"], False),  # one reading is no trend
        (["[N/A], [N/A]\n", "\n"], False),
        ([], False),
    ],
)
def test_the_median_clock_decides(lines: list[str], low: bool) -> None:
    watch = ClockWatch(lines)
    watch._reader.join()
    assert watch.was_low() is low
    assert watch.was_low() is False  # every reading counts once


def test_the_clock_at_which_samples_were_taken_is_told() -> None:
    watch = ClockWatch([])
    watch._reader.join()
    for clocks in ((1980,), (1460, 1461), (1440,), (300,)):
        watch._read([f"{clock}, 1980\n" for clock in clocks])
        watch.was_low()
    assert [int(share) for share in re.findall(r"(\d+)%", watch.about)] == [50, 74, 73]


FAKE_SMI = f"""#!{sys.executable}
import sys, time
sys.stdout.write(("600, 1980\\n" if "--loop-ms=100" in sys.argv else "580.1, 600, 1980, 2619, 2619, 90, 700, 41\\n"))
sys.stdout.flush()
assert "--id=0000:41:00.0" in sys.argv
if "--loop-ms=100" in sys.argv:
    time.sleep(60)
"""


@pytest.fixture
def nvidia_smi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    program = tmp_path / "nvidia-smi"
    program.write_text(FAKE_SMI, encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    return program


def test_nvidia_smi_is_watched_and_ended(nvidia_smi: Path) -> None:
    with watching(BUS) as watch:
        assert watch is not None
        while not watch._shares:
            pass
        assert Recorder().device(watch=watch).throttled()
        assert watch._reader.is_alive()
    watch._reader.join(timeout=10)
    assert not watch._reader.is_alive()


def test_the_state_of_a_device_is_recorded(nvidia_smi: Path) -> None:
    description = Recorder().device().describe()
    assert (description["name"], description["driver_version"]) == ("A device", "13.0")
    state = description["state"]
    assert state["driver_version"] == "580.1"
    assert state["clocks.sm"] == "600"
    record = ProfileRecord("entropy", {}, {}, StoppingRule(), description, (), {"peer": "a peer"})
    samples = {"warm": {"pyharness": Samples((1.0,)), "copy": Samples((1.0,)), "peer": Samples((1.0,))}}
    outcome = Outcome(Problem((1, 1), "fp32", "cuda", 1), "data", Floor(1, 1, 0, 1), 1, samples)  # type: ignore[arg-type]
    text = " ".join(to_text(profile_sheets(replace(record, outcomes=(outcome,)))).split())
    assert re.search(r"A device, driver 580\.1, CUDA runtime 13\.0,[^,]*13\.0", text)
    assert "SM 600 of 1980 MHz, memory 2619 of 2619 MHz, 90 of 700 W, 41 Celsius" in text


def test_a_failing_nvidia_smi_is_no_error(nvidia_smi: Path) -> None:
    nvidia_smi.write_text("#!/bin/sh\nexit 9\n", encoding="utf-8")
    assert device_state("0000:41:00.0") is None


@pytest.mark.cuda
@pytest.mark.parametrize("kernel", ["entropy", "linear_entropy", "pair_histogram"])
def test_a_profile_on_a_device(kernel: str) -> None:
    if (reason := cuda_reason()) is not None:
        pytest.skip(reason)
    shape = {"entropy": "64x1000", "linear_entropy": "64x64x1000", "pair_histogram": "1e5x1000"}[kernel]
    options = ["--device", "cuda", "--shape", shape, "--max-seconds", "1", "--json"]
    if kernel != "pair_histogram":  # a compilation of torch takes as long as all else
        options += ["--dtype", "fp32", "--without", "torch compiled"]
    command = [sys.executable, "-P", "-m", "pyharness", "profile", kernel, *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    data = json.loads(done.stdout)
    assert {one["parameters"]["phase"] for one in data["results"] if one["status"] == "ok"} == {"cold", "warm"}
    metrics = {measured["metric"] for one in data["results"] for measured in one["measurements"]}
    assert "host_seconds" in metrics
    assert ("read_share" in metrics) is (kernel == "entropy")
    assert data["profile"]["not_measured"]["problems"] == []

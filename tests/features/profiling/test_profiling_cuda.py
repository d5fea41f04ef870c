"""What the CUDA clock enqueues, in which order, with a cupy that only writes it down; and the same on a device."""

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

from pyharness.features.profiling.arrays import copied_bytes
from pyharness.features.profiling.cpu import Cpu
from pyharness.features.profiling.cuda import ClockWatch, Cuda, bus_id, device_state, watching
from pyharness.features.profiling.measuring import Samples
from pyharness.features.profiling.record import Outcome, ProfileRecord
from pyharness.features.profiling.report import profile_sheets
from pyharness.features.profiling.types import Floor, Problem
from pyharness.kernels.devices import DeviceInfo, cuda_reason
from pyharness.report import to_text
from pyharness.statistics.samples import StoppingRule

INFO = DeviceInfo(0, "A device", (9, 0), 132, 50_000_000, 80 << 30, 7, 1_980_000, 2_619_000, 5120, "13.0", "13.0")


class Recorder:
    """Stands for cupy: every call leaves a word in ``log``."""

    int64 = int

    def __init__(self) -> None:
        self.log: list[str] = []
        events = iter(["start", "stop"])
        runtime = SimpleNamespace(
            deviceGetPCIBusId=lambda device: "0000:41:00.0",
            memGetInfo=lambda: (7, 9),
            deviceSynchronize=lambda: self.log.append("wait"),
        )
        nvtx = SimpleNamespace(
            RangePush=lambda name: self.log.append(f"push {name}"), RangePop=lambda: self.log.append("pop")
        )
        self.cuda = SimpleNamespace(
            runtime=runtime,
            nvtx=nvtx,
            Event=lambda: self._event(next(events)),
            get_elapsed_time=lambda start, stop: 1500.0,
        )

    def _event(self, name: str) -> Any:
        return SimpleNamespace(
            record=lambda: self.log.append(name), synchronize=lambda: self.log.append(f"wait for {name}")
        )

    def zeros(self, size: int, dtype: str) -> Any:
        if dtype == "uint64":
            return SimpleNamespace(max=lambda: self.log.append(f"read {8 * size} bytes"))
        return np.zeros(min(size, 1 << 10), dtype)  # the copy's buffers, smaller

    def copyto(self, target: Any, source: Any) -> None:
        self.log.append(f"copy {len(source)} bytes to {len(target)}")

    def RawKernel(self, source: str, name: str) -> Any:  # noqa: N802 -- cupy's name
        assert f"void {name}(" in source
        return lambda grid, block, arguments: self.log.append(name)


@pytest.mark.parametrize(
    ("phase", "expected"),
    [
        ("cold", ["read 100000000 bytes", "hold", "start", "call", "stop", "wait for stop"]),
        ("warm", ["call", "hold", "start", "call", "stop", "wait for stop"]),
    ],
)
def test_events_are_close_around_the_call(phase: Any, expected: list[str]) -> None:
    cupy = Recorder()
    assert Cuda(cupy, INFO, None).seconds(lambda: cupy.log.append("call"), phase) == 1.5
    assert cupy.log == expected


@pytest.mark.parametrize(("floor", "half"), [(128, 64), (129, 64), (1, 1)])
def test_a_small_problem_is_held_against_a_copy_of_as_many_bytes(floor: int, half: int) -> None:
    cupy = Recorder()
    call, counted = Cuda(cupy, INFO, None).copying()(floor)
    call()
    assert cupy.log == [f"copy {half} bytes to {half}"]
    assert counted == 2 * half


def test_a_large_problem_is_held_against_the_largest_copy() -> None:
    assert copied_bytes(1 << 40, 1 << 30) == 1 << 30
    call, counted = Cpu(2).copying()(2000)
    call()
    assert counted == 2000


def test_a_device_without_nvidia_smi_says_that_nobody_watches() -> None:
    device = Cuda(Recorder(), INFO, None)
    assert not device.throttled()
    assert "50 MB" in device.notes[0]
    assert "not watched" in device.notes[1]
    assert device.free_bytes() == 7


def test_a_range_lasts_as_long_as_the_work_in_it() -> None:
    cupy = Recorder()
    with Cuda(cupy, INFO, None).range("once"):
        cupy.log.append("call")
    assert cupy.log == ["push pyharness: once", "call", "wait", "pop"]


def test_a_watch_without_readings_says_so() -> None:
    silent, reading = ClockWatch(["[N/A], [N/A]\n"]), ClockWatch(["1200, 1980\n"] * 3)
    for watch in (silent, reading):
        watch._reader.join()
    assert "not watched" in Cuda(Recorder(), INFO, silent).notes[1]
    assert "3 readings" in Cuda(Recorder(), INFO, reading).notes[1]


def test_ranges_are_closed_when_a_phase_fails() -> None:
    cupy = Recorder()
    with pytest.raises(KeyError), Cuda(cupy, INFO, None).range("warm"):
        raise KeyError
    assert cupy.log == ["push pyharness: warm", "pop"]


@pytest.mark.parametrize(
    ("lines", "low"),
    [
        (["1980, 1980\n"] * 3, False),
        (["1200, 1980\n"] * 3, True),
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
    with watching(bus_id(Recorder(), 0)) as watch:
        assert watch is not None
        while not watch._shares:
            pass
        assert Cuda(Recorder(), INFO, watch).throttled()
        assert watch._reader.is_alive()
    watch._reader.join(timeout=10)
    assert not watch._reader.is_alive()


def test_the_state_of_a_device_is_recorded(nvidia_smi: Path) -> None:
    description = Cuda(Recorder(), INFO, None).describe()
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
    command = [sys.executable, "-P", "-m", "pyharness", "profile", kernel, *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    data = json.loads(done.stdout)
    assert {one["parameters"]["phase"] for one in data["results"] if one["status"] == "ok"} == {"cold", "warm"}
    assert data["profile"]["not_measured"]["problems"] == []

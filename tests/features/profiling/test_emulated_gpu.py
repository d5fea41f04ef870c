"""Whole profiles of a GPU whose arrays are the host's and whose kernels are emulated: every step but the device."""

from __future__ import annotations

import sys
import time
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from backends import module
from pyharness import report
from pyharness.features.profiling import cuda, session
from pyharness.features.profiling.cases import as_record
from pyharness.features.profiling.kernels import pair_histogram, pair_peers
from pyharness.features.profiling.plan import plan
from pyharness.features.profiling.record import COPY, OURS, READ, Outcome
from pyharness.features.profiling.report import profile_sheets, profile_sheets_of
from pyharness.kernels import place
from pyharness.kernels.device_pairs import count_on_device
from pyharness.kernels.devices import DeviceInfo
from pyharness.statistics.samples import StoppingRule

RULE = StoppingRule(min_samples=3, min_seconds=0.0, max_noise=1e9)
INFO = DeviceInfo(0, "emulator", (8, 0), 2, 4096, 1 << 30, 1 << 30, 1, 1, 1, "13.0", "13.0", "0000:41:00.0")


class Event:
    """Of a stream that is always done."""

    def record(self) -> None:
        self.at = time.perf_counter()

    def synchronize(self) -> None:
        pass


@pytest.fixture
def _gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    native, cupy = module("_emulated"), ModuleType("cupy")
    vars(cupy).update({name: value for name, value in vars(np).items() if not name.startswith("__")})
    cupy.get_default_memory_pool = lambda: SimpleNamespace(free_all_blocks=lambda: None)  # type: ignore[attr-defined]
    cupy.cuda = SimpleNamespace(  # type: ignore[attr-defined]
        Event=Event,
        get_elapsed_time=lambda start, stop: 1e3 * (stop.at - start.at),
        nvtx=SimpleNamespace(RangePush=lambda name: None, RangePop=lambda: None),
        runtime=SimpleNamespace(deviceSynchronize=lambda: None, memGetInfo=lambda: (1 << 32, 1 << 32)),
    )
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    monkeypatch.setitem(place.MODULES, "cpu", lambda: native)
    monkeypatch.setattr(cuda, "HOLD_CYCLES", 100)
    monkeypatch.setattr(cuda, "MOVED_BYTES", 1 << 16)
    monkeypatch.setattr(cuda, "MATRIX_SIZE", 64)
    monkeypatch.setattr(session, "require_cuda", lambda: native)
    monkeypatch.setattr(session, "device_info", lambda: INFO)
    monkeypatch.setattr(pair_histogram, "PHRASES", 64)

    def emulated(tokens: Any, offsets: Any, weights: Any, method: str, where: Any, stream: Any, **more: Any) -> Any:
        return count_on_device(tokens, offsets, weights, method, "emulated", stream, **more)

    monkeypatch.setattr(pair_peers, "count_on_device", emulated)


def profiled(kernel: str, shape: str, left_out: tuple[str, ...] = ()) -> Outcome:
    dtypes = ["fp32"] if kernel != "pair_histogram" else []
    wanted = plan(kernel, [shape], dtypes, "cuda", left_out=left_out)
    with session.opened("cuda", 1) as machine:
        record = session.run(wanted, machine, RULE, lambda line: None, lambda record: None)
    (outcome,) = record.outcomes
    assert outcome.status == "ok", outcome.reason
    text = report.to_text(profile_sheets(record), width=200)
    assert report.to_text(profile_sheets_of(as_record(record)), width=200) == text
    return outcome


@pytest.mark.usefixtures("_gpu")
def test_entropy_is_held_against_a_read_and_a_copy() -> None:
    outcome = profiled("entropy", "5x700")
    assert {phase: set(lanes) for phase, lanes in outcome.samples.items()} == {
        phase: {OURS, COPY, READ} for phase in ("cold", "warm")
    }
    assert outcome.roof_bytes == {COPY: 14_020, READ: 14_016}  # of a floor of 5 * (4 * 700 + 4)
    warm, cold = (outcome.figures(phase, OURS) for phase in ("warm", "cold"))
    assert warm is not None
    assert cold is not None
    assert warm.read_share is not None
    assert (warm.host_seconds or 0) > 0
    assert cold.host_seconds is None


@pytest.mark.usefixtures("_gpu")
def test_pairs_are_held_against_a_copy_and_cub() -> None:
    outcome = profiled("pair_histogram", "3000x300", left_out=("our sort",))
    lanes = set(outcome.samples["cold"])
    assert lanes == {OURS, COPY, "unordered", "CUB", "cupy sort", "cupy.unique"}
    assert set(outcome.missing) == {"our sort"}
    assert all(samples.reason is None for samples in outcome.samples["warm"].values())
    assert outcome.read_bytes == 0

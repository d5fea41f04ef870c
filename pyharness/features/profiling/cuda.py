"""A CUDA device: events around a call, an emptied second-level cache on request, and watched clocks.

The clocks are from nvidia-smi, which is called with a list of words, never through a shell.
"""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from functools import cached_property
from typing import Any

from pyharness.features.profiling.arrays import copied_bytes, normal, read_bytes
from pyharness.features.profiling.libraries import CupyDevice, TorchDevice
from pyharness.features.profiling.types import CallTime, DeviceKind, Moving, Phase
from pyharness.kernels.devices import DeviceInfo
from pyharness.statistics.samples import median

# Of the highest clock: below, a device counts as throttled. nvbench's 0.75 is too much: 790 TFLOP/s of an H200 in bf16
# are 0.74 of that clock at full use, so that samples of matrix products would be dropped by chance.
LOWEST_SHARE = 0.5
INTERVAL_MS = 100
_STATE = (
    "driver_version", "clocks.sm", "clocks.max.sm", "clocks.mem", "clocks.max.mem", "power.draw", "power.limit",
    "temperature.gpu",
)  # fmt: skip


def _query(fields: Iterable[str], bus_id: str, *more: str) -> list[str]:
    return ["nvidia-smi", f"--id={bus_id}", f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits", *more]


def device_state(bus_id: str) -> dict[str, str] | None:
    """Return present driver, clocks (MHz), power (W), temperature (°C); None where nvidia-smi is missing or fails."""
    try:
        process = subprocess.run(_query(_STATE, bus_id), capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    cells = [cell.strip() for cell in process.stdout.partition("\n")[0].split(",")]
    return dict(zip(_STATE, cells, strict=True)) if len(cells) == len(_STATE) else None


class ClockWatch:
    """Reader of the clock, ten times a second, also during the work: after it the clock recovers."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._shares: list[float] = []
        self._readings = 0
        self._medians: list[float] = []  # between two questions
        self._lock = threading.Lock()
        self._reader = threading.Thread(target=self._read, args=(lines,), daemon=True)
        self._reader.start()

    def _read(self, lines: Iterable[str]) -> None:
        with contextlib.suppress(ValueError):  # the pipe was closed during the read
            for line in lines:
                if (share := _share(line)) is not None:
                    with self._lock:
                        self._shares.append(share)
                        self._readings += 1

    @property
    def about(self) -> str:
        """Describe what was watched. nvidia-smi may run and still report no clock."""
        if not self._readings:
            return "clocks are not watched, because nvidia-smi does not report them: no sample is dropped."
        kept = [share for share in self._medians if share >= LOWEST_SHARE] or self._medians
        clocks = f" Else it was at {median(kept):.0%} of that, and at least at {min(kept):.0%}." if kept else ""
        return (
            f"samples are dropped while the SM clock is below {LOWEST_SHARE:.0%} of its maximum, unless it always is "
            f"(nvidia-smi, {self._readings} readings).{clocks}"
        )

    def was_low(self) -> bool:
        """Whether the median clock since the last call was low; False without readings."""
        with self._lock:
            shares, self._shares = self._shares, []
        if not shares:
            return False
        self._medians.append(median(shares))
        return self._medians[-1] < LOWEST_SHARE


def _share(line: str) -> float | None:
    try:
        now, highest = (float(cell) for cell in line.split(","))
    except ValueError:  # "[N/A]"
        return None
    return now / highest if highest > 0 else None


@contextmanager
def watching(bus_id: str) -> Iterator[ClockWatch | None]:
    """Watch the clock of a device within the block; yield None without nvidia-smi."""
    if shutil.which("nvidia-smi") is None:
        yield None
        return
    command = _query(("clocks.sm", "clocks.max.sm"), bus_id, f"--loop-ms={INTERVAL_MS}")
    process: Any
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            yield ClockWatch(process.stdout)
        finally:
            process.terminate()


MOVED_BYTES = 1 << 31  # by the roofs: far more than caches hold
MATRIX_SIZE = 8192
HOLD_CYCLES = 2_000_000  # about 1 ms: longer than Python needs to enqueue the call, even a dozen torch kernels


class Cuda:
    """The first device, on the stream that cupy and torch share by default.

    ``library`` and ``kernels`` are parameters so that the order of enqueued work can be tested without a device.
    """

    kind: DeviceKind = "cuda"
    phases: tuple[Phase, ...] = ("cold", "warm")
    check_seconds = 0.5  # five readings of the clock

    def __init__(
        self, library: CupyDevice | TorchDevice, kernels: Any, info: DeviceInfo, watch: ClockWatch | None
    ) -> None:
        self.library, self.kernels, self.info, self.watch = library, kernels, info, watch
        self._cached = library.zeros(read_bytes(2 * info.l2_bytes, 1 << 40), "uint8")
        self._sum = library.zeros(1, "uint64")
        self._start, self._stop = library.event(), library.event()

    @property
    def notes(self) -> tuple[str, ...]:
        """Return notes on the meaning of cold, and on whether the clock was watched."""
        cache = f"{self.info.l2_bytes / 1e6:.0f} MB"
        return (
            f"cold: twice the size of the second-level cache ({cache}) is read before every sample; warm: it is not.",
            self.watch.about if self.watch else "clocks are not watched without nvidia-smi: no sample is dropped.",
        )

    def time(self, call: Callable[[], Any], phase: Phase) -> CallTime:
        """Return the device time between two events around the call; if warm, also the host's until a call returns.

        A kernel that idles for a millisecond goes first. Otherwise the device would wait for Python between the first
        event and the launch, and the time would include that wait. This does not help calls that wait for the device.
        The host's time is that of the call before, which finds the device idle.
        """
        on_host = None
        if phase == "cold":
            # Read, not written: the call would pay for writing dirty lines back.
            self.kernels.add_words(self._cached, self._sum)
        else:
            begun = time.perf_counter()
            result = call()  # the round's other contenders have replaced the cache
            on_host = time.perf_counter() - begun
            del result
        self.kernels.hold(HOLD_CYCLES)
        self._start.record()
        result = call()
        self._stop.record()
        self._stop.synchronize()
        del result
        return CallTime(self.library.seconds(self._start, self._stop), on_host)

    def throttled(self) -> bool:
        """Whether the clock was low since the last call."""
        return self.watch is not None and self.watch.was_low()

    def free_bytes(self) -> int | None:
        """Return free device memory, without memory in the pools: call ``reclaim`` first."""
        return self.library.free_bytes()

    def reclaim(self) -> None:
        """Empty the pools of cupy and torch."""
        self.library.reclaim()

    @contextmanager
    def range(self, name: str) -> Iterator[None]:
        """Push an NVTX range, and pop it once the device is done, so that late failures stay within their phase."""
        self.library.begin(f"pyharness: {name}")
        try:
            yield
            self.library.synchronize()
        finally:
            self.library.end()

    @cached_property
    def _moved(self) -> Any:
        return self.library.zeros(MOVED_BYTES, "uint8")

    def copying(self) -> Moving:
        """Copy up to 1 GiB within the device."""
        half = MOVED_BYTES // 2
        source, target = self._moved[:half], self._moved[half:]

        def of_bytes(wanted: int) -> tuple[Callable[[], Any], int]:
            size = copied_bytes(wanted, half)
            to, origin = target[:size], source[:size]
            return lambda: self.library.copy(to, origin), 2 * size

        return of_bytes

    def reading(self) -> Moving:
        """Read up to 2 GiB, by a kernel that adds them up."""

        def of_bytes(wanted: int) -> tuple[Callable[[], Any], int]:
            size = read_bytes(wanted, MOVED_BYTES)
            words = self._moved[:size]
            return lambda: self.kernels.add_words(words, self._sum), size

        return of_bytes

    def multiplying(self, dtype: str) -> tuple[Callable[[], Any], int]:
        """Multiply two square matrices by torch, or else cupy. float32 does not use TF32."""
        # Random values: constant ones need less power, so that clock and rate would be too high.
        matrix = normal("cuda", dtype, (MATRIX_SIZE, MATRIX_SIZE), 1.0)
        return lambda: matrix @ matrix, 2 * MATRIX_SIZE**3

    def describe(self) -> dict[str, Any]:
        """Return the facts of the device from the runtime and nvidia-smi."""
        return {**asdict(self.info), "state": device_state(self.info.bus_id)}

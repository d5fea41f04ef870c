"""Clocks of a CUDA device from nvidia-smi, which is called with a list of words, never through a shell."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from pyharness.statistics.samples import median

LOWEST_SHARE = 0.75  # of the highest clock: below, a device counts as throttled, as in nvbench
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
        return (
            f"samples are dropped while the SM clock is below {LOWEST_SHARE:.0%} of its maximum, unless it always is "
            f"(nvidia-smi, {self._readings} readings)."
        )

    def was_low(self) -> bool:
        """Whether the median clock since the last call was low; False without readings."""
        with self._lock:
            shares, self._shares = self._shares, []
        return bool(shares) and median(shares) < LOWEST_SHARE


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

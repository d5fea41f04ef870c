"""A calibration as a sheet: what this machine can tell apart."""

from __future__ import annotations

from collections.abc import Iterator

from pyharness.gate.calibrating import Calibration
from pyharness.report.sheet import Cell, Heading, Sheet
from pyharness.types import COUNT, Format

_SHARE = Format("{:.1f} %", 100, "%")
_HEADINGS = (
    Heading("benchmark", "name"),
    Heading("launches"),
    Heading("noise", unit="ratio", direction="lower"),
    Heading("detectable", unit="ratio - 1", direction="lower"),
)


def calibration_sheet(calibration: Calibration) -> Sheet:
    """A row for each benchmark, and what was seen of all of them."""
    rows = tuple(
        (Cell(one.benchmark), Cell(one.launches, COUNT), Cell(one.noise, _SHARE), Cell(one.detectable, _SHARE))
        for one in calibration.benchmarks
    )
    return Sheet(f"Calibration: suite {calibration.suite}", _HEADINGS, rows, tuple(_notes(calibration)))


def _notes(calibration: Calibration) -> Iterator[str]:
    yield (
        "noise: standard deviation of launches of identical code; detectable: the slowdown that a gate proves in 80 of "
        "100 cases, by resampling these launches. A budget below it is refused from now on."
    )
    yield (
        f"False alarms: {calibration.alarms} of {calibration.comparisons} comparisons of identical code in "
        f"{calibration.gates} gates; with 95 % confidence the rate is at most {calibration.bound:.1%}."
    )
    for one in calibration.planted:
        expected = "" if one.expected is None else f", {one.expected:.0%} expected by resampling"
        yield f"{one.slowdown:.0%} slower, planted: found {one.found} of {one.count} times{expected}."
    yield f"Measured in {calibration.seconds / 60:.0f} minutes; kept for this machine and suite."

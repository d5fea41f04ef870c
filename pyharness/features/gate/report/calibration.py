"""A calibration as a sheet: the slowdowns that this machine can detect."""

from __future__ import annotations

from collections.abc import Iterator

from pyharness.features.gate.types import Calibration
from pyharness.report.sheet import Cell, Heading, Sheet
from pyharness.report.sheet.strings import CellValue
from pyharness.types import COUNT, Format

_SHARE = Format("{:.1f} %", 100, "%")
_HEADINGS = (
    Heading("benchmark", "name"),
    Heading("launches"),
    Heading("noise", unit="ratio", direction="lower"),
    Heading("detectable", unit="ratio - 1", direction="lower"),
)


def calibration_sheet(calibration: Calibration) -> Sheet:
    """Return a row for each benchmark, with the figures of all of them below."""
    rows = tuple(
        (Cell(one.benchmark), Cell(one.launches, COUNT), Cell(one.noise, _SHARE), Cell(one.detectable, _SHARE))
        for one in calibration.benchmarks
    )
    return Sheet(f"Calibration: suite {calibration.suite}", _HEADINGS, rows, tuple(_notes(calibration)))


_FLAT = ("figure", "benchmark", "slowdown", "value", "bound", "events", "count", "expected")
_WORDS = ("figure", "benchmark")


def flat_calibration(calibration: Calibration) -> Sheet:
    """Return raw values, a row per figure: false alarms, planted slowdowns, each benchmark's noise and detectable."""
    headings = tuple(Heading(column, "word" if column in _WORDS else "number") for column in _FLAT)
    rows = (tuple(Cell(row.get(name)) for name in _FLAT) for row in _flat(calibration))
    return Sheet("rows", headings, tuple(rows))


def _flat(calibration: Calibration) -> Iterator[dict[str, CellValue]]:
    alarms, count = calibration.alarms, calibration.comparisons
    yield {
        "figure": "false_alarms", "value": alarms / count, "bound": calibration.bound, "events": alarms, "count": count,
    }  # fmt: skip
    for one in calibration.planted:
        share = one.found / one.count if one.count else None
        figures = {"value": share, "events": one.found, "count": one.count, "expected": one.expected}
        yield {"figure": "planted", "slowdown": one.slowdown, **figures}
    for own in calibration.benchmarks:
        for figure, value in (("noise", own.noise), ("detectable", own.detectable)):
            yield {"figure": figure, "benchmark": own.benchmark, "value": value, "count": own.launches}


def _notes(calibration: Calibration) -> Iterator[str]:
    yield (
        "noise: standard deviation of launches of identical code; detectable: the slowdown that is significant in "
        "80 of 100 gates, by resampling these launches. A budget below it is refused on this machine."
    )
    yield (
        f"False-alarm rate: {calibration.alarms} of {calibration.comparisons} comparisons of identical code in "
        f"{calibration.gates} gates; upper 95 % limit {calibration.bound:.1%}."
    )
    for one in calibration.planted:
        expected = "" if one.expected is None else f", {one.expected:.0%} expected by resampling"
        yield f"{one.slowdown:.0%} slower, planted: a regression in {one.found} of {one.count}{expected}."
    facts = calibration.machine
    gpus = facts.get("gpus")  # devices with their drivers
    parts = (facts.get("cpu"), f"{facts.get('cores', '?')} cores", *(gpus if isinstance(gpus, list) else ()))
    machine = ", ".join(str(one) for one in parts if one)
    yield f"Measured in {calibration.seconds / 60:.0f} minutes, {calibration.made}, on {machine}."

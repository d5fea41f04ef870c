"""What a profile of a kernel found, as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyharness.profiling import Floor, Phase, reference
from pyharness.profiling.measuring import Samples
from pyharness.profiling.record import OURS, Figures, Outcome, ProfileRecord, Roof
from pyharness.report.sheet import NOTHING, Heading, Kind, Sheet, size, text_row

_COLUMNS = ("implementation", "median ms", "p5", "p95", "n", "noise %", "GB/s", "copy %", "times ours")


_KINDS: Mapping[str, Kind] = {
    "implementation": "word", "name": "word", "problem": "word", "status": "word", "here": "word", "about": "prose",
    "reason": "prose",
}  # fmt: skip


def _sheet(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], notes: Sequence[str] = ()) -> Sheet:
    headings = tuple(Heading(column, _KINDS.get(column, "number")) for column in columns)
    return Sheet(title, headings, tuple(text_row(*row) for row in rows), tuple(notes))


def profile_sheets(record: ProfileRecord) -> list[Sheet]:
    """Return a table per problem and phase, then what the names mean, what is missing, and floors of absent devices."""
    found = [
        _timings(record, outcome, phase)
        for outcome in record.outcomes
        for phase in outcome.samples
        if outcome.status == "ok"
    ]
    found += [_contenders(record), _missing(record), _unmeasured(record)]
    return [table for table in found if table.rows]


def _timings(record: ProfileRecord, outcome: Outcome, phase: Phase) -> Sheet:
    figures = [(name, outcome.figures(phase, name)) for name in outcome.samples[phase]]
    rows = tuple(_row(name, found) for name, found in figures if found is not None)
    where = "cuda" if outcome.problem.device == "cuda" else f"cpu, threads: {outcome.problem.threads}"
    title = f"{record.kernel} {outcome.problem.label}, {phase} ({where})"
    return _sheet(title, _COLUMNS, rows, tuple(_roof_notes(record, outcome, phase)))


def _row(name: str, found: Figures) -> tuple[str, ...]:
    return (
        name,
        milliseconds(found.median_seconds),
        milliseconds(found.p5_seconds),
        milliseconds(found.p95_seconds),
        str(found.samples),
        _percent(found.noise),
        _short(found.bytes_per_second / 1e9),
        _percent(found.copy_share, digits=0),
        NOTHING if found.times_ours is None else f"{found.times_ours:.{2 if found.times_ours < 100 else 0}f}",
    )


def _short(value: float) -> str:
    """Four digits, or a power of ten where zeros would fill the column."""
    return f"{value:.1e}" if 0 < value < 1e-2 else f"{value:.4g}"


def _roof_notes(record: ProfileRecord, outcome: Outcome, phase: Phase) -> list[str]:
    matrix = record.matrix.get(outcome.problem.dtype)
    copy = outcome.copy_roof(phase)
    bound = outcome.bound(phase, matrix)
    notes = [f"Data: {outcome.data}."]
    if outcome.floor is not None:
        notes.append(_floor_note(outcome.floor))
    rates = [f"copy {_rate(copy, 'B/s')}"] + ([] if matrix is None else [f"matrix {_rate(matrix, 'FLOP/s')}"])
    binds = NOTHING if bound is None else f"{bound.roof} binds, at least {milliseconds(bound.seconds)} ms"
    notes.append(f"Roofs measured in this run: {', '.join(rates)}; {binds}.")
    ours = outcome.figures(phase, OURS)
    if outcome.samples[phase][OURS].throttled:
        notes.append("Clocks were low all the time: these are the rates that the device sustains here.")
    if ours is not None:
        arithmetic = f", {scaled(ours.flop_per_second)}FLOP/s" if ours.flop_per_second else ""
        notes.append(f"{OURS}: {scaled(ours.tokens_per_second)}tokens/s{arithmetic}; {_dropped(ours)} dropped.")
    return notes


def _floor_note(floor: Floor) -> str:
    arithmetic = f"; {floor.flop / floor.bytes:.3g} FLOP/byte" if floor.flop else "; no arithmetic"
    return f"Floor: {size(floor.bytes)} read and written once{arithmetic}."


def _dropped(figures: Figures) -> str:
    return f"{figures.dropped} samples" if figures.dropped != 1 else "1 sample"


def _rate(roof: Roof, unit: str) -> str:
    return f"{scaled(roof.rate)}{unit}" if roof.rate is not None else f"not measured ({roof.samples.reason})"


def _contenders(record: ProfileRecord) -> Sheet:
    timed = {name for outcome in record.outcomes for found in outcome.samples.values() for name in found}
    rows = tuple((name, about) for name, about in record.peers.items() if name in timed)
    notes = (
        *_device_notes(record.device),
        "GB/s and copy % count the floor, whatever an implementation moves. A kernel that only reads can pass 100 %.",
        "times ours: as long as ours takes, median over the rounds that both were timed in.",
        *record.notes,
    )
    return _sheet("Implementations, each verified against ours before it was timed", ("name", "about"), rows, notes)


def _device_notes(device: Mapping[str, Any]) -> list[str]:
    """Which device, its driver and runtime, and its clocks when the last problem was done."""
    if not device:
        return []
    if "runtime_version" not in device:
        return [f"Device: {device['name']}, {device.get('cores', 'unknown')} cores."]
    state = device.get("state")
    driver = "unknown" if state is None else state["driver_version"]
    runtime = f"CUDA runtime {device['runtime_version']}, newest that the driver runs {device['driver_version']}"
    notes = [f"Device: {device['name']}, driver {driver}, {runtime}."]
    if state is not None:
        sm, memory = (f"{state[f'clocks.{one}']} of {state[f'clocks.max.{one}']} MHz" for one in ("sm", "mem"))
        power = f"{state['power.draw']} of {state['power.limit']} W"
        notes.append(f"After the last table: SM {sm}, memory {memory}, {power}, {state['temperature.gpu']} Celsius.")
    return notes


def _missing(record: ProfileRecord) -> Sheet:
    rows: list[tuple[str, str, str, str | None]] = []
    for outcome in record.outcomes:
        label = outcome.problem.label
        if outcome.reason is not None:
            rows.append((label, OURS, outcome.status, outcome.reason))
        rows += [(label, name, found.status, found.reason) for name, found in outcome.missing.items()]
        rows += [(label, name, "failed", found.reason) for name, found in _failed_while_timed(outcome)]
    return _sheet(
        "Not measured",
        ("problem", "name", "status", "reason"),
        tuple(tuple(cell or NOTHING for cell in row) for row in rows),
    )


def _failed_while_timed(outcome: Outcome) -> list[tuple[str, Samples]]:
    return [
        (f"{name}, {phase}", found)
        for phase, lanes in outcome.samples.items()
        for name, found in lanes.items()
        if found.reason is not None and name != OURS
    ]


def _unmeasured(record: ProfileRecord) -> Sheet:
    rows = []
    for problem, floor in record.unmeasured:
        seconds = reference.seconds(floor, problem.dtype)
        intensity = f"{floor.flop / floor.bytes:.3g}" if floor.flop else NOTHING
        least = NOTHING if seconds is None else milliseconds(seconds)
        rows.append((problem.label, f"{floor.bytes / 1e9:.4g}", intensity, least, "not measured"))
    columns = ("problem", "GB", "FLOP/byte", "H200 floor ms", "here")
    notes = (f"No GPU: {record.unmeasured_reason}.", f"Floor: at the roofs of {reference.NAME}.")
    return _sheet(f"{record.kernel} on a GPU: floors", columns, tuple(rows), notes)


def milliseconds(seconds: float) -> str:
    """Format a time in ms with about four digits."""
    return f"{seconds * 1e3:.4g}" if seconds < 1 else f"{seconds * 1e3:.0f}"


def scaled(value: float) -> str:
    """Format a rate with its SI prefix, ready for the unit."""
    for prefix, scale in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= scale:
            return f"{value / scale:.4g} {prefix}"
    return f"{value:.4g} "


def _percent(share: float | None, digits: int = 1) -> str:
    return NOTHING if share is None else f"{100 * share:.{digits}f}"

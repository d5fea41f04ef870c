"""The profile of a kernel as tables, and as a section of a page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pyharness.features.profiling.cases import PROFILE_KIND, check, of_record
from pyharness.features.profiling.record import OURS, READ, Figures, Outcome, ProfileRecord, Roof
from pyharness.features.profiling.types import REFERENCE, Floor, Phase
from pyharness.report.charts import Dot, dots
from pyharness.report.sheet import NOTHING, Cell, Heading, Sheet, size, text_row
from pyharness.report.sheet.parts import Figure, Section
from pyharness.store import CaseRecordKind, Record
from pyharness.types import COUNT, Format, InputError, counted

MEDIAN = "median ms"  # title of the drawn column
READ_SHARE = Heading("read %", unit="share", direction="higher")
ON_HOST = Heading("host ms", unit="s", direction="lower")
_HEADINGS = (
    Heading("implementation", "word"),
    *(Heading(title, unit="s", direction="lower") for title in (MEDIAN, "p5", "p95")),
    Heading("n", unit="sample"),
    Heading("noise %", unit="share"),
    Heading("GB/s", unit="byte/s", direction="higher"),
    READ_SHARE,
    Heading("copy %", unit="share", direction="higher"),
    Heading("times ours", unit="ratio", direction="lower"),
    ON_HOST,
)
_WHOLE = Format("{:.0f}")
MOST_DRAWN = 6  # tables, each of a problem in a phase


def profile_sheets_of(record: Record) -> list[Sheet]:
    """Return the tables of a profile's record; raise ``InputError`` for a broken record."""
    try:
        return profile_sheets(of_record(record.data, record.results))
    except (KeyError, TypeError, ValueError, AttributeError, ZeroDivisionError) as error:
        raise InputError(f"the record is not a complete profile: {type(error).__name__}: {error}") from None


def profile_sheets(record: ProfileRecord) -> list[Sheet]:
    """Return a table per problem and phase, then the meaning of names, missing peers, and floors of absent devices."""
    sheets = [
        _timings(record, outcome, phase)
        for outcome in record.outcomes
        for phase in outcome.samples
        if outcome.status == "ok"
    ]
    sheets += [_contenders(record), _missing(record), _list_unmeasured(record)]
    return [sheet for sheet in sheets if sheet.rows]


def profile_sections(record: Record) -> Iterator[Section]:
    """Yield the medians of a profile's implementations as dots, by problem and phase."""
    timed = [sheet for sheet in profile_sheets_of(record) if MEDIAN in sheet.columns]
    if timed:
        yield Section("Times by implementation", tuple(_figure(sheet) for sheet in timed[:MOST_DRAWN]))


def _figure(sheet: Sheet) -> Figure:
    column = sheet.columns.index(MEDIAN)
    drawn = [Dot(str(row[0].value), row[column]) for row in sheet.rows]
    about = "Median time of a call, on a logarithmic axis. Lower is better."
    return Figure(sheet.title, about, dots(drawn, sheet.title, "median time of a call, ms", log=True), sheet)


def _timings(record: ProfileRecord, outcome: Outcome, phase: Phase) -> Sheet:
    figures = [(name, outcome.figures(phase, name)) for name in outcome.samples[phase]]
    rows = [_row(name, one) for name, one in figures if one is not None]
    # Columns of what is measured on some machines, or of some kernels, alone.
    columns = [
        index
        for index, heading in enumerate(_HEADINGS)
        if heading not in (READ_SHARE, ON_HOST) or any(row[index].value is not None for row in rows)
    ]
    where = "cuda" if outcome.problem.device == "cuda" else f"cpu, threads: {outcome.problem.threads}"
    title = f"{record.kernel} {outcome.problem.label}, {phase} ({where})"
    headings, shown = (_HEADINGS[index] for index in columns), (tuple(row[index] for index in columns) for row in rows)
    return Sheet(title, tuple(headings), tuple(shown), tuple(_roof_notes(record, outcome, phase)))


def _row(name: str, figures: Figures) -> tuple[Cell, ...]:
    rate = figures.bytes_per_second
    return (
        Cell(name),
        *map(_milliseconds, (figures.median_seconds, figures.p5_seconds, figures.p95_seconds)),
        Cell(figures.samples, COUNT),
        Cell(figures.noise, Format("{:.1f}", 100, "%")),
        Cell(rate, Format("{:.1e}" if 0 < rate < 1e7 else "{:.4g}", 1e-9, "GB/s")),
        *(Cell(share, Format("{:.0f}", 100, "%")) for share in (figures.read_share, figures.copy_share)),
        Cell(figures.times_ours, _WHOLE if figures.times_ours and figures.times_ours >= 100 else Format("{:.2f}")),
        _milliseconds(figures.host_seconds),
    )


def _milliseconds(seconds: float | None) -> Cell:
    """Format a time in ms with about four digits."""
    return Cell(seconds, Format("{:.0f}" if seconds is not None and seconds >= 1 else "{:.4g}", 1e3, "ms"))


def _roof_notes(record: ProfileRecord, outcome: Outcome, phase: Phase) -> list[str]:
    matrix = record.matrix.get(outcome.problem.dtype)
    bound = outcome.bound(phase, matrix)
    notes = [f"Data: {outcome.data}."]
    if outcome.floor is not None:
        notes.append(_floor_note(outcome.floor))
    rates = [f"{name} {_rate(outcome.memory_roof(phase, name), 'B/s')}" for name in outcome.roof_bytes]
    rates += [] if matrix is None else [f"matrix {_rate(matrix, 'FLOP/s')}"]
    binds = NOTHING if bound is None else f"{bound.roof} binds, at least {_milliseconds(bound.seconds).text} ms"
    notes.append(f"Roofs measured in this run: {', '.join(rates)}; {binds}.")
    ours = outcome.figures(phase, OURS)
    if outcome.samples[phase][OURS].throttled:
        notes.append("Clocks were low all the time: these are the rates that the device sustains here.")
    if ours is not None:
        arithmetic = f", {scaled(ours.flop_per_second)}FLOP/s" if ours.flop_per_second else ""
        notes.append(
            f"{OURS}: {scaled(ours.tokens_per_second)}tokens/s{arithmetic}; {counted(ours.dropped, 'sample')} dropped."
        )
    return notes


def _floor_note(floor: Floor) -> str:
    arithmetic = f"; {floor.flop / floor.bytes:.3g} FLOP/byte" if floor.flop else "; no arithmetic"
    return f"Floor: {size(floor.bytes)} read and written once{arithmetic}."


def _rate(roof: Roof, unit: str) -> str:
    return f"{scaled(roof.rate)}{unit}" if roof.rate is not None else f"not measured ({roof.samples.reason})"


def _contenders(record: ProfileRecord) -> Sheet:
    timed = {name for outcome in record.outcomes for lanes in outcome.samples.values() for name in lanes}
    rows = tuple(text_row(name, about) for name, about in record.peers.items() if name in timed)
    lanes = [lane for outcome in record.outcomes for by_name in outcome.samples.values() for lane in by_name.items()]
    notes = [
        *_device_notes(record.device),
        "GB/s: bytes that must be read and written (the floor), per second.",
        "copy %: that rate relative to a copy's, median over the rounds; over 100 % where a kernel only reads.",
        "times ours: time relative to our kernel, median over the rounds in which both were timed.",
    ]
    if any(name == READ for name, _ in lanes):
        notes.append("read %: the rate relative to that of a kernel that adds up as many bytes.")
    if any(samples.host_seconds for _, samples in lanes):
        notes.append("host ms: until the call returned in Python, the GPU idle before it; some calls wait for the GPU.")
    notes += record.notes
    headings = (Heading("name", "word"), Heading("about", "prose"))
    return Sheet("Implementations, each verified against ours before it was timed", headings, rows, tuple(notes))


def _device_notes(device: Mapping[str, Any]) -> list[str]:
    """Return notes on the device, its driver and runtime, and its clocks after the last problem."""
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
        rows += [(label, name, missing.status, missing.reason) for name, missing in outcome.missing.items()]
        rows += [
            (label, f"{name}, {phase}", "failed", samples.reason)
            for phase, lanes in outcome.samples.items()
            for name, samples in lanes.items()
            if samples.reason is not None and name != OURS
        ]
    headings = (*(Heading(title, "word") for title in ("problem", "name", "status")), Heading("reason", "prose"))
    return Sheet("Not measured", headings, tuple(text_row(*row) for row in rows))


def _list_unmeasured(record: ProfileRecord) -> Sheet:
    digits = Format("{:.3g}")
    rows = tuple(
        (
            Cell(problem.label),
            Cell(floor.bytes, Format("{:.4g}", 1e-9, "GB")),
            Cell(floor.flop / floor.bytes if floor.flop else None, digits),
            _milliseconds(floor.reference_seconds(problem.dtype)),
        )
        for problem, floor in record.unmeasured
    )
    headings = (Heading("problem", "word"), *map(Heading, ("GB", "FLOP/byte", "H200 floor ms")))
    notes = (f"No GPU: {record.unmeasured_reason}.", f"Floor: at the roofs of {REFERENCE}.")
    return Sheet(f"{record.kernel} on a GPU: least times (not measured)", headings, rows, notes)


def scaled(value: float) -> str:
    """Format a rate with its SI prefix, ready for the unit."""
    for prefix, scale in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= scale:
            return f"{value / scale:.4g} {prefix}"
    return f"{value:.4g} "


CASE_RECORDS = (CaseRecordKind(name=PROFILE_KIND, check=check, sheets=profile_sheets_of, sections=profile_sections),)

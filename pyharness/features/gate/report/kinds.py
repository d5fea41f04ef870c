"""Sections and pages of gates and calibrations for ``pyharness report``: effects are dots around zero."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pyharness.features.gate.records import CALIBRATION_KIND, GATE_KIND, calibration_from_json, gate_from_json
from pyharness.features.gate.report.calibration import calibration_sheet, flat_calibration
from pyharness.features.gate.report.junit import to_junit
from pyharness.features.gate.report.pull_request import gate_comment
from pyharness.features.gate.report.sheets import (
    arms_sheet,
    by_benchmark,
    environment_sheet,
    flat_gate,
    gate_sheets,
    judgement_sheet,
    remarks,
    self_test_sheet,
    verdict_line,
)
from pyharness.features.gate.types import Calibration, Gate, GateVerdict, Judgement
from pyharness.report.charts import Dot, dots
from pyharness.report.record_kinds import RecordKind
from pyharness.report.sheet import Sheet
from pyharness.report.sheet.parts import Block, Figure, Page, Section

_TITLES = {"time": "Time", "memory": "Memory", "instructions": "Instructions"}


def page_of_gate(gate: Gate) -> Page:
    """Return the page about a gate, which begins with its verdict."""
    return Page(f"Gate: suite {gate.suite}", tuple(gate_sections(gate)), verdict_line(gate))


def page_of_calibration(calibration: Calibration) -> Page:
    """Return the page about a calibration."""
    about = f"{calibration.gates} gates of identical code, {calibration.made}."
    return Page(f"Calibration: suite {calibration.suite}", tuple(calibration_sections(calibration)), about)


def gate_sections(gate: Gate) -> Iterator[Section]:
    """Yield the judgements, worst first; then the arms, and the gate's self-test."""
    judged = [one for several in by_benchmark(gate.judgements) for one in several]
    said = tuple(remarks(gate))
    wrong = [one for one in judged if one.verdict is not GateVerdict.PASS or one.waiver is not None]
    blocks: list[Block] = [*said]
    if wrong:
        blocks.append(_titled("Not simply passed", judgement_sheet(gate, wrong)))
    if blocks:
        yield Section("What to look at", tuple(blocks))
    for figure, title in _TITLES.items():
        of_figure = [one for one in judged if one.figure == figure]
        if of_figure:
            yield Section(title, tuple(_judged(gate, title, of_figure)))
    about = [sheet for sheet in (arms_sheet(gate), self_test_sheet(gate), environment_sheet(gate)) if sheet.rows]
    if about:
        yield Section("What was compared, and where", tuple(about))


def calibration_sections(calibration: Calibration) -> Iterator[Section]:
    """Yield the detectable slowdowns of this machine, by benchmark."""
    sheet = calibration_sheet(calibration)
    columns = [place for place, heading in enumerate(sheet.headings) if heading.unit]
    drawn = [Dot(str(row[0].value), row[place], sheet.headings[place].title) for place in columns for row in sheet.rows]
    about = "Noise of launches of identical code, and the slowdown that a gate proves in 80 of 100 cases."
    if drawn:
        figure = Figure(sheet.title, about, dots(drawn, sheet.title, "share of the time, %", log=True), sheet)
        yield Section("Calibration", (figure,))


def _judged(gate: Gate, title: str, judgements: Sequence[Judgement]) -> Iterator[Block]:
    """Yield the effects of one figure, as dots where they are known."""
    sheet = _titled(f"{title}, head against base", judgement_sheet(gate, judgements))
    effect = next((place for place, heading in enumerate(sheet.headings) if heading.title == "effect"), None)
    if effect is None or all(one.effect is None for one in judgements):
        yield sheet
        return
    drawn = [Dot(str(row[0].value), row[effect]) for row in sheet.rows]
    about = "A dot is head / base - 1, a line its 95 % interval. Right of 0 head takes more than base."
    yield Figure(sheet.title, about, dots(drawn, sheet.title, "effect, %", at=0.0), sheet)


def _titled(title: str, sheet: Sheet) -> Sheet:
    return Sheet(title, sheet.headings, sheet.rows, sheet.notes)


RECORDS = (
    RecordKind(
        name=GATE_KIND,
        noun="the record of a gate",
        read=gate_from_json,
        sheets=gate_sheets,
        rows=flat_gate,
        page=page_of_gate,
        comment=gate_comment,
        texts={"junit": to_junit},
    ),
    RecordKind(
        name=CALIBRATION_KIND,
        noun="a calibration",
        read=calibration_from_json,
        sheets=lambda calibration: [calibration_sheet(calibration)],
        rows=flat_calibration,
        page=page_of_calibration,
    ),
)

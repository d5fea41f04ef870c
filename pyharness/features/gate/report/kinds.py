"""Sections and pages of gates and calibrations: effects with their budgets, and distributions of both sides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from pyharness.features.gate.records import CALIBRATION_KIND, GATE_KIND, calibration_from_json, gate_from_json
from pyharness.features.gate.report import sheets
from pyharness.features.gate.report.calibration import calibration_sheet, flat_calibration
from pyharness.features.gate.report.junit import to_junit
from pyharness.features.gate.report.sheets import gate_comment
from pyharness.features.gate.types import SIDES, Calibration, Gate, GateVerdict, Judgement, Side
from pyharness.features.gate.verdicts.effects import call_seconds
from pyharness.features.gate.verdicts.judgements import pairs
from pyharness.report.charts import Dot, dots
from pyharness.report.record_kinds import RecordKind
from pyharness.report.sheet import Cell, Heading, Sheet
from pyharness.report.sheet.parts import Block, Figure, Page, Section
from pyharness.statistics.samples import percentile
from pyharness.types import COUNT, Format

_VERDICTS = {GateVerdict.REGRESSION: "worse", GateVerdict.IMPROVEMENT: "better"}  # with a colour
_TITLES = {"time": "Time", "memory": "Memory", "instructions": "Instructions"}
_BUDGET = Format("budget {:.3g} %", 100, "%")
MOST_DISTRIBUTIONS = 12
QUANTILES = 41  # drawn of each side


def page_of_gate(gate: Gate) -> Page:
    """Return the page about a gate: its verdict, both versions, and a line for each figure that did not simply pass."""
    answers = sheets.answer_sheet(gate)
    lead = replace(answers, rows=answers.rows[1:])
    return Page(f"Gate: suite {gate.suite}", tuple(gate_sections(gate)), sheets.verdict_line(gate), lead=(lead,))


def page_of_calibration(calibration: Calibration) -> Page:
    """Return the page about a calibration."""
    gates = f"{calibration.gates} gates of one version against itself"
    about = f"{gates}, every second one with planted slowdowns, {calibration.made}."
    return Page(f"Calibration: suite {calibration.suite}", tuple(calibration_sections(calibration)), about)


def gate_sections(gate: Gate) -> Iterator[Section]:
    """Yield what changed or failed, with distributions of both sides, then notes; folded: what passed, the machine."""
    shown, passed = sheets.parted(gate.judgements)
    if shown:
        blocks = (*_by_figure(shown, "head against base"), *_distributions(gate, shown))
        yield Section(sheets.NOT_PASSED, blocks)
    if gate.notes:
        yield Section("Notes", gate.notes)
    if passed:
        yield Section(sheets.counts(passed).capitalize(), tuple(_by_figure(passed, "what passed")), folded=True)
    tables = (sheets.differing_sheet(gate), sheets.self_test_sheet(gate), sheets.environment_sheet(gate))
    about: list[Block] = [*sheets.where(gate), *(table for table in tables if table.rows)]
    if about:
        yield Section("What was compared, and where", tuple(about), folded=True)


def calibration_sections(calibration: Calibration) -> Iterator[Section]:
    """Yield noise and detectable slowdown of each benchmark, in one section."""
    sheet = calibration_sheet(calibration)
    columns = [place for place, heading in enumerate(sheet.headings) if heading.unit]
    drawn = [Dot(str(row[0].value), row[place], sheet.headings[place].title) for place in columns for row in sheet.rows]
    about = "Noise of launches of identical code, and the slowdown that is significant in 80 of 100 gates."
    if drawn:
        figure = Figure(sheet.title, about, dots(drawn, sheet.title, "share of the time, %", log=True), sheet)
        yield Section("Calibration", (figure,))


def _by_figure(judgements: Sequence[Judgement], what: str) -> Iterator[Block]:
    for figure, title in _TITLES.items():
        of_figure = [one for one in judgements if one.figure == figure]
        if of_figure:
            yield _effects(f"{title}, {what}", of_figure)


def _effects(title: str, judgements: Sequence[Judgement]) -> Block:
    """Return the effects of one figure with their budgets, as dots where they are known."""
    sheet = sheets.judgement_sheet(judgements, title)
    if all(one.effect is None for one in judgements):
        return sheet
    place = [heading.title for heading in sheet.headings].index("effect")
    budgets = [None if one.budget is None else Cell(one.budget, _BUDGET) for one in judgements]
    drawn = [
        Dot(one.benchmark, row[place], verdict=_VERDICTS.get(one.verdict, ""), limit=own)
        for one, row, own in zip(judgements, sheet.rows, budgets, strict=True)
    ]
    about = (
        "A dot is head / base - 1, a line its 95 % CI. Right of 0 the head takes more than the base. The budget is the "
        "growth that is allowed."
    )
    return Figure(title, about, dots(drawn, title, "effect, %", at=0.0), sheet)


def _distributions(gate: Gate, judgements: Sequence[Judgement]) -> Iterator[Block]:
    """Yield distributions of both sides for figures with two samples or more, up to ``MOST_DISTRIBUTIONS``."""
    figures = [(one, samples_of(gate, one)) for one in judgements]
    figures = [(one, samples) for one, samples in figures if all(len(samples[side]) > 1 for side in SIDES)]
    yield from (_distribution(one, samples) for one, samples in figures[:MOST_DISTRIBUTIONS])
    if more := len(figures[MOST_DISTRIBUTIONS:]):
        yield f"{more} more distributions are not drawn: the record has their samples."


def samples_of(gate: Gate, one: Judgement) -> dict[Side, list[float]]:
    """Return seconds of a call in each round, or the memory or a batch's instructions of each launch."""
    rounds = [part for part in gate.rounds if part.benchmark == one.benchmark]
    if one.figure == "time":
        threads = next((own.threads for own in gate.benchmarks if own.name == one.benchmark), 1)
        return {side: call_seconds(rounds, side, threads) for side in SIDES}
    by_launch = pairs(rounds, one.figure)
    return {side: [values[side] for values in by_launch] for side in SIDES}


def _distribution(one: Judgement, samples: dict[Side, list[float]]) -> Figure:
    quantiles = {
        side: tuple(percentile(samples[side], place / (QUANTILES - 1)) for place in range(QUANTILES)) for side in SIDES
    }
    middle = (QUANTILES - 1) // 2
    form = sheets.of_a_call(one.figure, quantiles["base"][middle])
    drawn = [Dot(side, Cell(quantiles[side][middle], form, samples=quantiles[side])) for side in SIDES]
    quarters = [0, middle // 2, middle, middle + middle // 2, QUANTILES - 1]
    rows = tuple(
        (Cell(side), *(Cell(quantiles[side][place], form) for place in quarters), Cell(len(samples[side]), COUNT))
        for side in SIDES
    )
    names = ("least", "first quarter", "median", "third quarter", "most", "samples")
    headings = (Heading("side", "word"), *map(Heading, names))
    what = "rounds of all launches" if one.figure == "time" else "launches"
    about = f"A dot is the median, {QUANTILES} ticks are evenly spaced quantiles of the {what}."
    title = f"{one.benchmark}, {one.figure}: base and head"
    of = {"time": " of a call", "instructions": " of a batch"}.get(one.figure, "")
    return Figure(title, about, dots(drawn, title, f"{one.figure}{of}, {form.unit}"), Sheet(title, headings, rows))


RECORDS = (
    RecordKind(
        name=GATE_KIND,
        noun="the record of a gate",
        read=gate_from_json,
        sheets=sheets.gate_sheets,
        rows=sheets.flat_gate,
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

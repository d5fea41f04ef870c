"""A gate as sheets and in words: judgements, worst first; the arms; the self-test."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pyharness.features.gate.types import SIDES, Gate, GateVerdict, Judgement
from pyharness.report.sheet import Cell, Heading, Sheet, text_row
from pyharness.report.sheet.strings import CellValue, writable
from pyharness.types import COUNT, Format

# Worst first: the word for one of a verdict, and for several.
_COUNTED = {
    GateVerdict.REGRESSION: ("regression", "regressions"),
    GateVerdict.FAILED: ("failed", "failed"),
    GateVerdict.INCOMPARABLE: ("incomparable", "incomparable"),
    GateVerdict.INCONCLUSIVE: ("inconclusive", "inconclusive"),
    GateVerdict.IMPROVEMENT: ("improvement", "improvements"),
    GateVerdict.PASS: ("passed", "passed"),
}
_RANK = {verdict: rank for rank, verdict in enumerate(_COUNTED)}
WRONG = (GateVerdict.REGRESSION, GateVerdict.FAILED, GateVerdict.INCOMPARABLE)  # these need a person's attention


def verdict_line(gate: Gate) -> str:
    """Return the verdict with counts, in one line.

    >>> from pyharness.types import GateRules, SelfTest
    >>> passed = (Judgement("a", "time", GateVerdict.PASS),)
    >>> verdict_line(Gate("gate", GateRules(), {}, (), (), (), passed, SelfTest(()), GateVerdict.PASS))
    'Pass: 1 passed.'
    """
    said = [counts(gate.judgements) or "nothing was compared"]
    if covered := sum(one.waiver is not None for one in gate.judgements):
        said.append(f"{covered} declared in gate.toml")
    if gate.rounds and (faults := len(gate.self_test.faults)):  # without rounds, the arms could not be made
        said.append(f"the arms differ as such, by {_number(faults, 'sign')}")
    if faults := len(gate.declaration_faults):
        said.append(f"{_number(faults, 'fault')} of gate.toml")
    return f"{gate.verdict.capitalize()}: {'; '.join(said)}."


def counts(judgements: Iterable[Judgement]) -> str:
    """Return the number of figures of each verdict, worst first."""
    found = Counter(one.verdict for one in judgements)
    return ", ".join(f"{found[one]:,} {words[found[one] > 1]}" for one, words in _COUNTED.items() if found[one])


def _number(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def by_benchmark(judgements: Iterable[Judgement]) -> list[Sequence[Judgement]]:
    """Group figures by benchmark, worst and slowest first, so that two that disagree stand together."""
    of: dict[str, list[Judgement]] = {}
    for one in judgements:
        of.setdefault(one.benchmark, []).append(one)
    ranked = (sorted(several, key=_rank) for several in of.values())
    return sorted(ranked, key=lambda several: _rank(several[0]))


def _rank(judgement: Judgement) -> tuple[int, float]:
    return _RANK[judgement.verdict], -(judgement.effect or 0.0)


UNITS = {"time": "s", "memory": "byte", "instructions": "instruction"}
_EFFECT = Format("{:+.1f} %", 100, "%")
_SHARE = Format("{:.3g} %", 100, "%")
_SCALES = {
    "time": ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")),
    "memory": ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")),
    "instructions": ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, "")),
}
_HEADINGS = (
    Heading("benchmark", "name", whole=True),
    Heading("figure", "word"),
    Heading("verdict", "word"),
    Heading("base", dispensable=2),
    Heading("head", direction="lower", dispensable=1),
    Heading("effect", unit="ratio - 1", direction="lower"),
    Heading("budget", unit="ratio - 1", dispensable=3),
    Heading("launches", dispensable=4),
    Heading("reason", "prose"),
)
_FLAT = (
    "benchmark", "figure", "verdict", "base", "head", "unit", "effect", "low", "high", "p", "budget", "launches",
    "noise", "reason", "declared", "expires",
)  # fmt: skip
_WORDS = {"benchmark", "figure", "verdict", "unit", "reason", "declared", "expires"}
_ABOUT = "Effect: head / base - 1, trimmed mean of launches [its 95 % interval]; base and head are of one call."


def gate_sheets(gate: Gate) -> list[Sheet]:
    """Return tables for people, regressions first; the last line is the verdict.

    Figures other than time are left out where they pass. Reasons stand below the table, since a terminal is narrow.
    """
    shown = [one for several in by_benchmark(gate.judgements) for one in several if _is_shown(one)]
    judged = judgement_sheet(gate, shown, reasons=False)
    notes = (*_reasons(shown), *([_ABOUT] if shown else ()), *remarks(gate))
    judged = Sheet(judged.title, judged.headings if shown else (), judged.rows, notes)
    *others, last = [sheet for sheet in (judged, arms_sheet(gate), self_test_sheet(gate)) if sheet.rows or sheet.notes]
    return [*others, Sheet(last.title, last.headings, last.rows, (*last.notes, verdict_line(gate)))]


def _is_shown(one: Judgement) -> bool:
    return one.figure == "time" or one.verdict is not GateVerdict.PASS or one.waiver is not None


def _reasons(judgements: Iterable[Judgement]) -> Iterator[str]:
    """Yield the reasons of the verdicts that need an explanation."""
    for one in judgements:
        if (one.verdict is not GateVerdict.PASS or one.waiver is not None) and (why := reason(one)):
            figure = "" if one.figure == "time" else f", {one.figure}"
            yield f"{one.benchmark}{figure}: {one.verdict.value}: {why}"


def judgement_sheet(gate: Gate, judgements: Iterable[Judgement], *, reasons: bool = True) -> Sheet:
    """Return a row for each judgement, in their order, without empty columns."""
    rows = [_row(one) for one in judgements]
    told = {index for row in rows for index, cell in enumerate(row) if cell.value not in (None, "", "time")}
    kept = [
        index
        for index, heading in enumerate(_HEADINGS)
        if (index in told or heading.title not in ("figure", "reason")) and (reasons or heading.title != "reason")
    ]
    return Sheet(
        f"Gate: suite {gate.suite}",
        tuple(_HEADINGS[index] for index in kept),
        tuple(tuple(row[index] for index in kept) for row in rows),
    )


def remarks(gate: Gate) -> Iterator[str]:
    """Yield what nobody must overlook: faults of ``gate.toml`` and of the gate itself, then notes."""
    yield from gate.declaration_faults
    yield from (f"Self-test: {fault}" for fault in gate.self_test.faults)
    yield from gate.notes


def arms_sheet(gate: Gate) -> Sheet:
    """Return the two arms, the libraries that differ, and the machine."""
    arms = [gate.arms.get(side) for side in SIDES]
    rows = [
        ("asked for", *("" if arm is None else arm.source for arm in arms)),
        ("version", *("" if arm is None else arm.version for arm in arms)),
    ]
    libraries = [{} if arm is None else arm.libraries for arm in arms]
    for name in sorted({*libraries[0], *libraries[1]}):
        versions = [several.get(name, "") for several in libraries]
        if versions[0] != versions[1]:
            rows.append((name, *versions))
    if not gate.arms:  # the arms could not be made
        return Sheet("", (), (), tuple(_where(gate)))
    headings = (Heading("arm", "word"), *(Heading(side, "name") for side in SIDES))
    return Sheet("Arms", headings, tuple(text_row(*(one or None for one in row)) for row in rows), tuple(_where(gate)))


def self_test_sheet(gate: Gate) -> Sheet:
    """Return the figures of the self-test: whether the arms differ apart from the code under test."""
    headings = (Heading("figure", "word"), Heading("value", "prose"))
    rows = tuple(text_row(name, in_words(value)) for name, value in gate.self_test.figures.items())
    return Sheet("Self-test", headings, rows)


def environment_sheet(gate: Gate) -> Sheet:
    """Return all facts of the record about the machine and the run."""
    rows = tuple(text_row(name, in_words(value)) for name, value in _flattened(gate.about))
    return Sheet("Environment", (Heading("what", "word"), Heading("value", "prose")), rows)


def flat_gate(gate: Gate) -> Sheet:
    """Return raw values, a row per judgement in the record's order: seconds, bytes or instructions of a call."""
    headings = tuple(Heading(column, "word" if column in _WORDS else "number") for column in _FLAT)
    rows = (_flat(one) for one in gate.judgements)
    return Sheet("rows", headings, tuple(tuple(Cell(writable(row.get(name))) for name in _FLAT) for row in rows))


def in_words(value: Any) -> str:
    """Return a JSON value in words.

    >>> in_words({"slower": 9, "of": 18, "p": 0.81453})
    'slower 9, of 18, p 0.8145'
    """
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, dict):
        return ", ".join(f"{name} {in_words(inner)}" for name, inner in value.items())
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(in_words, value))}]"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _row(one: Judgement) -> tuple[Cell, ...]:
    return (
        Cell(one.benchmark),
        Cell(one.figure),
        Cell(one.verdict.value),
        *(_of_a_call(one, one.values.get(side)) for side in SIDES),
        Cell(one.effect, _EFFECT, one.interval, bounds=True),
        Cell(one.budget, _SHARE),
        Cell(one.launches, COUNT),
        Cell(reason(one) or None),
    )


def reason(one: Judgement) -> str:
    """Return the reason of a verdict, and its waiver."""
    if one.waiver is None:
        return one.reason
    declared = f"declared until {one.waiver.expires}, at most {_SHARE.show(one.waiver.ceiling)}: {one.waiver.reason}"
    return f"{one.reason}; {declared}" if one.reason else declared


def _of_a_call(one: Judgement, value: float | None) -> Cell:
    scales = _SCALES[one.figure]
    scale, unit = next((pair for pair in scales if abs(value or 0) >= 0.9995 * pair[0]), scales[-1])
    return Cell(value, Format(f"{{:.4g}} {unit}".strip(), 1 / scale, unit))


def _flat(one: Judgement) -> dict[str, CellValue]:
    low, high = one.interval or (None, None)
    return {
        "benchmark": one.benchmark,
        "figure": one.figure,
        "verdict": one.verdict.value,
        **{side: one.values.get(side) for side in SIDES},
        "unit": UNITS[one.figure],
        "effect": one.effect,
        "low": low,
        "high": high,
        "p": one.p,
        "budget": one.budget,
        "launches": one.launches,
        "noise": one.noise,
        "reason": one.reason or None,
        "declared": None if one.waiver is None else one.waiver.reason,
        "expires": None if one.waiver is None else one.waiver.expires,
    }


def _where(gate: Gate) -> Iterator[str]:
    """Yield machine and duration, as far as the record has them."""
    found = dict(_flattened(gate.about))
    names = {
        "environment cpu": "{}",
        "environment cores": "{} cores",
        "environment python": "Python {}",
        "seconds": "{} s",
    }
    if told := [words.format(in_words(found[name])) for name, words in names.items() if name in found]:
        yield f"Where: {', '.join(told)}."


def _flattened(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flattened(inner, f"{name} {key}".strip())
    else:
        yield name, value

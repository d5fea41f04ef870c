"""A gate as sheets and in words: the verdict, judgements with the worst first, the self-test, the environment.

The comment on a pull request is made of them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pyharness.features.gate.types import SIDES, Figure, Gate, GateVerdict, Judgement
from pyharness.features.gate.verdicts.wording import between, change
from pyharness.report.exporters.comment import MOST_BYTES_OF_A_TABLE, Comment, CommentPart, inert
from pyharness.report.sheet import Cell, Heading, Sheet, text_row
from pyharness.report.sheet.strings import CellValue, writable
from pyharness.types import COUNT, Format, counted

# Worst first: the word for one of a verdict, and for several.
_COUNTED = {
    GateVerdict.REGRESSION: ("regression", "regressions"),
    GateVerdict.FAILED: ("failed", "failed"),
    GateVerdict.INCOMPARABLE: ("incomparable", "incomparable"),
    GateVerdict.INCONCLUSIVE: ("inconclusive", "inconclusive"),
    GateVerdict.IMPROVEMENT: ("improvement", "improvements"),
    GateVerdict.PASS: ("passed", "passed"),
}
MOST_HEADLINES = 20  # with more figures, a comment has their reasons in the table alone
_RANK = {verdict: rank for rank, verdict in enumerate(_COUNTED)}


def verdict_line(gate: Gate) -> str:
    """Return the verdict with counts, in one line.

    >>> from pyharness.features.gate.types import GateRules, SelfTest
    >>> passed = (Judgement("a", "time", GateVerdict.PASS),)
    >>> verdict_line(Gate("gate", GateRules(), {}, (), (), (), passed, SelfTest(()), GateVerdict.PASS))
    'Pass: 1 passed.'
    """
    parts = [counts(gate.judgements) or "nothing was compared"]
    if covered := sum(one.waiver is not None for one in gate.judgements):
        parts.append(f"{covered} declared in gate.toml")
    if gate.rounds and (faults := len(gate.self_test.faults)):  # without rounds, the arms could not be made
        parts.append(f"{counted(faults, 'fault')} of the self-test")
    if faults := len(gate.declaration_faults):
        parts.append(f"{counted(faults, 'fault')} of gate.toml")
    return f"{gate.verdict.capitalize()}: {'; '.join(parts)}."


def counts(judgements: Iterable[Judgement]) -> str:
    """Return the number of figures of each verdict, worst first."""
    numbers = Counter(one.verdict for one in judgements)
    return ", ".join(f"{numbers[one]:,} {words[numbers[one] > 1]}" for one, words in _COUNTED.items() if numbers[one])


def by_benchmark(judgements: Iterable[Judgement]) -> list[Sequence[Judgement]]:
    """Group figures by benchmark, worst and slowest first, so that two that disagree stand together."""
    of: dict[str, list[Judgement]] = {}
    for one in judgements:
        of.setdefault(one.benchmark, []).append(one)
    ranked = (sorted(figures, key=_rank) for figures in of.values())
    return sorted(ranked, key=lambda figures: _rank(figures[0]))


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
    Heading("verdict", "word", dispensable=3),
    Heading("base", dispensable=2),
    Heading("head", direction="lower", dispensable=1),
    Heading("effect", unit="ratio - 1", direction="lower"),
    Heading("budget", unit="ratio - 1", dispensable=4),
    Heading("launches", dispensable=5),
    Heading("reason", "prose"),
)
_FLAT = (
    "benchmark", "figure", "verdict", "base", "head", "unit", "effect", "low", "high", "p", "budget", "launches",
    "noise", "reason", "declared", "expires",
)  # fmt: skip
_WORDS = {"benchmark", "figure", "verdict", "unit", "reason", "declared", "expires"}
_ANSWERS = (Heading("about", "word"), Heading("result", "prose"))
OF_A_COMMIT = 10  # characters of a commit's id
NOT_PASSED = "What changed, failed or is inconclusive"
ABOUT = (
    "Effect: head / base - 1, trimmed mean of launches with its 95 % CI. Base and head: the median of each side alone. "
    "Their ratio may differ from the effect on a machine that drifts. Time is per call, instructions per batch."
)


def gate_sheets(gate: Gate) -> list[Sheet]:
    """Return tables for people: the verdict and what it is about first, then the numbers of what changed or failed."""
    shown, _ = parted(gate.judgements)
    numbers = judgement_sheet(shown, NOT_PASSED, reasons=False)
    about = Sheet("Notes", (), (), (*gate.notes, *where(gate)))
    others = (numbers if shown else about, differing_sheet(gate), about if shown else numbers)
    return [answer_sheet(gate), *(one for one in others if one.rows or (one is about and one.notes))]


def parted(judgements: Iterable[Judgement]) -> tuple[list[Judgement], list[Judgement]]:
    """Return the figures that differ, failed, are inconclusive or declared, worst first; then those that passed."""
    parts: tuple[list[Judgement], list[Judgement]] = ([], [])
    for one in (one for figures in by_benchmark(judgements) for one in figures):
        parts[one.verdict is GateVerdict.PASS and one.waiver is None].append(one)
    return parts


def headline(one: Judgement) -> tuple[str, str]:
    """Return the verdict on a figure, and the figure in one line.

    >>> headline(Judgement("test_merge", "time", GateVerdict.REGRESSION, 0.085, (0.079, 0.091), budget=0.03))
    ('regression', 'test_merge 8.5 % slower (7.9 to 9.1)')
    """
    seen = "" if one.effect is None else f" {change(one.effect, one.figure)}{between(one.effect, one.interval)}"
    why = f" {reason(one)}"
    rest = why if seen and why.startswith(seen) else f"{seen}:{why}"  # reasons of earlier versions have another form
    return one.verdict.value if one.waiver is None else "declared", one.benchmark + rest.removesuffix(": ")


def answer_sheet(gate: Gate) -> Sheet:
    """Return the verdict, both versions, faults, a line for each figure that differs, and a count of others."""
    shown, passed = parted(gate.judgements)
    of_arms, of_file = gate.self_test.faults, gate.declaration_faults
    faults = [*(("gate.toml", one) for one in of_file), *(("self-test", one) for one in of_arms)]
    sides = ((side, ", ".join(words)) for side, words in versions(gate))
    rows = [("verdict", verdict_line(gate)), *sides, *faults, *map(headline, shown)]
    if passed:
        effects = [one.effect for one in passed if one.figure == "time" and one.effect is not None]
        span = f", from {change(min(effects), 'time')} to {change(max(effects), 'time')}" if effects else ""
        rows.append(("pass", f"{counts(passed)}{span}"))
    return Sheet(f"Gate: suite {gate.suite}", _ANSWERS, tuple(text_row(*row) for row in rows))


def versions(gate: Gate) -> Iterator[tuple[str, list[str]]]:
    """Yield both sides: the user's name, and the version, or commit and subject of a revision."""
    commits = gate.about.get("commits", {})
    for side in SIDES:
        arm, revision = gate.arms.get(side), commits.get(side, {})
        version = revision.get("commit") or (arm.version if arm is not None else "")
        commit, _, changes = version.partition("+")
        short = commit[:OF_A_COMMIT] + " with changes" * bool(changes) if revision else version
        if words := [*filter(None, dict.fromkeys(("" if arm is None else arm.source, short, revision.get("subject"))))]:
            yield side, words


def judgement_sheet(
    judgements: Iterable[Judgement], title: str = "", notes: tuple[str, ...] = (ABOUT,), *, reasons: bool = True
) -> Sheet:
    """Return a row for each judgement, in their order; figures that are all times, and empty reasons, get no column."""
    rows = [_row(one) for one in judgements]
    used = {index for row in rows for index, cell in enumerate(row) if cell.value not in (None, "", "time")}
    spare = ("figure", "reason")  # left out where they are empty
    kept = [index for index, heading in enumerate(_HEADINGS)
            if (index in used or heading.title not in spare) and (reasons or heading.title != "reason")]  # fmt: skip
    return Sheet(
        title,
        tuple(_HEADINGS[index] for index in kept),
        tuple(tuple(row[index] for index in kept) for row in rows),
        notes,
    )


def differing_sheet(gate: Gate) -> Sheet:
    """Return the installed libraries whose versions differ between the sides."""
    libraries = [{} if (arm := gate.arms.get(side)) is None else arm.libraries for side in SIDES]
    names = sorted({*libraries[0], *libraries[1]})
    rows = [(name, *(one.get(name) for one in libraries)) for name in names]
    headings = (Heading("library", "name"), *(Heading(side, "name") for side in SIDES))
    return Sheet("Libraries that differ", headings, tuple(text_row(*row) for row in rows if row[1] != row[2]))


def self_test_sheet(gate: Gate) -> Sheet:
    """Return the figures of the self-test: whether the arms differ apart from the code under test."""
    headings = (Heading("figure", "word"), Heading("value", "prose"))
    rows = tuple(text_row(name, in_words(value)) for name, value in gate.self_test.figures.items())
    return Sheet("Self-test", headings, rows)


def environment_sheet(gate: Gate) -> Sheet:
    """Return all facts of the record about the machine and the run."""
    rows = tuple(text_row(name, in_words(value)) for name, value in _flatten(gate.about))
    return Sheet("Environment", (Heading("what", "word"), Heading("value", "prose")), rows)


def flat_gate(gate: Gate) -> Sheet:
    """Return raw values, a row per judgement in order: seconds of a call, bytes, or instructions of a batch."""
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
        *(Cell(value, of_a_call(one.figure, value or 0.0)) for value in map(one.values.get, SIDES)),
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


def of_a_call(figure: Figure, value: float) -> Format:
    """Return the format of a figure, in the unit that suits ``value``."""
    scales = _SCALES[figure]
    scale, unit = next((pair for pair in scales if abs(value) >= 0.9995 * pair[0]), scales[-1])
    return Format(f"{{:.4g}} {unit}".strip(), 1 / scale, unit)


def _flat(one: Judgement) -> dict[str, CellValue]:
    low, high = one.interval or (None, None)
    declared, expires = (None, None) if one.waiver is None else (one.waiver.reason, one.waiver.expires)
    plain = {name: getattr(one, name) for name in _FLAT if hasattr(one, name)}
    sides: dict[str, CellValue] = {side: one.values.get(side) for side in SIDES}
    further = {"unit": UNITS[one.figure], "low": low, "high": high, "declared": declared, "expires": expires}
    return {**plain, **sides, **further, "verdict": one.verdict.value, "reason": one.reason or None}


def where(gate: Gate) -> Iterator[str]:
    """Yield machine and duration, as far as the record has them."""
    facts = dict(_flatten(gate.about))
    names = {
        "environment cpu": "{}",
        "environment cores": "{} cores",
        "environment python": "Python {}",
        "seconds": "{} s",
    }
    if words := [text.format(in_words(facts[name])) for name, text in names.items() if name in facts]:
        yield f"Machine and duration: {', '.join(words)}."


def _flatten(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flatten(inner, f"{name} {key}".strip())
    else:
        yield name, value


def gate_comment(gate: Gate) -> Comment:
    """Return a comment on a pull request: verdict, versions, what did not pass, and the rest folded."""
    shown, passed = parted(gate.judgements)
    lines = tuple(": ".join(headline(one)) for one in shown)
    brief = len(lines) <= MOST_HEADLINES
    faults = (*gate.declaration_faults, *(f"Self-test: {fault}" for fault in gate.self_test.faults))
    about = (differing_sheet(gate), self_test_sheet(gate), environment_sheet(gate))
    sides = (" ".join((side, *map(inert, words))) for side, words in versions(gate))
    return Comment(
        verdict_line(gate),
        "; ".join((f"Suite {inert(gate.suite)}", *sides)),
        (*faults, *(lines if brief else ()), *gate.notes, *where(gate)),
        (
            CommentPart((judgement_sheet(shown, reasons=not brief),) if shown else ()),
            CommentPart((judgement_sheet(passed, notes=() if shown else (ABOUT,)),) if passed else (), counts(passed)),
            CommentPart(tuple(one for one in about if one.rows), "self-test and environment", MOST_BYTES_OF_A_TABLE,
                        first=True),
        ),
    )  # fmt: skip

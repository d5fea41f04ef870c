"""The benchmark ``canonical``: the entries of a log against the ids that a row gives for the same text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from pyharness.benchmarks import Benchmark, Findings, Pace, Work
from pyharness.corpora.streaming import batches
from pyharness.features.logs.canonical import CAUSES, Canonical, IdChange
from pyharness.features.logs.entries import KIND, read_entries
from pyharness.features.logs.metrics import REPORTED, LogState, measure
from pyharness.statistics.jackknife import group_of
from pyharness.types import Answer, Case, CaseResult, Column, Listing, State, Table, Tally

MOST_SHOWN = 100  # first differences that a record keeps
_BATCH_TOKENS = 1 << 16
_SHOWN_IDS = 8
_SHOWN_CHARACTERS = 200


def _brief(change: Mapping[str, Any]) -> dict[str, Any]:
    """Return a first difference with few of its ids and the beginning of its text."""
    short = {name: value[:_SHOWN_IDS] for name, value in change.items() if isinstance(value, tuple)}
    return {**change, **short, "text": change["text"][:_SHOWN_CHARACTERS]}


def run(work: Work) -> Findings:
    """Read a log once, and compare each entry with what the row gives for its text."""
    judge, state, tally = Canonical(work.spec.name, work.load()), LogState.empty(), Tally()
    changes: list[IdChange] = []
    for batch in batches(read_entries(work.text, tally), size=_BATCH_TOKENS, size_of=lambda one: one[0].tokens + 1):
        verdicts = judge.verdicts([entry for entry, _ in batch], work.threads)
        for (_, key), verdict in zip(batch, verdicts, strict=True):
            state.add(group_of(key), verdict)
            if verdict.change is not None and len(changes) < MOST_SHOWN:
                changes.append(verdict.change)
        work.progress(tally.bytes)
    given = _findings(state)
    details = {**given.details, "changes": [_brief(asdict(one)) for one in changes]}
    return replace(given, details=details, tally=tally, state=state.arrays())


def rederive(state: State, case: Case) -> Findings:
    """Compute every number again, from the counts by group."""
    del case
    return _findings(LogState.of_arrays(state))


def _findings(state: LogState) -> Findings:
    return Findings(tuple(measure(state)), {"log": state.totals(), "causes": state.by_cause()})


def first_changes(result: CaseResult) -> Iterator[tuple[str, ...]]:
    """Describe the first difference of each entry that has one."""
    for one in result.details.get("changes", ()):
        ids = (", ".join(map(str, one[side])) for side in ("logged", "canonical"))
        yield f"line {one['line']}, token {one['token']}", one["cause"], repr(one["text"]), *ids


def _legend(result: CaseResult) -> Iterator[str]:
    for cause in result.details.get("causes", ()):
        if cause in CAUSES:
            yield f"{cause}: {CAUSES[cause]}."


def logged(results: Sequence[CaseResult], data: Mapping[str, Any]) -> Iterator[Answer]:
    """Say how many entries are canonical, what they cost too much, and why."""
    del data
    for result in results:
        values = {one.metric: one.value for one in result.measurements}
        over, totals = values.get("overcount_tokens"), result.details.get("log", {})
        if not isinstance(over, int):
            continue
        judged = totals.get("judged", 0)
        parts = [f"{totals.get('canonical', 0):,} of {judged:,} canonical"] if judged else []  # 100 % would round
        parts.append(f"{over:+,} tokens" if over else "no token too many")
        causes = [f"{cause} {number:,}" for cause, number in result.details.get("causes", {}).items()]
        text = f"{result.case.corpus}, {result.case.tokenizer}: {', '.join(parts)}"
        yield Answer(
            "Logged ids", f"{text}{'; ' if causes else ''}{', '.join(causes)}.", "alarm" if over or causes else "calm"
        )


def _left_out(results: Sequence[CaseResult], data: Mapping[str, Any]) -> Iterator[str]:
    """Yield notes on entries that only some of the numbers are of."""
    del data
    totals = results[0].details.get("log", {})
    if number := totals.get("counts alone"):
        yield f"Entries with counts alone, which are not in the canonical share: {number:,}."
    if number := max(result.details.get("log", {}).get("without text", 0) for result in results):
        yield f"Entries whose ids spell no text: {number:,}. Their tokens are not counted."


TABLE = Table(
    "Logged ids",
    columns=(
        Column("log_entries", "entries"),
        Column("canonical_share", "canonical %", interval=True),
        Column("logged_tokens", "logged"),
        Column("canonical_tokens", "canonical"),
        Column("overcount_tokens", "overcount"),
        Column("overcount_share", "over %", interval=True),
    ),
    notes=(_left_out,),
)

BENCHMARKS = (
    Benchmark(
        "canonical",
        "ids or counts of a log against those that a tokenizer gives for the same text",
        run,
        corpus=KIND,
        pace=Pace(0.5, 2.0),
        metrics=REPORTED,
        tables=(TABLE,),
        answers=logged,
        listing=Listing("First differences", ("entry", "cause", "text", "logged", "canonical"), first_changes, _legend),
        rederive=rederive,
    ),
)

"""The benchmark ``canonical``: the entries of a log against the ids that a row gives for the same text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from pyharness.benchmarks import Benchmark, Findings, Pace, PassRun, Work
from pyharness.corpora.streaming import batches
from pyharness.features.logs.canonical import CAUSES, Canonical, IdChange
from pyharness.features.logs.corpus import KIND, LogCorpus, read_entries
from pyharness.features.logs.metrics import REPORTED, LogState, measure
from pyharness.metrics.counting import state_arrays
from pyharness.statistics.jackknife import group_of
from pyharness.types import Answer, Case, CaseResult, Column, Corpus, InputError, Listing, State, Table, Tally

MOST_SHOWN = 100  # first differences that a record keeps
_BATCH_TOKENS = 1 << 16
_SHOWN_IDS = 8


@dataclass(slots=True)
class LogPass:
    """One pass of one row over a log. ``merge`` adds the pass over the entries behind its own."""

    judge: Canonical
    state: LogState = field(default_factory=LogState.empty)
    tally: Tally = field(default_factory=Tally)
    changes: list[IdChange] = field(default_factory=list)

    def read(self, corpus: Corpus, threads: int, progress: Callable[[int], None]) -> None:
        """Stream the entries of a log."""
        if not isinstance(corpus, LogCorpus):
            raise InputError(f"corpus {corpus.name!r} is no log: name a file of ids, like -c ids:rollouts.jsonl")
        entries = read_entries(corpus, self.tally)
        for batch in batches(entries, size=_BATCH_TOKENS, size_of=lambda one: one[0].tokens + 1):
            for (_, key), verdict in zip(batch, self.judge.verdicts([one for one, _ in batch], threads), strict=True):
                self.state.add(group_of(key), verdict)
                if verdict.change is not None and len(self.changes) < MOST_SHOWN:
                    self.changes.append(verdict.change)
            progress(self.tally.bytes)

    def merge(self, other: LogPass) -> None:
        """Add another pass of the same row."""
        self.state.merge(other.state)
        self.tally.merge(other.tally)
        self.changes = [*self.changes, *other.changes][:MOST_SHOWN]

    def arrays(self) -> State:
        """Return the counts by group, and the tally. First differences are not kept: they hold text."""
        return {**self.state.arrays(), **state_arrays.of_tally(self.tally)}

    def restore(self, arrays: State) -> None:
        """Invert ``arrays``."""
        self.state, self.tally = LogState.of_arrays(arrays), state_arrays.tally_of(arrays)

    def findings(self) -> Findings:
        """Return every number, and the arrays to keep with a record."""
        given = _findings(self.state)
        changes = [asdict(one) | {"text": one.text[:200]} for one in self.changes]
        details = {**given.details, "changes": [_brief(one) for one in changes]}
        return replace(given, details=details, tally=self.tally, state=self.state.arrays())


def _brief(change: Mapping[str, Any]) -> dict[str, Any]:
    """Return a first difference with few of its ids."""
    return {name: value[:_SHOWN_IDS] if isinstance(value, tuple) else value for name, value in change.items()}


def starts(work: Work) -> LogPass:
    """Start the pass of a row over a log."""
    return LogPass(Canonical(work.spec.name, work.load()))


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
        share, over = values.get("canonical_share"), values.get("overcount_tokens")
        if not isinstance(over, int):
            continue
        parts = [] if share is None else [f"{100 * share:.4g} % canonical"]
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
        PassRun(starts),
        corpus=KIND,
        pace=Pace(0.5, 2.0),
        metrics=tuple(metric.name for metric in REPORTED),
        tables=(TABLE,),
        answers=logged,
        listing=Listing("First differences", ("entry", "cause", "text", "logged", "canonical"), first_changes, _legend),
        rederive=rederive,
    ),
)

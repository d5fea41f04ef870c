"""Fairness: costs of aligned sentences in every language of a parallel corpus."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyharness.benchmarks import Benchmark, Findings, NoFindings, Pace, PassRun, Work
from pyharness.corpora.streaming import batches, work_key
from pyharness.metrics import fairness
from pyharness.metrics.counting import state_arrays
from pyharness.statistics.jackknife import group_of
from pyharness.types import (
    WORK,
    Answer,
    Case,
    CaseResult,
    Column,
    Format,
    HasCalibration,
    HasSegments,
    InputError,
    NotSpelled,
    ParallelCorpus,
    Plot,
    State,
    Table,
    Tally,
    Tokenizer,
    digest_of,
)

ROWS_PER_BATCH = 64


def add_rows(
    state: fairness.FairnessState, count: Callable[[list[str], NDArray[np.int64]], NDArray[np.int64]],
    rows: list[Mapping[str, str]], tally: Tally,
) -> None:  # fmt: skip
    """Count the tokens or units of some rows.

    A row's group is the hash of its work or, without one, of its text in the reference language.
    """
    texts = [row[language] for row in rows for language in state.languages]
    sizes = np.array([len(text.encode()) for text in texts], np.int64)
    counts = count(texts, sizes).reshape(len(rows), -1)
    for row, row_tokens, row_sizes in zip(rows, counts, sizes.reshape(len(rows), -1), strict=True):
        digests = {language: tally.add(row[language]) for language in state.languages}
        key = digest_of(work_key(row[WORK])) if row.get(WORK) else digests[state.reference]
        state.update(group_of(key), row_tokens, row_sizes)


def _counting(work: Work) -> Callable[[list[str], NDArray[np.int64]], NDArray[np.int64]]:
    """Return the function that counts the tokens of texts of given sizes; units, for a row that cuts text into them."""
    segmenter = None if work.spec.instead is None else work.spec.instead.make(work.spec)
    if not isinstance(segmenter, HasSegments):
        tokenizer = segmenter if isinstance(segmenter, Tokenizer) else work.load()
        return lambda texts, _: np.diff(tokenizer.encode_batch(texts, work.threads).offsets)

    def units(texts: list[str], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
        if isinstance(segmenter, HasCalibration):
            for text in texts:
                segmenter.check_unseen(text, (digest_of(text),))
        segments = segmenter.segment_batch(texts, work.threads)
        fault = segments.fault(sizes)
        if fault is not None or segments.missing.any():
            raise NotSpelled(fault or "units do not spell a text")
        return np.diff(segments.offsets)

    return units


@dataclass(slots=True)
class FairnessPass:
    """One pass of one row over aligned text. ``merge`` adds the pass over the rows behind its own."""

    row: str
    count: Callable[[list[str], NDArray[np.int64]], NDArray[np.int64]]
    state: fairness.FairnessState
    tally: Tally = field(default_factory=Tally)

    def read(self, corpus: ParallelCorpus, threads: int, progress: Callable[[int], None]) -> None:
        """Stream the rows of the corpus."""
        del threads  # ``count`` knows them
        try:
            for rows in batches(corpus.rows(self.tally), count=ROWS_PER_BATCH):
                add_rows(self.state, self.count, rows, self.tally)
                progress(self.tally.bytes)
        except NotSpelled as reason:
            raise NoFindings(Findings(status="failed", reason=f"{self.row}: {reason}", tally=self.tally)) from None

    def merge(self, other: FairnessPass) -> None:
        """Add another pass of the same row over rows of the same languages."""
        self.state.merge(other.state)
        self.tally.merge(other.tally)

    def arrays(self) -> State:
        """Return the costs by group, and the tally."""
        return {**self.state.arrays(), **state_arrays.of_tally(self.tally)}

    def restore(self, arrays: State) -> None:
        """Invert ``arrays``; raise ``InputError`` for rows of other languages."""
        state = fairness.FairnessState.of_arrays(arrays)
        if (state.languages, state.reference) != (self.state.languages, self.state.reference):
            raise InputError("a part was read with other languages; read all parts with the same")
        self.state, self.tally = state, replace(state_arrays.tally_of(arrays), beginnings=None)

    def findings(self) -> Findings:
        """Return every number, and the arrays to keep with a record."""
        return replace(_findings(self.state), tally=self.tally, state=self.state.arrays())


def starts(work: Work) -> FairnessPass:
    """Start the pass of a row over aligned text."""
    state = fairness.FairnessState.empty(work.aligned.languages, work.aligned.reference)
    return FairnessPass(work.spec.name, _counting(work), state)


def rederive(state: State, case: Case) -> Findings:
    """Compute every number again, and the details except the tally, from the costs by group."""
    del case
    return _findings(fairness.FairnessState.of_arrays(state))


def _findings(state: fairness.FairnessState) -> Findings:
    details = {
        "reference": state.reference,
        "rows": int(state.rows.sum()),
        "tokens": dict(zip(state.languages, state.tokens.sum(axis=0).tolist(), strict=True)),
        "bytes": dict(zip(state.languages, state.bytes.sum(axis=0).tolist(), strict=True)),
    }
    return Findings(tuple(fairness.measure(state)), details)


def _name_aligned(results: Sequence[CaseResult], data: Mapping[str, Any]) -> str:
    """Name the text with its languages and rows."""
    del data
    label = str(results[0].case.corpus)
    languages = {one.part for result in results for one in result.measurements if one.metric == "parity"}
    rows = next((one.value for one in results[0].measurements if one.metric == "aligned_rows"), None)
    return f"{label}, {len(languages) + 1} languages" + (f", {rows:,} aligned lines" if isinstance(rows, int) else "")


def _reference(results: Sequence[CaseResult], data: Mapping[str, Any]) -> Iterator[str]:
    """Name the reference of the premiums."""
    del data
    homes = [one.part for result in results for one in result.measurements if one.metric == "aligned_rows"]
    for home in dict.fromkeys(filter(None, homes)):
        yield f"median, least, most: tokens (or units) of a language relative to {home}, on the same sentences."
        yield "Gini: how unequal the languages are, from 0 (all alike) to 1."


def costliest(results: Sequence[CaseResult], data: Mapping[str, Any]) -> Iterator[Answer]:
    """Name the language that needs the most tokens for the same sentences: in the best row, and in the worst."""
    del data
    for label in dict.fromkeys(result.case.corpus for result in results):
        own = [result for result in results if result.case.corpus == label]
        most = sorted((one for result in own if (one := _most(result)) is not None), key=lambda one: one[0])
        if most:
            (least, easy, best), (premium, dear, worst) = most[0], most[-1]
            text = f"{dear} with {worst}: {premium:.2f}x the tokens of {own[0].details.get('reference')}"
            text += f". Lowest maximum: {best}, {least:.2f}x ({easy})" if len(most) > 1 else ""
            yield Answer("Costliest language", f"{text}.")


def _most(result: CaseResult) -> tuple[float, str, str] | None:
    """Return the highest premium of a row, its language and the row."""
    parity = [one for one in result.measurements if one.metric == "parity" and one.value is not None]
    return max(((one.value or 0.0, str(one.part), result.case.tokenizer) for one in parity), default=None)


_SHORT = Format("{:.2f}")
TABLE = Table(
    "Fairness",
    columns=(
        Column("premium_gini", "Gini", interval=True),
        Column("parity", "median", pick="median"),
        Column("parity", "least", pick="least", shows="value and part", format=_SHORT),
        Column("parity", "most", pick="most", shows="value and part", format=_SHORT),
    ),
    notes=(_reference,),
    text=_name_aligned,
)

PLOT = Plot(
    Table("Parity of languages", columns=(Column("parity", "{part}", each=True, interval=True),), text=_name_aligned),
    "Tokens of a language relative to those of the reference language, on the same sentences; 1 is parity.",
    drawing="dots by column",
    at=1.0,
)

BENCHMARKS = (
    Benchmark(
        "fairness",
        "premiums of languages on aligned sentences",
        PassRun(starts),
        corpus="parallel",
        place=4,
        metrics=fairness.METRICS,
        pace=Pace(0.15),
        tables=(TABLE,),
        plots=(PLOT,),
        answers=costliest,
        rederive=rederive,
    ),
)

"""Fairness: what aligned sentences cost in every language of a parallel corpus."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pyharness.benchmarks import Benchmark, Findings, Work
from pyharness.corpora.batching import batches
from pyharness.metrics import fairness
from pyharness.statistics.jackknife import group_of
from pyharness.types import (
    Case,
    CaseResult,
    Column,
    Format,
    State,
    Table,
    Tally,
    Tokenizer,
)

ROWS_PER_BATCH = 64


def add_rows(
    state: fairness.FairnessState,
    tokenizer: Tokenizer,
    rows: list[Mapping[str, str]],
    threads: int,
    tally: Tally,
) -> None:
    """Encode some rows and add their costs; a row's group is the hash of its text in the reference language."""
    texts = [row[language] for row in rows for language in state.languages]
    tokens = np.diff(tokenizer.encode_batch(texts, threads).offsets).reshape(len(rows), -1)
    sizes = np.array([len(text.encode()) for text in texts], np.int64).reshape(len(rows), -1)
    for row, row_tokens, row_sizes in zip(rows, tokens, sizes, strict=True):
        digests = {language: tally.add(row[language]) for language in state.languages}
        state.update(group_of(digests[state.reference]), row_tokens, row_sizes)


def run(work: Work) -> Findings:
    """Stream the rows of the corpus."""
    corpus, tokenizer, tally = work.aligned, work.load(), Tally()
    state = fairness.FairnessState.empty(corpus.languages, corpus.reference)
    for rows in batches(corpus.rows(tally), count=ROWS_PER_BATCH):
        add_rows(state, tokenizer, rows, work.threads, tally)
        work.progress(tally.bytes)
    findings = _findings(state)
    return replace(findings, tally=tally, state=state.arrays())


def rederive(state: State, case: Case) -> Findings:
    """Every number again, and the details that are no tally, from the costs by group."""
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


def _aligned(results: Sequence[CaseResult], data: Mapping[str, Any]) -> str:
    """Name the text with its languages and rows."""
    del data
    label = str(results[0].case.corpus)
    languages = {one.part for result in results for one in result.measurements if one.metric == "parity"}
    rows = next((one.value for one in results[0].measurements if one.metric == "aligned_rows"), None)
    return f"{label}, {len(languages) + 1} languages" + (f", {rows:,} rows" if isinstance(rows, int) else "")


def _reference(results: Sequence[CaseResult], data: Mapping[str, Any]) -> Iterator[str]:
    """Say what premiums are relative to."""
    del data
    homes = [one.part for result in results for one in result.measurements if one.metric == "aligned_rows"]
    for home in dict.fromkeys(filter(None, homes)):
        yield f"median, least, most: tokens of a language, relative to those of {home} on the same rows."


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
    text=_aligned,
)

BENCHMARKS = (
    Benchmark(
        "fairness",
        "premiums of languages on aligned sentences",
        run,
        corpus="parallel",
        metrics=tuple(metric.name for metric in fairness.METRICS),
        tables=(TABLE,),
        rederive=rederive,
    ),
)

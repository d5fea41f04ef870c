"""Replaced tokens: two vocabularies of one size on one text, such as Scaffold-BPE's against plain BPE's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyharness import tokenizers
from pyharness.benchmarks import Benchmark, Findings, Work, notes
from pyharness.benchmarks.compression import CorpusPass
from pyharness.features.training import rows as trained
from pyharness.metrics.counting import state_arrays
from pyharness.metrics.counting.state import CorpusState, Counts
from pyharness.plugins.specification import TOKENIZER
from pyharness.statistics import jackknife
from pyharness.statistics.jackknife import Undefined
from pyharness.types import (
    PERCENT,
    Case,
    CaseResult,
    Column,
    Format,
    Measurement,
    Metric,
    Published,
    State,
    Table,
    TokenizerSpec,
    Unsupported,
    Vocabulary,
)


@dataclass(frozen=True, slots=True)
class Replacement:
    """Tokens (by their bytes) that only one of two vocabularies has. Ids, int64."""

    left: NDArray[np.int64]  # of the first vocabulary
    entered: NDArray[np.int64]  # of the second

    @classmethod
    def of(cls, first: Vocabulary, second: Vocabulary) -> Replacement:
        """Compare the tokens of V; raise ``Undefined`` when the sizes differ or no tokens do."""
        sizes = [int(vocabulary.counted.sum()) for vocabulary in (first, second)]
        if sizes[0] != sizes[1]:
            raise Undefined(f"the vocabularies differ in size: {sizes[0]:,} and {sizes[1]:,} tokens")
        mine, theirs = _by_bytes(first), _by_bytes(second)
        left, entered = _only(mine, theirs), _only(theirs, mine)
        if not len(left) or not len(entered):
            raise Undefined("both vocabularies have the same tokens")
        return cls(left, entered)


def _by_bytes(vocabulary: Vocabulary) -> dict[bytes, int]:
    return {vocabulary[token]: token for token in np.flatnonzero(vocabulary.counted).tolist()}


def _only(mine: dict[bytes, int], theirs: dict[bytes, int]) -> NDArray[np.int64]:
    return np.array([token for data, token in mine.items() if data not in theirs], np.int64)


def replaced_token_frequency(first: Counts, second: Counts, tokens: Replacement) -> float:
    """Return the mean count of the tokens that entered, relative to that of the tokens they replace, minus 1.

    Each mean is over types, unused ones included: counts on the text by the tokenizer that has them.

    Source: Scaffold-BPE, arXiv 2404.17808, Figure 5.
    """
    before = float(first.histogram[tokens.left].mean())
    if before == 0:
        raise Undefined("the replaced tokens do not occur in the text")
    return float(second.histogram[tokens.entered].mean()) / before - 1


def measure(first: CorpusState, second: CorpusState) -> list[Measurement]:
    """Return both metrics of two passes over the same documents; the frequency has the replicates of its interval."""
    names = ("replaced_token_share", "replaced_token_frequency")
    try:
        if first.facts.vocabulary is None or second.facts.vocabulary is None:
            raise Undefined("an engine does not expose the bytes of its tokens")
        tokens = Replacement.of(first.facts.vocabulary, second.facts.vocabulary)
    except Undefined as reason:
        return [Measurement(name, None, reason=str(reason)) for name in names]
    share = Measurement(names[0], len(tokens.left) / first.facts.vocab_size)
    totals = first.total(), second.total()

    def of(groups: jackknife.Groups) -> float:
        return replaced_token_frequency(first.of(groups, totals[0]), second.of(groups, totals[1]), tokens)

    return [share, jackknife.estimate(names[1], first.counters["documents"].tolist(), of)]


REPORTED = (
    Metric(
        "replaced_token_share", "share", "none", "share of a vocabulary of the same size that this row does not have",
        format=PERCENT,
    ),
    Metric(
        "replaced_token_frequency", "share", "higher",
        "mean count of the new tokens, relative to that of the tokens they replace, minus 1",
        format=Format("{:+.2f}", 100, "%"),
    ),
)  # fmt: skip


_PREFIXES = ("counterpart: ", "row: ")  # of the arrays of each state


def counterpart(row: TokenizerSpec, trainer: str) -> str:
    """Return the specification of the row's counterpart: the same recipe and engine, with another trainer.

    Raises:
        Unsupported: the row was not trained here, or by this very trainer.
    """
    recipe = trained.recipe_of(row.name)
    if recipe is None:
        raise Unsupported("it was not trained here: only rows trained:... have a counterpart of the same size and text")
    if recipe.trainer.name == trainer:
        raise Unsupported(f"a {trainer} vocabulary replaces nothing of itself")
    wanted = TOKENIZER.parse(row.name)
    return TOKENIZER.write("trained", trainer, wanted.options, wanted.engine)


def other(parameters: Mapping[str, Any], row: TokenizerSpec) -> str:
    """Return the specification of the counterpart."""
    return counterpart(row, parameters["against"])


def run(work: Work) -> Findings:
    """Read the text with both rows."""
    against = tokenizers.load(counterpart(work.spec, work.case.parameters["against"]))
    first = CorpusPass.start(against).read(work.text, work.threads)
    second = CorpusPass.start(work.load()).read(work.text, work.threads, work.progress)
    measurements = measure(first.state, second.state)
    kept = {
        **state_arrays.of_corpus_state(first.state, _PREFIXES[0]),
        **state_arrays.of_corpus_state(second.state, _PREFIXES[1]),
    }
    return Findings(tuple(measurements), tally=second.tally, state=kept)


def rederive(state: State, case: Case) -> Findings:
    """Compute every number again from the histograms of both."""
    del case
    first, second = (state_arrays.corpus_state_of(state, prefix) for prefix in _PREFIXES)
    return Findings(tuple(measure(first, second)))


def _against(results: Sequence[CaseResult], data: Mapping[str, Any]) -> Iterator[str]:
    """Name the counterpart, and the reason why a row has no number."""
    del data
    others = {str(result.case.parameters["against"]) for result in results if "against" in result.case.parameters}
    if others:
        yield f"replaced %: share of the V of {', '.join(sorted(others))}, trained alike, that this row does not have."
        yield "frequency %: how much more often the new tokens occur than those they replace (mean count)."
    reported = {metric.name for metric in REPORTED}
    for result in results:
        reasons = [one.reason for one in result.measurements if one.metric in reported and one.reason]
        yield from (f"{result.case.tokenizer}: {reason}." for reason in reasons[:1])


PAPER = Published(  # a vocabulary of 32K on the Pile
    notes.SCAFFOLD_PAPER,
    (("paper: Scaffold 32K", {"replaced_token_share": "6.07", "replaced_token_frequency": "76.40"}),),
    metrics=("replaced_token_share",),
)
TABLE = Table(
    "Scaffold tokens",
    columns=(
        Column("scaffold_share", "scaffold %"),
        Column("replaced_token_share", "replaced %"),
        Column("replaced_token_frequency", "frequency %", interval=True),
    ),
    notes=("scaffold %: |S|/|V|, merged but never written.", _against, notes.provenance),
    sized=False,
    published=PAPER,
)

BENCHMARKS = (
    Benchmark(
        "replaced_tokens",
        "tokens of a counterpart (same recipe, another trainer) that this row replaces, and how often both are used",
        run,
        corpus="required",
        place=10,
        metrics=REPORTED,
        tables=(TABLE,),
        parameters={"against": "bpe"},
        loads=other,
        rederive=rederive,
    ),
)

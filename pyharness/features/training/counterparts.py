"""Replaced tokens: two vocabularies of one size on the same text, such as Scaffold-BPE's against plain BPE's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pyharness import tokenizers
from pyharness.benchmarks import Benchmark, Findings, Work, notes
from pyharness.benchmarks.compression import CorpusPass
from pyharness.features.training import replaced_tokens
from pyharness.features.training import rows as trained
from pyharness.metrics.counting import state_arrays
from pyharness.plugins.specification import TOKENIZER
from pyharness.types import Case, CaseResult, Column, Published, State, Table, TokenizerSpec, Unsupported

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
    measurements = replaced_tokens.measure(first.state, second.state)
    kept = {
        **state_arrays.of_corpus_state(first.state, _PREFIXES[0]),
        **state_arrays.of_corpus_state(second.state, _PREFIXES[1]),
    }
    return Findings(tuple(measurements), tally=second.tally, state=kept)


def rederive(state: State, case: Case) -> Findings:
    """Compute every number again from the histograms of both."""
    del case
    first, second = (state_arrays.corpus_state_of(state, prefix) for prefix in _PREFIXES)
    return Findings(tuple(replaced_tokens.measure(first, second)))


def _against(results: Sequence[CaseResult], data: Mapping[str, Any]) -> Iterator[str]:
    """Name the counterpart, and the reason why a row has no number."""
    del data
    others = {str(result.case.parameters["against"]) for result in results if "against" in result.case.parameters}
    if others:
        yield f"replaced %: share of the V of {', '.join(sorted(others))}, trained alike, that this row does not have."
        yield "frequency %: how much more often the new tokens occur than those they replace (mean count)."
    reported = {metric.name for metric in replaced_tokens.REPORTED}
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
        metrics=tuple(metric.name for metric in replaced_tokens.REPORTED),
        tables=(TABLE,),
        parameters={"against": "bpe"},
        loads=other,
        rederive=rederive,
    ),
)

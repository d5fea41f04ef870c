"""Suite -> cases: every name resolved, every parameter checked, before anything runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from pyharness import corpora, store, tokenizers
from pyharness.benchmarks import Benchmark, benchmarks
from pyharness.benchmarks.rounds import rounds_of
from pyharness.kernels.arrays import devices
from pyharness.metrics import all_metrics
from pyharness.plugins.registry import pick, suggest
from pyharness.suite import obtaining
from pyharness.suite.declaration import DEVICES, Entry, Selection, Suite
from pyharness.suite.parameters import parameter_points
from pyharness.suite.strangers import blamed, check_metrics, checked_corpus
from pyharness.types import (
    Case,
    Corpus,
    InputError,
    TokenizerSpec,
    TrainingProgress,
    Unsupported,
    kind_of,
)


@dataclass(frozen=True, slots=True)
class Plan:
    """A suite with every name resolved: nothing has run yet, and nothing unknown is left."""

    suite: Suite
    tokenizers: Mapping[str, TokenizerSpec]
    corpora: Mapping[str, Corpus]
    cases: tuple[Case, ...]


def plan(
    suite: Suite, preparing: Callable[[str, TrainingProgress], None] | None = None, *, obtain: bool = True
) -> Plan:
    """Resolve every name; all that is wrong is reported at once, before anything runs.

    Rows that are trained here are trained now: ``preparing`` is told which one, and how far that is. Without ``obtain``
    nothing is trained or downloaded: rows are described as far as that can be done.
    """
    _check_device(suite.device)
    problems: list[str] = []
    check_metrics(all_metrics())
    rows = obtaining.obtained(suite, preparing, problems) if obtain else obtaining.resolved(suite, problems)
    texts = _texts(suite.corpora, problems)
    cases: list[Case] = []
    for selection in suite.selections:
        try:
            cases += [_settled(case, rows, suite.device, obtain) for case in _cases(selection, suite, texts)]
        except InputError as error:
            problems.append(str(error))
    labels = [entry.label for entry in suite.tokenizers]
    of_cases = (case.parameters.get("reference") or None for case in cases if rounds_of(case))  # "": not settled
    references: set[Any] = {suite.reference, *of_cases}
    problems += [str(suggest("reference", name, labels)) for name in references - {None, *labels}]
    problems += _references_elsewhere(cases, labels)
    if problems:
        raise InputError("\n".join(dict.fromkeys(problems)))
    if not cases:
        raise InputError(f"suite {suite.name!r} has nothing to run: it needs tokenizers, corpora and benchmarks")
    planned = Plan(suite, rows, texts, tuple(_distinct(cases)))
    _try_to_record(planned)
    return planned


def _references_elsewhere(cases: Iterable[Case], labels: Sequence[str]) -> list[str]:
    """Problems of benchmarks whose ``reference`` is a row of the suite and none of theirs: there would be no ratio."""
    by_key = {case.key: case for case in cases}
    problems = []
    for case in by_key.values():
        reference = case.parameters.get("reference") if rounds_of(case) else None
        if reference in labels and replace(case, tokenizer=str(reference)).key not in by_key:
            problems.append(
                f"benchmark {case.benchmark!r}: the reference {reference!r} takes no turn among its rows, so there "
                f"is no ratio to it; add it to tokenizers = [...] of this benchmark"
            )
    return problems


def _try_to_record(plan: Plan) -> None:
    """Write what a record will say of the plan, to nowhere: what it cannot hold is found out before measuring."""
    rows = {
        label: [spec.name, spec.source, spec.licence, spec.revision, spec.vocabulary, spec.path]
        for label, spec in plan.tokenizers.items()
    }
    texts = {
        label: [text.name, text.language, text.domain, text.licence, text.smoke_test]
        for label, text in plan.corpora.items()
    }
    cases = [dict(case.parameters) for case in plan.cases]
    try:
        store.dump({"suite": plan.suite.as_json(), "tokenizers": rows, "corpora": texts, "results": cases})
    except InputError as error:
        raise InputError(f"suite {plan.suite.name!r}: {error}") from None


def _texts(wanted: Sequence[Entry], problems: list[str]) -> dict[str, Corpus]:
    opened = {}
    for entry in wanted:
        try:
            with blamed(f"corpus {entry.label!r}"):
                opened[entry.label] = checked_corpus(entry.label, corpora.open_corpus(entry.spec))
        except InputError as error:
            problems.append(str(error))
    return opened


def _check_device(device: str) -> None:
    if device not in DEVICES:
        raise InputError(f"unknown device {device!r}; known: {', '.join(DEVICES)}")
    if device == "cuda" and (reason := devices.cuda_reason()) is not None:
        raise devices.CudaUnavailable(f"device 'cuda' cannot be used: {reason}; use 'cpu', or leave it out")


def _settled(case: Case, rows: Mapping[str, TokenizerSpec], device: str, obtain: bool) -> Case:
    """Let the benchmark check the case, and obtain the other row that it loads, if any.

    What the row cannot do stays as it is, and is skipped when it is run."""
    if case.tokenizer not in rows:
        return case
    try:
        with blamed(f"benchmark {case.benchmark!r} with {case.tokenizer!r}"):
            benchmark, row = benchmarks()[case.benchmark], rows[case.tokenizer]
            parameters = benchmark.settle(case.parameters, row, device)
            if obtain and benchmark.loads is not None and (other := benchmark.loads(case.parameters, row)) is not None:
                tokenizers.obtain(other)
            return replace(case, parameters=parameters)
    except Unsupported:
        return case


def _distinct(cases: Iterable[Case]) -> list[Case]:
    return list({case.key: case for case in cases}.values())


def _cases(selection: Selection, suite: Suite, texts: Mapping[str, Corpus]) -> list[Case]:
    benchmark = pick("benchmark", selection.benchmark, benchmarks())
    for name in selection.parameters.keys() - benchmark.parameters.keys():
        raise suggest(f"parameter of {benchmark.name}", name, benchmark.parameters)
    rows = _chosen("tokenizer", selection.tokenizers, suite.tokenizers)
    chosen = _corpora(benchmark, selection, suite, texts)
    parameters = parameter_points(benchmark, selection.parameters, suite.oversubscribe)
    return [Case(benchmark.name, row, text, values) for row, text, values in product(rows, chosen, parameters)]


def _chosen(kind: str, wanted: Sequence[str] | None, known: Sequence[Entry]) -> list[str]:
    labels = dict.fromkeys(entry.label for entry in known)
    for label in wanted or ():
        if label not in labels:
            raise suggest(kind, label, labels)
    return list(labels if wanted is None else wanted)


_ANY = ("required", "optional")  # kind of corpus


def _corpora(benchmark: Benchmark, selection: Selection, suite: Suite, texts: Mapping[str, Corpus]) -> list[str | None]:
    if benchmark.corpus == "none" or (benchmark.corpus == "optional" and selection.corpora is None):
        return [None]
    chosen = _chosen("corpus", selection.corpora, suite.corpora)
    if (kind := benchmark.corpus) not in _ANY:
        if selection.corpora is None:
            return [label for label in chosen if label in texts and kind_of(texts[label]) == kind]
        for label in chosen:
            if label in texts and kind_of(texts[label]) != kind:
                said = f"benchmark {benchmark.name!r} needs a corpus of the kind {kind!r}"
                raise InputError(f"{said}, and {label!r} is of the kind {kind_of(texts[label])!r}")
    if not chosen:
        raise InputError(f"benchmark {benchmark.name!r} needs a corpus; give one, such as 'sample'")
    return list(chosen)

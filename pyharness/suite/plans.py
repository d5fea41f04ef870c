"""Suite -> cases: every name resolved, every parameter checked, before anything runs.

The suite's ``workers`` train rows in parallel; rows that share a training are trained one after another.

Values from plug-ins are checked, too, so none of them ends in a traceback.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any, get_args

from pyharness import corpora, store, tokenizers
from pyharness.benchmarks import Benchmark, benchmarks
from pyharness.benchmarks.rounds import rounds_of
from pyharness.corpora.options import size
from pyharness.kernels import devices
from pyharness.metrics import all_metrics
from pyharness.plugins.registry import pick, suggest
from pyharness.suite.declaration import DEVICES, Entry, Selection, Suite, shown
from pyharness.system import lifeline, threads
from pyharness.system.child_process import PreparationLane
from pyharness.system.environment import cores
from pyharness.system.threads import Stopped
from pyharness.types import (
    Case,
    Corpus,
    Direction,
    InputError,
    Metric,
    TokenizerSpec,
    TrainingProgress,
    Unsupported,
    kind_of,
)

# -------------------------------------------------------------------------------------------- parameters of benchmarks


EVERY_POWER = "powers of two"  # thread counts: 1, 2, 4, ... up to the cores that this process may use
_LARGEST = 2**63 - 1
_LONGEST_SIZE = 40  # characters of a number of bytes


def parameter_points(benchmark: Benchmark, given: Mapping[str, Any], oversubscribe: bool) -> list[dict[str, Any]]:
    """Return one set of values per case: lists give their product.

    Raises:
        InputError: a value has another type or is out of range, or ``given`` has more threads than are allowed.
    """
    most_threads = None if oversubscribe else cores()
    axes: dict[str, list[Any]] = {}
    for name, value in {**benchmark.parameters, **given}.items():
        if name == "threads" and value == EVERY_POWER:
            axes[name] = powers_of_two(cores())
            continue
        values = list(value) if isinstance(value, list | tuple) else [value]
        if not values:
            raise InputError(f"benchmark {benchmark.name!r}: {name} = [] has no value; give one or leave it out")
        try:
            most = most_threads if name in given else None
            axes[name] = [_check_value(name, one, benchmark.parameters[name], most) for one in values]
        except InputError as error:
            raise InputError(f"benchmark {benchmark.name!r}: {error}") from None
    return [dict(zip(axes, point, strict=True)) for point in product(*axes.values())]


def _check_value(name: str, value: Any, default: Any, most_threads: int | None) -> Any:
    if name == "threads":
        return _threads(value, most_threads)
    sample = default[0] if isinstance(default, list | tuple) and default else default
    if isinstance(sample, bool):
        return _of_type(name, value, bool, "true or false")
    if isinstance(sample, int):
        if name == "bytes":
            least, wanted = 1, "a whole number of bytes, or one with kB, MB, GB, KiB, MiB or GiB: 2MB"
            value = size(name, value) if isinstance(value, str) and len(value) <= _LONGEST_SIZE else value
        else:
            least, wanted = 0, "a whole number from 0"
        return _of_range(name, _of_type(name, value, int, wanted), least, wanted)
    if isinstance(sample, float):
        number = float(_of_type(name, value, int | float, "a number"))
        if not math.isfinite(number):
            raise InputError(f"{name} = {shown(value)} is not finite; write a number")
        return number
    return _of_type(name, value, str, "text; write it in quotes") if isinstance(sample, str) else value


def _threads(value: Any, most: int | None) -> int:
    wanted = f"a number of threads from 1, a list of them, or {EVERY_POWER!r}"
    count = _of_range("threads", _of_type("threads", value, int, wanted), 1, wanted)
    if most is not None and count > most:
        raise InputError(
            f"threads = {count} is more than the {most} cores of this process: ask for at most {most}, or write "
            "oversubscribe = true in the suite"
        )
    return count


def _of_type(name: str, value: Any, kind: Any, wanted: str) -> Any:
    if not isinstance(value, kind) or (kind is not bool and isinstance(value, bool)):
        raise InputError(f"{name} = {shown(value)} is not {wanted}")
    return value


def _of_range(name: str, value: int, least: int, wanted: str) -> int:
    if not least <= value <= _LARGEST:
        raise InputError(f"{name} = {shown(value)} is out of range; write {wanted}")
    return value


def powers_of_two(limit: int) -> list[int]:
    """Return 1, 2, 4, ... up to the limit."""
    return [1 << exponent for exponent in range(limit.bit_length())]


# ---------------------------------------------------------------------------------------------- rows


Listening = Callable[[str, TrainingProgress], None]


def obtained(suite: Suite, listening: Listening | None, problems: list[str]) -> Mapping[str, TokenizerSpec]:
    """Return rows by label, as declared; add the errors of the others to ``problems``."""
    outcomes: dict[str, TokenizerSpec | InputError] = {}
    lock = threading.Lock()

    def obtain(entries: Sequence[Entry], lane: PreparationLane) -> None:
        with lane.used():
            for entry in entries:
                heard = None if listening is None else _listener(listening, entry, lock)
                outcomes[entry.label] = _row(entry, partial(tokenizers.obtain, progress=heard))

    number = min(suite.workers, cores())
    lanes = [PreparationLane(number) for _ in range(number)]
    threads.share_out(_in_turn(suite.tokenizers), lanes, obtain, PreparationLane.stop)
    return _described({entry.label: outcomes[entry.label] for entry in suite.tokenizers}, problems)


def resolved(suite: Suite, problems: list[str]) -> Mapping[str, TokenizerSpec]:
    """Return rows as far as possible without training or downloading anything; add errors to ``problems``."""
    return _described({entry.label: _row(entry, tokenizers.resolve) for entry in suite.tokenizers}, problems)


def _described(outcomes: Mapping[str, TokenizerSpec | InputError], problems: list[str]) -> Mapping[str, TokenizerSpec]:
    """Return the rows that could be described; add the errors of the others to ``problems``."""
    problems += [str(error) for error in outcomes.values() if isinstance(error, InputError)]
    return {label: row for label, row in outcomes.items() if isinstance(row, TokenizerSpec)}


def _in_turn(entries: Sequence[Entry]) -> list[list[Entry]]:
    """Return groups of entries that share a training, in the order in which one training serves all."""
    turns = {entry.label: tokenizers.precedence(entry.spec) for entry in entries}
    together: dict[str, list[Entry]] = {}
    for entry in sorted(entries, key=lambda entry: turns[entry.label][1]):
        together.setdefault(turns[entry.label][0], []).append(entry)
    return list(together.values())


def _listener(listening: Listening, entry: Entry, lock: threading.Lock) -> Callable[[TrainingProgress], None]:
    def hear(progress: TrainingProgress) -> None:
        with lock:
            listening(entry.label, progress)

    return hear


def _row(entry: Entry, describe: Callable[[str], TokenizerSpec]) -> TokenizerSpec | InputError:
    try:
        with blamed(f"tokenizer {entry.label!r}"):
            return replace(checked_row(entry.label, describe(entry.spec)), label=entry.label)
    except InputError as error:
        return error


@dataclass(frozen=True, slots=True)
class Plan:
    """A suite with every name resolved: nothing has been measured, and no name is unknown."""

    suite: Suite
    tokenizers: Mapping[str, TokenizerSpec]
    corpora: Mapping[str, Corpus]
    cases: tuple[Case, ...]


def plan(
    suite: Suite, preparing: Callable[[str, TrainingProgress], None] | None = None, *, obtain: bool = True
) -> Plan:
    """Resolve every name, and report the errors of all at once, before anything is measured.

    Rows that are trained here are trained now: ``preparing`` gets the row's label and its progress. Without ``obtain``
    nothing is trained or downloaded: rows are described as far as possible.

    Raises:
        InputError: a line for each error, or the suite has nothing to run.
        CudaUnavailable: the suite's device is ``cuda``, which cannot be used.
    """
    _check_device(suite.device)
    problems: list[str] = []
    check_metrics(all_metrics())
    rows = obtained(suite, preparing, problems) if obtain else resolved(suite, problems)
    texts = _texts(suite.corpora, problems)
    cases: list[Case] = []
    for selection in suite.selections:
        try:
            cases += [_settle(case, rows, suite.device, obtain) for case in _cases(selection, suite, texts)]
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
        kinds = {one.benchmark: benchmarks()[one.benchmark].corpus for one in suite.selections}
        needs = "".join(f"; {name} needs a corpus {kind!r}" for name, kind in kinds.items() if kind not in _ANY)
        raise InputError(f"suite {suite.name!r} has nothing to run: it needs tokenizers, corpora and benchmarks{needs}")
    distinct = {case.key: case for case in cases}
    planned = Plan(suite, rows, texts, tuple(distinct.values()))
    _try_to_record(planned)
    return planned


def _references_elsewhere(cases: Iterable[Case], labels: Sequence[str]) -> list[str]:
    """Return problems of benchmarks whose ``reference`` is a row of the suite, but not theirs: no ratio is possible."""
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
    """Write the record's part about the plan, to nowhere, so that an unwritable value is detected before measuring."""
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


def _settle(case: Case, rows: Mapping[str, TokenizerSpec], device: str, obtain: bool) -> Case:
    """Let the benchmark check the case; with ``obtain``, obtain the other row that it loads, if any.

    A case that the row cannot run stays unchanged, and is skipped later."""
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


def _cases(selection: Selection, suite: Suite, texts: Mapping[str, Corpus]) -> list[Case]:
    benchmark = pick("benchmark", selection.benchmark, benchmarks())
    for name in selection.parameters.keys() - benchmark.parameters.keys():
        raise suggest(f"parameter of {benchmark.name}", name, benchmark.parameters)
    rows = _choose("tokenizer", selection.tokenizers, suite.tokenizers)
    chosen = _corpora(benchmark, selection, suite, texts)
    parameters = parameter_points(benchmark, selection.parameters, suite.oversubscribe)
    return [Case(benchmark.name, row, text, values) for row, text, values in product(rows, chosen, parameters)]


def _choose(kind: str, wanted: Sequence[str] | None, known: Sequence[Entry]) -> list[str]:
    labels = dict.fromkeys(entry.label for entry in known)
    for label in wanted or ():
        if label not in labels:
            raise suggest(kind, label, labels)
    return list(labels if wanted is None else wanted)


_ANY = ("required", "optional")  # kind of corpus


def _corpora(benchmark: Benchmark, selection: Selection, suite: Suite, texts: Mapping[str, Corpus]) -> list[str | None]:
    if benchmark.corpus == "none" or (benchmark.corpus == "optional" and selection.corpora is None):
        return [None]
    chosen = _choose("corpus", selection.corpora, suite.corpora)
    if (kind := benchmark.corpus) not in _ANY:
        if selection.corpora is None:
            return [label for label in chosen if label in texts and kind_of(texts[label]) == kind]
        for label in chosen:
            if label in texts and kind_of(texts[label]) != kind:
                need = f"benchmark {benchmark.name!r} needs a corpus of the kind {kind!r}"
                raise InputError(f"{need}, and {label!r} is of the kind {kind_of(texts[label])!r}")
    if not chosen:
        raise InputError(f"benchmark {benchmark.name!r} needs a corpus; give one, such as 'sample'")
    return list(chosen)


_TEXT, _TEXT_OR_NONE = (str,), (str, type(None))
_ROW: Mapping[str, tuple[type, ...]] = {
    "name": _TEXT, "library": _TEXT, "source": _TEXT, "licence": _TEXT, "path": _TEXT_OR_NONE,
    "revision": _TEXT_OR_NONE, "vocabulary": _TEXT_OR_NONE, "reference": (bool,),
}  # fmt: skip
_TEXT_SOURCE: Mapping[str, tuple[type, ...]] = {
    "name": _TEXT, "language": _TEXT, "domain": _TEXT, "licence": _TEXT, "smoke_test": (bool,),
}  # fmt: skip
_METRIC: Mapping[str, tuple[type, ...]] = {
    "name": _TEXT, "unit": _TEXT, "direction": _TEXT, "summary": _TEXT, "deterministic": (bool,),
    "tolerance": (int, float),
}  # fmt: skip
_WORDS = {str: "text", type(None): "None", bool: "true or false", int: "a whole number", float: "a number"}
_DIRECTIONS = get_args(Direction)


@contextmanager
def blamed(what: str) -> Iterator[None]:
    """Turn an exception of a plug-in into an ``InputError`` that names ``what``, the requested object.

    ``InputError``, ``MemoryError``, ``KeyboardInterrupt``, ``lifeline.Ended`` and ``Stopped`` pass through.
    """
    try:
        yield
    except (InputError, MemoryError, KeyboardInterrupt, lifeline.Ended, Stopped):
        raise
    except BaseException as error:  # SystemExit and panics of Rust, too
        lines = str(error).strip().splitlines() or [""]
        raise InputError(f"{what} cannot be used: {type(error).__name__}: {lines[0][:300]}") from error


def checked_row(label: str, row: Any) -> TokenizerSpec:
    """Return the row of a tokenizer's specification; raise ``InputError`` if a record cannot hold it."""
    if not isinstance(row, TokenizerSpec):
        raise InputError(f"tokenizer {label!r} is {shown(row)}, not a TokenizerSpec: fix its plug-in")
    _check(f"tokenizer {label!r}", row, _ROW)
    return row


def checked_corpus(label: str, corpus: Any) -> Corpus:
    """Return the corpus of a specification; raise ``InputError`` for anything else, or if a record cannot hold it."""
    if not isinstance(corpus, Corpus):
        raise InputError(f"corpus {label!r} is {shown(corpus)}, which lacks attributes of a Corpus: fix its plug-in")
    _check(f"corpus {label!r}", corpus, _TEXT_SOURCE)
    return corpus


def check_metrics(metrics: Mapping[str, Any]) -> None:
    """Refuse metrics whose description no record can hold."""
    for name, metric in metrics.items():
        if not isinstance(metric, Metric):
            raise InputError(f"metric {name!r} is {shown(metric)}, not a Metric: fix its plug-in")
        _check(f"metric {name!r}", metric, _METRIC)
        if metric.direction not in _DIRECTIONS or not 0 <= metric.tolerance < 1:
            raise InputError(
                f"metric {name!r} has direction {shown(metric.direction)} and tolerance {shown(metric.tolerance)}; "
                f"its plug-in must give one of {', '.join(_DIRECTIONS)}, and a number from 0 to below 1"
            )


def _check(what: str, thing: object, kinds: Mapping[str, tuple[type, ...]]) -> None:
    for name, allowed in kinds.items():
        value = getattr(thing, name)
        if not isinstance(value, allowed) or (isinstance(value, bool) and bool not in allowed):
            wanted = " or ".join(_WORDS[kind] for kind in allowed)
            raise InputError(f"{name} of {what} is {shown(value)}; it must be {wanted}: fix its plug-in")

"""Benchmarks: one module each, ending in ``BENCHMARKS = (Benchmark(...),)``.

A benchmark declares its needs and its possible metrics. It gets its ``Work`` in a worker process. The runner decides
what that process did before.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import Any, Protocol

from pyharness.plugins.registry import discover
from pyharness.tokenizers import segmenting
from pyharness.types import (
    Answer,
    Case,
    CaseResult,
    Corpus,
    HasSegments,
    InputError,
    Listing,
    Measurement,
    Metric,
    ParallelCorpus,
    Plot,
    State,
    Status,
    Table,
    Tally,
    Tokenizer,
    TokenizerSpec,
)


@dataclass(frozen=True)
class Work:
    """A case and everything that its benchmark may use."""

    case: Case
    spec: TokenizerSpec
    load: Callable[[], Tokenizer]  # loads the tokenizer at the first call, and returns the same one later
    corpus: Corpus | None
    threads: int
    progress: Callable[[int], None] = lambda _: None  # bytes of text done so far
    expected: Path | None = None  # ids of the row with the same vocabulary, for comparison
    keep_ids: Path | None = None  # where to leave ids for other rows
    device: str = "cpu"  # or "cuda": where pairs are counted and language models run

    def segmenter(self) -> HasSegments:
        """Return the segmenter of the row; raise ``Unsupported`` if its tokenizer hides the bytes of its tokens."""
        return segmenting.segmenter(self.spec, self.load)

    def counter(self) -> Tokenizer:
        """Return the tokenizer of the row, or what stands in for one and knows only how many tokens a text has."""
        made = None if self.spec.instead is None else self.spec.instead.make(self.spec)
        return made if isinstance(made, Tokenizer) else self.load()

    @property
    def text(self) -> Corpus:
        """The corpus of a benchmark that declares it needs one; raises ``InputError`` without one."""
        if self.corpus is None:
            raise InputError(f"benchmark {self.case.benchmark!r} needs a corpus; give one with -c, such as -c sample")
        return self.corpus

    @property
    def aligned(self) -> ParallelCorpus:
        """The corpus of a benchmark that declares it needs a parallel one; raises ``InputError`` for any other."""
        if not isinstance(self.corpus, ParallelCorpus):
            raise InputError(f"benchmark {self.case.benchmark!r} needs a parallel corpus, such as -c sample:parallel")
        return self.corpus


@dataclass(frozen=True, slots=True)
class Findings:
    """The results of a benchmark. A failure keeps its details, never its numbers."""

    measurements: tuple[Measurement, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    status: Status = "ok"
    reason: str | None = None
    tally: Tally | None = None  # of the text that was read: results on other text are not comparable
    fingerprint: str = ""  # of the ids or files that were timed: the same in every round
    # Integers from which the numbers are computed, the argument of ``Benchmark.rederive``.
    state: State = field(default_factory=dict, repr=False, compare=False)


class Pass(Protocol):
    """A pass of one row over a corpus. Passes over the parts of a corpus add up to the pass over all of it."""

    def read(self, corpus: Any, threads: int, progress: Callable[[int], None]) -> object:
        """Read a corpus; tell ``progress`` the bytes read so far. Raises ``NoFindings`` if it can have no numbers."""

    def merge(self, other: Any) -> None:
        """Add another pass of the same row, over the text behind its own."""

    def arrays(self) -> State:
        """Return all that the pass has read, as integers: what ``restore`` of another process needs."""

    def restore(self, arrays: State) -> None:
        """Become the pass that gave these arrays; raise ``InputError`` for those of another row, or of no pass."""

    def findings(self) -> Findings:
        """Compute the numbers of all that was read. Raises ``NoFindings`` if there can be none."""


class NoFindings(Exception):
    """A pass can have no numbers; ``findings`` have the reason."""

    def __init__(self, findings: Findings) -> None:
        super().__init__(findings.reason)
        self.findings = findings


@dataclass(frozen=True, slots=True)
class PassRun:
    """The ``run`` of a benchmark that reads its text in one pass: a whole run is a run of one part."""

    starts: Callable[[Work], Pass]

    def __call__(self, work: Work) -> Findings:
        """Read the whole text once."""
        passed = self.starts(work)
        try:
            passed.read(work.text, work.threads, work.progress)
            return passed.findings()
        except NoFindings as none:
            return none.findings


def as_given(parameters: Mapping[str, Any], row: TokenizerSpec, device: str) -> Mapping[str, Any]:
    """Return the parameters unchanged: they need no settling."""
    del row, device
    return parameters


STARTED_IN = 0.3  # seconds that one of our processes takes to start where paces hold: two cores without other work


@dataclass(frozen=True, slots=True)
class Pace:
    """Rough seconds that a case of a common tokenizer takes, on a machine that starts a process in ``STARTED_IN``."""

    seconds: float
    per_megabyte: float = 0.0  # of its text, if it reads more of a longer one


class Role(IntEnum):
    """The purpose of a benchmark in a run; the cases of a row run in this order."""

    # Reads the front of a text: the largest parameter ``bytes`` of the cases that wait for it, or its own for cases
    # without. It may leave ids at ``Work.keep_ids`` and compare its own with those at ``Work.expected``. After a wrong
    # answer, no timed case of the row and none that needs a text gets a number. After any other failure, such cases
    # get none on this text, and timed cases without a text get none.
    VERIFIES = 0
    COUNTS = 1  # numbers that the text determines
    TIMES = 2  # runs alone, in a fresh process


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A benchmark as data, known without running it."""

    name: str
    summary: str
    run: Callable[[Work], Findings]
    corpus: str  # "required", "optional", "none", or a kind of corpus: "parallel", or a feature's
    metrics: tuple[Metric | str, ...]  # that it may report; those of a pass by name
    tables: tuple[Table, ...] = ()  # how a report shows them; (): one table of the primary metrics, or of all
    plots: tuple[Plot, ...] = ()  # drawings of a page, in a section of the benchmark
    role: Role = Role.COUNTS
    place: int = 50  # among those that are listed, smallest first
    listing: Listing | None = None  # the items that details of its cases name
    ranks: str = ""  # the metric of the ranking, text by text, at the head of a report
    pays: str = ""  # the cost of a row relative to the best one, such as tokens
    # First lines of a report, from all results with numbers and the record's data.
    answers: Callable[[Sequence[CaseResult], Mapping[str, Any]], Iterable[Answer]] | None = None
    own_process: bool = False  # measures in processes of its own: the worker's has not loaded the tokenizer
    whole_text: bool = False  # reads all of its corpus, once and from the front: its tally is that of the corpus
    parameters: Mapping[str, Any] = field(default_factory=dict)  # name -> default; a list gives one case per value
    # Computes the findings of ``run`` from the state of a case alone: the measurements that the text determines, and
    # the details that follow from it. Raises ``InputError`` for arrays that contradict each other.
    rederive: Callable[[State, Case], Findings] | None = None
    pace: Pace | None = None  # None: nobody can know it before
    underivable: str = ""  # why ``rederive`` is None, for people
    # Checks the parameters of a case on its row and device before anything is measured; fills in dependent ones, and
    # may drop those that are off. Raises ``InputError``; ``Unsupported`` for a row whose case is to be skipped.
    settle: Callable[[Mapping[str, Any], TokenizerSpec, str], Mapping[str, Any]] = as_given
    # Specification of another row that a case loads, from the case's parameters and its row; it is obtained before
    # anything is measured. None for cases that load none. Raises ``Unsupported`` for a row without such another row.
    loads: Callable[[Mapping[str, Any], TokenizerSpec], str | None] | None = None
    # Numbers relative to the same case of the reference row, after all cases: from the result of a case, that of the
    # reference's (None: it has none) and the label of the reference.
    relative: Callable[[CaseResult, CaseResult | None, str], Sequence[Measurement]] | None = None

    def __post_init__(self) -> None:
        """Refuse a verifying benchmark that has no limit of bytes to read."""
        if self.role is Role.VERIFIES and "bytes" not in self.parameters:
            raise InputError(f"benchmark {self.name!r} verifies, and has no parameter 'bytes': how much it reads")

    @property
    def metric_names(self) -> tuple[str, ...]:
        """Names of the metrics that it may report."""
        return tuple(one if isinstance(one, str) else one.name for one in self.metrics)

    @property
    def starts(self) -> Callable[[Work], Pass] | None:
        """The function that starts its pass over a text; None for a benchmark that does not read in one pass."""
        return self.run.starts if isinstance(self.run, PassRun) else None

    @property
    def timed(self) -> bool:
        """Whether it runs alone, in a fresh process."""
        return self.role is Role.TIMES

    @property
    def verified(self) -> bool:
        """Whether a check of the row on the front of the text must pass before it is measured."""
        return self.corpus in ("required", "parallel") and self.role is not Role.VERIFIES


def benchmarks() -> Mapping[str, Benchmark]:
    """Return every benchmark by name."""
    by_name: Mapping[str, Benchmark] = discover(sys.modules[__name__], "BENCHMARKS")
    return by_name


def first_documents(corpus: Corpus, max_bytes: int, tally: Tally) -> list[str]:
    """Return documents from the front of a corpus, up to ``max_bytes`` of UTF-8 (at least one)."""
    taken: list[str] = []
    tally.beginnings = []
    for document in corpus.documents(tally):
        size = len(document.encode())
        if taken and tally.bytes + size > max_bytes:
            break
        tally.add(document)
        taken.append(document)
    return taken

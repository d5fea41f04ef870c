"""Benchmarks: one module each, ending in ``BENCHMARKS = (Benchmark(...),)``.

A benchmark declares what it needs and what it can report; it gets its ``Work`` in a worker process, and the runner
decides what that process has done before.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import Any

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
    """A case and all that its benchmark may use."""

    case: Case
    spec: TokenizerSpec
    load: Callable[[], Tokenizer]  # loads once per process
    corpus: Corpus | None
    threads: int
    progress: Callable[[int], None] = lambda _: None  # bytes of text done so far
    expected: Path | None = None  # ids of the row this vocabulary is compared with
    keep_ids: Path | None = None  # where to leave ids for others to be compared with
    device: str = "cpu"  # or "cuda": where pairs are counted and language models run

    def segmenter(self) -> HasSegments:
        """What cuts texts into the units of the row."""
        return segmenting.segmenter(self.spec, self.load)

    @property
    def text(self) -> Corpus:
        """The corpus of a benchmark that declares it needs one."""
        if self.corpus is None:
            raise InputError(f"benchmark {self.case.benchmark!r} needs a corpus; give one with -c, such as -c sample")
        return self.corpus

    @property
    def aligned(self) -> ParallelCorpus:
        """The corpus of a benchmark that declares it needs a parallel one."""
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
    tally: Tally | None = None  # of the text that was read: what other text may not be compared with
    fingerprint: str = ""  # of the ids or files that were timed: the same in every round
    # What the numbers are computed from, which ``Benchmark.rederive`` takes.
    state: State = field(default_factory=dict, repr=False, compare=False)


def as_given(parameters: Mapping[str, Any], row: TokenizerSpec, device: str) -> Mapping[str, Any]:
    """Parameters that need no settling."""
    del row, device
    return parameters


STARTED_IN = 0.3  # seconds that a process of ours takes to start where paces are true: two cores without other work


@dataclass(frozen=True, slots=True)
class Pace:
    """Rough seconds of a case of a common tokenizer, to foretell how long a run takes; ``STARTED_IN`` says where."""

    seconds: float
    per_megabyte: float = 0.0  # of the text that it reads, where it reads more of a longer one


class Role(IntEnum):
    """The purpose of a benchmark in a run; the cases of a row run in this order."""

    # Reads the front of a text, as many ``bytes`` as any case that waits for it; may leave ids at ``Work.keep_ids``
    # and compare its own with those at ``Work.expected``. Where it fails, nothing of the row gets a number.
    VERIFIES = 0
    COUNTS = 1  # numbers that the text determines
    TIMES = 2  # runs alone, in a fresh process


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A benchmark as data, known without running it."""

    name: str
    summary: str
    run: Callable[[Work], Findings]
    corpus: str  # "required", "optional", "none", or the kind that it must be of: "parallel", or a feature's
    metrics: tuple[str, ...]
    tables: tuple[Table, ...] = ()  # how a report shows them; (): one table of the primary metrics, or of all
    plots: tuple[Plot, ...] = ()  # what a page draws, in a section of the benchmark
    role: Role = Role.COUNTS
    listing: Listing | None = None  # what the details of its cases name
    ranks: str = ""  # the metric that rows are ranked by, text by text, at the head of a report
    pays: str = ""  # what a row needs more of than the best one, such as tokens
    # Lines that a report begins with, from all results that have numbers and the record's data.
    answers: Callable[[Sequence[CaseResult], Mapping[str, Any]], Iterable[Answer]] | None = None
    own_process: bool = False  # measures in processes of its own: the worker's has not loaded the tokenizer
    whole_text: bool = False  # reads all of its corpus, once and from the front: its tally is that of the corpus
    parameters: Mapping[str, Any] = field(default_factory=dict)  # name -> default; a list gives one case per value
    # Computes from the state of a case, and nothing else, the findings of ``run``: the measurements that the text
    # determines, and such details as follow from it. Raises ``InputError`` for arrays that contradict each other.
    rederive: Callable[[State, Case], Findings] | None = None
    pace: Pace | None = None  # None: it depends on what nobody knows before
    underivable: str = ""  # why there is no such function, for people
    # Checks the parameters of a case on its row and device before anything runs, and fills in what depends on these.
    settle: Callable[[Mapping[str, Any], TokenizerSpec, str], Mapping[str, Any]] = as_given
    # Another row that a case loads, which is obtained before anything runs: its specification, of the parameters of a
    # case and its row; None for cases that load none. Raises ``Unsupported`` for a row that has no such other.
    loads: Callable[[Mapping[str, Any], TokenizerSpec], str | None] | None = None
    # Numbers relative to the same case of the reference row, once all cases are measured: from the result of a case,
    # that of the reference's (None: there is none) and the label of the reference.
    relative: Callable[[CaseResult, CaseResult | None, str], Sequence[Measurement]] | None = None

    def __post_init__(self) -> None:
        """Refuse a check that cannot be told how much to read."""
        if self.role is Role.VERIFIES and "bytes" not in self.parameters:
            raise InputError(f"benchmark {self.name!r} verifies, and has no parameter 'bytes': how much it reads")

    @property
    def timed(self) -> bool:
        """Whether it runs alone, in a fresh process."""
        return self.role is Role.TIMES

    @property
    def verified(self) -> bool:
        """Whether its text is verified first: a wrong answer never gets a number."""
        return self.corpus in ("required", "parallel") and self.role is not Role.VERIFIES


def benchmarks() -> Mapping[str, Benchmark]:
    """Every benchmark by name."""
    known: Mapping[str, Benchmark] = discover(sys.modules[__name__], "BENCHMARKS")
    return known


def first_documents(corpus: Corpus, max_bytes: int, tally: Tally) -> list[str]:
    """Documents from the front of a corpus, up to ``max_bytes`` of UTF-8 (at least one)."""
    taken: list[str] = []
    tally.beginnings = []
    for document in corpus.documents(tally):
        size = len(document.encode())
        if taken and tally.bytes + size > max_bytes:
            break
        tally.add(document)
        taken.append(document)
    return taken

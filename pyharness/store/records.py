"""A run record: one versioned JSON file."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from pyharness.plugins import registry
from pyharness.store.json_values import Misshapen, check_schema, check_values, from_json, get, load, short
from pyharness.store.pytest_benchmark import as_record
from pyharness.store.results import first_twice, result_from_json
from pyharness.store.states import NoState, StateReader
from pyharness.types import CaseResult, Direction, InputError, TextRead

SCHEMA = 2  # 2: no_interval, state
KIND = "pyharness-run"
SCHEMA_FILE = Path(__file__).with_name("record.schema.json")
_NONE_KEPT = "none of its cases has any, or an older pyharness wrote it without; measure again"


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteFacts:
    """The suite of a record."""

    name: str = ""
    summary: str = ""
    rows: str = ""  # noun for the rows, where they are no tokenizers
    reference: str | None = None  # the row that others are compared with
    tokenizers: Mapping[str, str] = field(default_factory=dict)  # label -> specification
    corpora: Mapping[str, str] = field(default_factory=dict)
    digest: str = ""  # SHA-256


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFacts:
    """A row of a record."""

    spec: str = ""
    source: str | None = None
    licence: str | None = None
    revision: str | None = None
    vocabulary: str | None = None
    sha256: str | None = None  # of its file
    compared_with: str | None = None
    vocab_size: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PartsShare:
    """How many parts of a text were read, of how many."""

    read: int
    of: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TextFacts:
    """A corpus of a record."""

    spec: str = ""
    language: str = ""
    domain: str = ""
    licence: str = ""
    smoke_test: bool = False  # too small for conclusions
    tally: TextRead | None = None
    whole: bool = False  # whether the tally is of the whole corpus, not of the part that was verified
    parts: PartsShare | None = None  # null: all of the text was read, or its front alone


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricFacts:
    """Facts of a record about one metric."""

    unit: str
    direction: Direction
    summary: str = ""
    deterministic: bool
    tolerance: float = 0.0  # relative; what machines may differ by
    grows_with_text: bool = False  # more text of the kind has another value: an interval is about as much other text
    exact: bool = False  # it is about what was tested and no other text: any difference counts, without an interval
    primary: bool = False  # its benchmark is about it: if deterministic, a difference without a judge is inconclusive
    counts_tokens: bool = False  # two rows differ in it as their numbers of tokens do, on one text; fewer are better


@dataclass(frozen=True, slots=True, kw_only=True)
class StateFile:
    """The file next to a record that holds the counts behind its numbers."""

    file: str  # its name, in the folder of the record
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordHead:
    """A record without its results."""

    created: str  # UTC, ISO 8601
    seconds: float
    complete: bool  # false: interrupted, or out of time; what is missing is skipped with a reason
    suite: SuiteFacts
    environment: Mapping[str, Any]
    tokenizers: Mapping[str, RowFacts]  # by label
    corpora: Mapping[str, TextFacts]
    metrics: Mapping[str, MetricFacts]
    state: StateFile | None = None  # null where no case keeps any


def _check_head(data: Any) -> None:
    """Check all but the results: required keys, their types, and values that reports read."""
    get(data, "results", list)
    head = from_json(RecordHead, data, "record")
    for metric in head.metrics.values():
        if metric.tolerance < 0:
            raise Misshapen(f"'tolerance' is {metric.tolerance}; it must not be negative")
    if (state := head.state) is None:
        return
    if not state.file or Path(state.file).name != state.file or "\0" in state.file:
        raise Misshapen(f"'file' of 'state' is {short(state.file)}; it must be the name of a file next to the record")
    if state.bytes < 0:
        raise Misshapen(f"'bytes' of 'state' is {state.bytes}")
    if not re.fullmatch("[0-9a-f]{64}", state.sha256):
        raise Misshapen(f"'sha256' of 'state' is {short(state.sha256)}")


@dataclass(frozen=True)
class Record:
    """A record as read: JSON values, with results as objects."""

    data: Mapping[str, Any]
    results: tuple[CaseResult, ...]
    path: Path | None = None

    @classmethod
    def from_json(cls, data: Any, name: str, path: Path | None = None) -> Record:
        """Return the record after checks of kind, schema number and shape; ``name`` is its name in messages.

        A file of pytest-benchmark becomes a record.

        Raises:
            InputError: it is no record, is malformed, or is of a newer pyharness.
        """
        if isinstance(data, dict) and "kind" not in data and "benchmarks" in data and "machine_info" in data:
            try:
                check_values(data)
                data = as_record(data, SCHEMA, KIND)
            except Misshapen as error:
                raise InputError(f"{name} is not complete as pytest-benchmark writes it: {error}") from None
        kind = data.get("kind") if isinstance(data, dict) else None
        other_kind = case_record_kind(kind)
        if kind != KIND and other_kind is None:
            other = f": it is a {short(kind).strip(chr(34))}" if isinstance(kind, str) else ""
            raise InputError(f"{name} is not a pyharness run record{other}")
        check_schema(data, SCHEMA, name, "a pyharness run record")
        if other_kind is not None:
            other_kind.check(data, name)
        try:
            check_values(data)
            _check_head(data)
        except Misshapen as error:
            raise InputError(f"{name} is not a complete run record: {error}") from None
        results = []
        for number, item in enumerate(data["results"]):
            try:
                results.append(result_from_json(item))
            except Misshapen as error:
                raise InputError(f"{name} is not a complete run record: result {number + 1}: {error}") from None
        if (twice := first_twice(result.case.key for result in results)) is not None:
            raise InputError(f"{name} is not a complete run record: case {short(twice)} occurs twice")
        return cls(data, tuple(results), path)

    def state(self) -> StateReader:
        """Open the state: the counts behind the numbers, in the file next to the record.

        Raises:
            NoState: the record has none, or its file is missing, damaged or of another record.
        """
        about = self.data.get("state")
        if about is None or self.path is None:
            raise NoState(f"there is no state next to record {str(self.path or '')!r}: {_NONE_KEPT}")
        return StateReader(self.path.with_name(about["file"]), about)

    @property
    def benchmarks(self) -> list[str]:
        """Names of the benchmarks with results, sorted."""
        return sorted(self._by_benchmark)

    def of(self, benchmark: str) -> list[CaseResult]:
        """Return the results of one benchmark, in the order of the record."""
        return list(self._by_benchmark.get(benchmark, ()))

    @cached_property
    def _by_benchmark(self) -> Mapping[str, Sequence[CaseResult]]:
        listed: dict[str, list[CaseResult]] = {}
        for result in self.results:
            listed.setdefault(result.case.benchmark, []).append(result)
        return listed


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseRecordKind:
    """A kind of record with cases that no run wrote. It is read and compared like the record of a run.

    Features and plug-ins offer them in ``CASE_RECORDS``, in the group ``pyharness.records``. ``report`` defines the
    types of tables and sections; this package does not import it.
    """

    name: str  # the value of "kind" in such a file
    check: Callable[[Mapping[str, Any], str], None]  # (JSON values, what messages call the file): may raise InputError
    sheets: Callable[[Record], Sequence[Any]]  # its tables, in place of those that benchmarks declare
    sections: Callable[[Record], Iterable[Any]]  # of its page, behind ours


def case_record_kind(name: Any) -> CaseRecordKind | None:
    """Return the kind of record with this name; None for a run, and for unknown names."""
    if name == KIND or not isinstance(name, str):
        return None
    return registry.offered("pyharness.records", "CASE_RECORDS").get(name)


def read(path: Path) -> Record:
    """Read a record from disk; raise ``InputError`` if it cannot be read or is no record."""
    return Record.from_json(load(path), f"record {str(path)!r}", path)


def is_unfinished(path: Path) -> bool:
    """Return whether a file is the record of an unfinished run, whose finished cases are also in its journal."""
    try:
        return path.is_file() and read(path).data["complete"] is False
    except (InputError, OSError):
        return False

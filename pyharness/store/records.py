"""A run record: one versioned JSON file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pyharness.plugins import registry
from pyharness.store.json_lines import load
from pyharness.store.pytest_benchmark import as_record, is_foreign
from pyharness.store.results import first_twice, result_from_json
from pyharness.store.shape import Misshapen, check_schema, check_top, check_values, short
from pyharness.store.states import NoState, StateReader
from pyharness.types import CaseResult, InputError

SCHEMA = 2  # 2: no_interval, state
KIND = "pyharness-run"
SCHEMA_FILE = Path(__file__).with_name("record.schema.json")
_NONE_KEPT = "no case of it keeps any, or it was written by a pyharness that kept none; measure again"


@dataclass(frozen=True)
class Record:
    """A run record as read: JSON values, with the results as nouns."""

    data: Mapping[str, Any]
    results: tuple[CaseResult, ...]
    path: Path | None = None

    @classmethod
    def from_json(cls, data: Any, name: str, path: Path | None = None) -> Record:
        """Check kind, schema number and shape; ``name`` is what messages call the record.

        What pytest-benchmark writes becomes a record.
        """
        if is_foreign(data):
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
            check_top(data)
        except Misshapen as error:
            raise InputError(f"{name} is not a complete run record: {error}") from None
        results = []
        for number, item in enumerate(data["results"]):
            try:
                results.append(result_from_json(item))
            except Misshapen as error:
                raise InputError(f"{name} is not a complete run record: result {number + 1}: {error}") from None
        if (twice := first_twice(result.case.key for result in results)) is not None:
            raise InputError(f"{name} is not a complete run record: case {short(twice)} is there twice")
        return cls(data, tuple(results), path)

    def state(self) -> StateReader:
        """What the numbers were computed from: the file next to the record.

        Raises:
            NoState: it is missing, or it is not the one that the record was written with.
        """
        about = self.data.get("state")
        if about is None or self.path is None:
            raise NoState(f"there is no state next to record {str(self.path or '')!r}: {_NONE_KEPT}")
        return StateReader(self.path.with_name(about["file"]), about)

    @property
    def benchmarks(self) -> list[str]:
        """Names of the benchmarks that it has results of, sorted."""
        return sorted(self._by_benchmark)

    def of(self, benchmark: str) -> list[CaseResult]:
        """Results of one benchmark, in the order of the suite."""
        return list(self._by_benchmark.get(benchmark, ()))

    @cached_property
    def _by_benchmark(self) -> Mapping[str, Sequence[CaseResult]]:
        listed: dict[str, list[CaseResult]] = {}
        for result in self.results:
            listed.setdefault(result.case.benchmark, []).append(result)
        return listed


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseRecordKind:
    """A kind of record whose numbers are cases though no run wrote it: it is read and compared as that of a run.

    Features offer them: ``CASE_RECORDS`` under the group of all kinds of record. Tables and sections are types of
    ``report``, which is above this room.
    """

    name: str  # the value of "kind" in such a file
    check: Callable[[Mapping[str, Any], str], None]  # (JSON values, what messages call the file): may raise InputError
    sheets: Callable[[Record], Sequence[Any]]  # its tables, in place of those that benchmarks declare
    sections: Callable[[Record], Iterable[Any]]  # of its page, behind ours


def case_record_kind(name: Any) -> CaseRecordKind | None:
    """Return the kind of that name; None for the record of a run, and for what is unknown."""
    if name == KIND or not isinstance(name, str):
        return None
    return registry.offered("pyharness.records", "CASE_RECORDS").get(name)


def read(path: Path) -> Record:
    """Read a record from disk."""
    return Record.from_json(load(path), f"record {str(path)!r}", path)


def is_unfinished(path: Path) -> bool:
    """Say whether a file is the record of a run that was interrupted: what it had finished is in its journal, too."""
    try:
        return path.is_file() and read(path).data["complete"] is False
    except (InputError, OSError):
        return False

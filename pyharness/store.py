"""Run records: one versioned JSON file per run, and the journal that a run can be resumed from.

The record holds raw values; intervals and medians are computed from them when they are shown.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import math
import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NoReturn

from pyharness.metrics.state import GROUPS
from pyharness.types import Case, CaseResult, InputError, Measurement

SCHEMA = 1
KIND = "pyharness-run"
SCHEMA_FILE = Path(__file__).parent / "record.schema.json"
LARGEST = 1e150  # squares of what is smaller are finite, and so are their sums
DEEPEST = 64  # levels of lists and objects within a record
_STATUSES = ("ok", "skipped", "failed")
_SURROGATE = re.compile(r"[\ud800-\udfff]")


# ---------------------------------------------------------------------------------------------- JSON values


def measurement_as_json(measurement: Measurement) -> dict[str, Any]:
    """Without the fields that are empty; ``value`` is always there."""
    found: dict[str, Any] = {"metric": measurement.metric, "value": measurement.value}
    for name in ("reason", "part"):
        if (value := getattr(measurement, name)) is not None:
            found[name] = value
    for name in ("samples", "replicates"):
        if values := getattr(measurement, name):
            found[name] = list(values)
    return found


def measurement_from_json(data: Mapping[str, Any]) -> Measurement:
    """Inverse of ``measurement_as_json``; raises ``Misshapen`` for what it cannot have written."""
    replicates = _get(data, "replicates", list, default=[])
    if len(replicates) > GROUPS:
        raise Misshapen(f"'replicates' has {len(replicates)} values; there are {GROUPS} groups")
    return Measurement(
        _get(data, "metric", str),
        _number_or_null(_get(data, "value", object), "value"),
        _get(data, "reason", str, None, default=None),
        _get(data, "part", str, None, default=None),
        tuple(_number(one, "samples") for one in _get(data, "samples", list, default=[])),
        tuple(_number_or_null(one, "replicates") for one in replicates),
    )


def result_as_json(result: CaseResult) -> dict[str, Any]:
    """One case of a record."""
    return {
        "key": result.case.key,
        "benchmark": result.case.benchmark,
        "tokenizer": result.case.tokenizer,
        "corpus": result.case.corpus,
        "parameters": dict(result.case.parameters),
        "status": result.status,
        "reason": result.reason,
        "measurements": [measurement_as_json(measurement) for measurement in result.measurements],
        "details": dict(result.details),
    }


def result_from_json(data: Mapping[str, Any]) -> CaseResult:
    """Inverse of ``result_as_json``; raises ``Misshapen`` for what it cannot have written."""
    corpus = _get(data, "corpus", str, None)
    case = Case(_get(data, "benchmark", str), _get(data, "tokenizer", str), corpus, _get(data, "parameters", dict))
    status = _get(data, "status", str)
    if status not in _STATUSES:
        raise Misshapen(f"'status' is {_short(status)}; known: {', '.join(_STATUSES)}")
    measurements = tuple(measurement_from_json(item) for item in _get(data, "measurements", list))
    details = _get(data, "details", dict)
    _check_tally(details)
    if "tally" in details and details["tally"] is None:  # a case that read no text has none
        details = {name: value for name, value in details.items() if name != "tally"}
    return CaseResult(case, status, _get(data, "reason", str, None), measurements, details)


# ---------------------------------------------------------------------------------------------- checking


class Misshapen(InputError):
    """A JSON value is not what a record has in its place."""


_MISSING: Any = object()
_WORDS: Mapping[type | None, str] = {
    dict: "an object", list: "a list", str: "text", bool: "true or false", int: "a whole number", None: "null",
}  # fmt: skip


def _get(data: Any, name: str, *kinds: type | None, default: Any = _MISSING) -> Any:
    """Return the value of a key, which must be of one of the kinds (None: null; ``object``: anything)."""
    if not isinstance(data, dict):
        raise Misshapen(f"{_short(data)} stands where an object with {name!r} is due")
    if name not in data:
        if default is _MISSING:
            raise Misshapen(f"{name!r} is missing")
        return default
    value = data[name]
    for kind in kinds:
        fits = value is None if kind is None else isinstance(value, kind)
        if fits and not (kind is int and isinstance(value, bool)):
            return value
    raise Misshapen(f"{name!r} is {_short(value)}; it must be {' or '.join(_WORDS[kind] for kind in kinds)}")


def _number(value: Any, name: str) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Misshapen(f"{name!r} is {_short(value)}; it must be a number")
    return value


def _number_or_null(value: Any, name: str) -> Any:
    return None if value is None else _number(value, name)


def _check_tally(data: Any) -> None:
    """Check the account of the text that was read, where there is one."""
    if (tally := _get(data, "tally", dict, None, default=None)) is None:
        return
    for name in ("documents", "bytes"):
        _get(tally, name, int)
    for name in ("empty_documents", "cut_documents", "replaced_sequences"):
        _get(tally, name, int, default=0)
    _get(tally, "digest", str)


def _check_top(data: Mapping[str, Any]) -> None:
    """Check what stands beside the results: required keys, their types, and what reports read of them."""
    for name, kind in (("created", str), ("complete", bool), ("suite", dict), ("environment", dict), ("results", list)):
        _get(data, name, kind)
    _number(_get(data, "seconds", object), "seconds")
    for label in (rows := _get(data, "tokenizers", dict)):
        _get(_get(rows, label, dict), "vocab_size", int, default=0)
    for label in (texts := _get(data, "corpora", dict)):
        _check_tally(_get(texts, label, dict))
        _get(texts[label], "smoke_test", bool, default=False)
    for name in (metrics := _get(data, "metrics", dict)):
        about = _get(metrics, name, dict)
        _get(about, "unit", str)
        _get(about, "direction", str)
        _get(about, "deterministic", bool)


def _check_values(data: Any) -> None:
    """Refuse numbers that are not finite or that nothing measured here can reach, and bottomless nesting."""
    left = [(data, 0)]
    while left:
        value, depth = left.pop()
        if isinstance(value, dict | list):
            if depth > DEEPEST:
                raise Misshapen(f"it is nested more than {DEEPEST} levels deep")
            left += [(one, depth + 1) for one in (value.values() if isinstance(value, dict) else value)]
        elif isinstance(value, float) and not math.isfinite(value):
            raise Misshapen(f"it holds {value}, which is no number")
        elif isinstance(value, int | float) and abs(value) > LARGEST:
            raise Misshapen(f"it holds a number beyond {LARGEST:g}")


# ---------------------------------------------------------------------------------------------- records


@dataclass(frozen=True)
class Record:
    """A run record as read: JSON values, with the results as nouns."""

    data: Mapping[str, Any]
    results: tuple[CaseResult, ...]
    path: Path | None = None

    @classmethod
    def from_json(cls, data: Any, name: str, path: Path | None = None) -> Record:
        """Check kind, schema number and shape; ``name`` is what messages call the record."""
        if not isinstance(data, dict) or data.get("kind") != KIND:
            raise InputError(f"{name} is not a pyharness run record")
        schema = data.get("schema")
        if not isinstance(schema, int) or isinstance(schema, bool) or schema < 1:
            raise InputError(
                f"{name} is not a pyharness run record: its schema is {_short(schema)}, not a number from 1"
            )
        if schema > SCHEMA:
            raise InputError(
                f"{name} has record schema {_short(schema)}; this pyharness reads up to {SCHEMA}: upgrade pyharness"
            )
        try:
            _check_values(data)
            _check_top(data)
        except Misshapen as error:
            raise InputError(f"{name} is not a complete run record: {error}") from None
        results = []
        for number, item in enumerate(data["results"]):
            try:
                results.append(result_from_json(item))
            except Misshapen as error:
                raise InputError(f"{name} is not a complete run record: result {number + 1}: {error}") from None
        return cls(data, tuple(results), path)

    def of(self, benchmark: str) -> list[CaseResult]:
        """Results of one benchmark, in the order of the suite."""
        return [result for result in self.results if result.case.benchmark == benchmark]


def read(path: Path) -> Record:
    """Read a record from disk."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"), parse_constant=_no_number)
    except FileNotFoundError:
        raise InputError(f"record {str(path)!r} does not exist") from None
    except OSError as error:
        raise InputError(f"record {str(path)!r} cannot be read: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:  # no UTF-8, no JSON, a number of a million digits, bottomless
        raise InputError(f"record {str(path)!r} cannot be read: {error}") from None
    return Record.from_json(data, f"record {str(path)!r}", path)


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"it holds {text}, which is no number")


def write(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    try:
        with _replacement(path) as file:
            file.write(text)
    except OSError as error:
        raise InputError(f"cannot write {str(path)!r}: {error.strerror or error}") from None


@contextlib.contextmanager
def _replacement(path: Path) -> Iterator[IO[str]]:
    handle, name = _temporary(path)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _temporary(path: Path) -> tuple[int, str]:
    return tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")


def dump(data: Mapping[str, Any]) -> str:
    """Return JSON text, one line per result so that records diff well.

    Raises ``InputError`` for values that JSON has no place for.
    """
    head = {name: value for name, value in data.items() if name != "results"}
    try:
        lines = ",\n".join("  " + json.dumps(item, ensure_ascii=False, allow_nan=False) for item in data["results"])
        text = json.dumps(head, indent=1, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"a record cannot hold this: {error}") from None
    text = text.removesuffix("\n}") + ',\n "results": [\n' + lines + "\n ]\n}\n"
    # A file name that is not UTF-8 is read with surrogates, which UTF-8 cannot write: JSON has an escape for them.
    return _SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


# ---------------------------------------------------------------------------------------------- journal


def check_output(path: Path, force: bool = False, resume: bool = False) -> None:
    """Refuse a path that no record can be written to, or that holds something already: before anything is measured.

    What is there is replaced with ``force``. A run that is ``resume``d finds its journal there; ``Journal.start`` says
    what to do about one that is not.
    """
    _check_place(path)
    journal = _journal_of(path)
    if force or not path.exists() or (journal.exists() and journal.stat().st_size > 0):
        return
    hint = "; there is no unfinished run to resume there" if resume else ""
    raise InputError(f"{str(path)!r} exists already{hint}: replace it with --force, or choose another --output")


def _journal_of(record: Path) -> Path:
    return record.with_name(record.name + ".journal")


def _check_place(record: Path) -> None:
    try:
        if record.is_dir() or not record.name:
            raise InputError(f"{str(record)!r} is a folder; name a file in it with --output, such as record.json")
        if record.exists() and not record.is_file():
            raise InputError(f"{str(record)!r} is not a regular file; choose another --output")
    except OSError as error:
        raise InputError(f"cannot write {str(record)!r}: {error.strerror or error}") from None


class Journal:
    """Finished cases of a run in progress: one line each, synced to disk, beside the record to be.

    The file is locked while the run lives, so two runs cannot write one path.
    """

    def __init__(self, record: Path) -> None:
        _check_place(record)
        self.path = _journal_of(record)
        try:
            record.parent.mkdir(parents=True, exist_ok=True)
            # A read-only folder, or too long a name, must be found out now, not after an hour of measuring.
            handle, name = _temporary(record)
            os.close(handle)
            Path(name).unlink()
            self.file = self.path.open("a+", encoding="utf-8")
        except OSError as error:
            raise InputError(f"cannot write to {str(record.parent)!r}: {error.strerror or error}") from None
        try:
            fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self.file.close()
            raise InputError(f"another run is writing {str(record)!r}; choose another --output") from None

    def start(self, header: Mapping[str, Any], resume: bool) -> list[dict[str, Any]]:
        """Write the header of a new run, or return the finished cases of the same run when resuming."""
        dump({**header, "results": []})  # what a record cannot hold is found out now
        lines = self._lines()
        if not lines:
            self._append({"header": header})
            return []
        if not resume:
            self.close()
            raise InputError(
                f"{str(self.path)!r} holds an unfinished run: continue it with --resume, remove it, "
                "or choose another --output"
            )
        for name, value in header.items():
            if (found := lines[0]["header"].get(name)) != value:
                self.close()
                raise InputError(
                    f"cannot resume {str(self.path)!r}: {name} was {_short(found)}, now it is {_short(value)}"
                )
        return lines[1:]

    def _lines(self) -> list[dict[str, Any]]:
        self.file.seek(0)
        found: list[dict[str, Any]] = []
        whole = 0
        try:
            for line in self.file:
                if not line.endswith("\n") or not isinstance(entry := _parsed(line), dict):
                    break  # the run was killed while writing this line
                found.append(entry)
                whole += len(line.encode())
            self.file.seek(0)
            begun = self.file.read(len(_BEGINNING))
        except UnicodeDecodeError:
            found, begun = [], "?"
        ours = isinstance(found[0].get("header"), dict) if found else _BEGINNING.startswith(begun)
        if not ours:
            self.close()
            raise InputError(f"{str(self.path)!r} is in the way and no journal of a run: choose another --output")
        self.file.truncate(whole)
        self.file.seek(0, os.SEEK_END)
        return found

    def add(self, entry: Mapping[str, Any]) -> None:
        """Keep one finished case."""
        self._append(entry)

    def _append(self, entry: Mapping[str, Any]) -> None:
        try:
            self.file.write(json.dumps(entry, allow_nan=False) + "\n")
            self.file.flush()
            os.fsync(self.file.fileno())
        except OSError as error:
            raise InputError(f"cannot write {str(self.path)!r}: {error.strerror or error}") from None

    def close(self) -> None:
        """Give the lock back; the journal stays."""
        with contextlib.suppress(OSError):
            self.file.close()

    def remove(self) -> None:
        """Finish: the record holds everything now."""
        self.path.unlink(missing_ok=True)
        self.close()


_BEGINNING = '{"header"'


def _parsed(line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _short(value: object) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) <= 60 else text[:57] + "..."

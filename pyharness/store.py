"""Run records: one versioned JSON file per run, and the journal that a run can be resumed from.

The record holds raw values; intervals and medians are computed from them when they are shown.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from pyharness.types import Case, CaseResult, InputError, Measurement

SCHEMA = 1
KIND = "pyharness-run"
SCHEMA_FILE = Path(__file__).parent / "record.schema.json"


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
    """Inverse of ``measurement_as_json``."""
    return Measurement(
        data["metric"],
        data["value"],
        data.get("reason"),
        data.get("part"),
        tuple(data.get("samples", ())),
        tuple(data.get("replicates", ())),
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
    """Inverse of ``result_as_json``."""
    case = Case(data["benchmark"], data["tokenizer"], data["corpus"], data["parameters"])
    measurements = tuple(measurement_from_json(item) for item in data["measurements"])
    return CaseResult(case, data["status"], data["reason"], measurements, data["details"])


# ---------------------------------------------------------------------------------------------- records


@dataclass(frozen=True)
class Record:
    """A run record as read: JSON values, with the results as nouns."""

    data: Mapping[str, Any]
    results: tuple[CaseResult, ...]
    path: Path | None = None

    @classmethod
    def from_json(cls, data: Any, name: str, path: Path | None = None) -> Record:
        """Check kind and schema number; ``name`` is what messages call the record."""
        if not isinstance(data, dict) or data.get("kind") != KIND:
            raise InputError(f"{name} is not a pyharness run record")
        if not isinstance(data.get("schema"), int) or data["schema"] > SCHEMA:
            raise InputError(
                f"{name} has record schema {data.get('schema')}; this pyharness reads up to {SCHEMA}: upgrade pyharness"
            )
        try:
            return cls(data, tuple(result_from_json(item) for item in data["results"]), path)
        except (KeyError, TypeError, AttributeError) as error:
            raise InputError(f"{name} is not a complete run record: {error!r}") from None

    def of(self, benchmark: str) -> list[CaseResult]:
        """Results of one benchmark, in the order of the suite."""
        return [result for result in self.results if result.case.benchmark == benchmark]


def read(path: Path) -> Record:
    """Read a record from disk."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"record {str(path)!r} does not exist") from None
    except (OSError, UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise InputError(f"record {str(path)!r} cannot be read: {error}") from None
    return Record.from_json(data, f"record {str(path)!r}", path)


def write(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    try:
        with _replacement(path) as file:
            file.write(text)
    except OSError as error:
        raise InputError(f"cannot write {str(path)!r}: {error.strerror or error}") from None


@contextlib.contextmanager
def _replacement(path: Path) -> Iterator[IO[str]]:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
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


def dump(data: Mapping[str, Any]) -> str:
    """Return JSON text, one line per result so that records diff well."""
    head = {name: value for name, value in data.items() if name != "results"}
    lines = ",\n".join("  " + json.dumps(item, ensure_ascii=False, allow_nan=False) for item in data["results"])
    text = json.dumps(head, indent=1, ensure_ascii=False, allow_nan=False)
    return text.removesuffix("\n}") + ',\n "results": [\n' + lines + "\n ]\n}\n"


# ---------------------------------------------------------------------------------------------- journal


class Journal:
    """Finished cases of a run in progress: one line each, synced to disk, beside the record to be.

    The file is locked while the run lives, so two runs cannot write one path.
    """

    def __init__(self, record: Path) -> None:
        self.path = record.with_name(record.name + ".journal")
        try:
            record.parent.mkdir(parents=True, exist_ok=True)
            # A read-only folder must be found out now, not after an hour of measuring.
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
            if (found := lines[0].get("header", {}).get(name)) != value:
                self.close()
                raise InputError(
                    f"cannot resume {str(self.path)!r}: {name} was {_short(found)}, now it is {_short(value)}"
                )
        return lines[1:]

    def _lines(self) -> list[dict[str, Any]]:
        self.file.seek(0)
        found = []
        whole = 0
        for line in self.file:
            try:
                found.append(json.loads(line))
            except json.JSONDecodeError:
                break  # the run was killed while writing this line
            if not line.endswith("\n"):
                found.pop()
                break
            whole += len(line.encode())
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


def _short(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."

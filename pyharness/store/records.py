"""A run record: one versioned JSON file."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from pyharness.store.results import result_from_json
from pyharness.store.shape import Misshapen, check_top, check_values, short
from pyharness.store.states import NoState, StateReader
from pyharness.system import bounded_file
from pyharness.types import CaseResult, InputError

SCHEMA = 2  # 2: no_interval, state
KIND = "pyharness-run"
PROFILE_KIND = "pyharness-profile"
PROFILE_SCHEMA_WITH_CASES = 2
MOST_BYTES = 64 << 20  # thousands of cases; and what is made of so many bytes and values stays below 1 GB
MOST_VALUES = 3_000_000
SCHEMA_FILE = Path(__file__).with_name("record.schema.json")
_NONE_KEPT = "no case of it keeps any, or it was written by a pyharness that kept none; measure again"
_SURROGATE = re.compile(r"[\ud800-\udfff]")


@dataclass(frozen=True)
class Record:
    """A run record as read: JSON values, with the results as nouns."""

    data: Mapping[str, Any]
    results: tuple[CaseResult, ...]
    path: Path | None = None

    @classmethod
    def from_json(cls, data: Any, name: str, path: Path | None = None) -> Record:
        """Check kind, schema number and shape; ``name`` is what messages call the record."""
        if not isinstance(data, dict) or data.get("kind") not in (KIND, PROFILE_KIND):
            raise InputError(f"{name} is not a pyharness run record")
        schema = data.get("schema")
        if not isinstance(schema, int) or isinstance(schema, bool) or schema < 1:
            raise InputError(
                f"{name} is not a pyharness run record: its schema is {short(schema)}, not a number from 1"
            )
        if schema > SCHEMA:
            raise InputError(
                f"{name} has record schema {short(schema)}; this pyharness reads up to {SCHEMA}: upgrade pyharness"
            )
        if data["kind"] == PROFILE_KIND and schema < PROFILE_SCHEMA_WITH_CASES:
            raise InputError(
                f"{name} is a profile of an older pyharness, which has no cases: measure again with "
                f"pyharness profile {short(data.get('kernel')).strip(chr(34))} -o FILE"
            )
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
        return cls(data, tuple(results), path)

    def state(self) -> StateReader:
        """What the numbers were computed from: the file beside the record.

        Raises:
            NoState: there is none, or it is not the one that the record was written with.
        """
        about = self.data.get("state")
        if about is None or self.path is None:
            raise NoState(f"there is no state beside record {str(self.path or '')!r}: {_NONE_KEPT}")
        return StateReader(self.path.with_name(about["file"]), about)

    def of(self, benchmark: str) -> list[CaseResult]:
        """Results of one benchmark, in the order of the suite."""
        return [result for result in self.results if result.case.benchmark == benchmark]


def read(path: Path) -> Record:
    """Read a record from disk."""
    try:
        content = bounded_file.read(path, MOST_BYTES, f"record {str(path)!r}")
        if (values := sum(map(content.count, (b",", b"[", b"{")))) > MOST_VALUES:
            raise InputError(f"record {str(path)!r} has {values:,} values; at most {MOST_VALUES:,} are read")
        data = json.loads(content.decode(), parse_constant=_no_number)
    except InputError:
        raise
    except FileNotFoundError:
        raise InputError(f"record {str(path)!r} does not exist") from None
    except OSError as error:
        raise InputError(f"record {str(path)!r} cannot be read: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:  # no UTF-8, no JSON, a number of a million digits, bottomless
        raise InputError(f"record {str(path)!r} cannot be read: {error}") from None
    return Record.from_json(data, f"record {str(path)!r}", path)


def is_unfinished(path: Path) -> bool:
    """Say whether a file is the record of a run that was interrupted: what it had finished is in its journal, too."""
    try:
        return path.is_file() and read(path).data["complete"] is False
    except (InputError, OSError):
        return False


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"it holds {text}, which is no number")


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

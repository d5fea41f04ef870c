"""Entries of a log: JSON Lines with the ids of a text, with the text, or with a number of tokens alone.

As a corpus (``ids:FILE.jsonl``), its documents are entries: rows of JSON that ``read_entries`` reads.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyharness import corpora
from pyharness.corpora.files import jsonl, reading
from pyharness.corpora.options import COMMON_OPTIONS, described
from pyharness.corpora.path import check_file
from pyharness.corpora.streaming import StreamedCorpus, fits, never_empty, settled
from pyharness.system import folders
from pyharness.types import Corpus, CorpusFamily, Digest, InputError, Piece, Tally
from pyharness.vocabularies.files.vocabulary_file import BIGGEST_ID

KIND = "ids"  # of corpora
MOST_TOKENS = 1 << 40  # of an entry: sums of int64 stay exact
OPTIONS: Mapping[str, str] = {
    "ids": "field with the ids of an entry (default ids)",
    "field": "field with its text (default text)",
    "tokens": "field with its number of tokens, where ids are not known (default tokens)",
}


@dataclass(frozen=True, slots=True)
class LogFields:
    """Names of the fields of a log."""

    ids: str = "ids"
    text: str = "text"
    tokens: str = "tokens"

    @classmethod
    def of(cls, options: Mapping[str, str]) -> LogFields:
        """Read the names from the options of a specification."""
        return cls(options.get("ids", "ids"), options.get("field", "text"), options.get("tokens", "tokens"))


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One entry: ``ids``, or only their number ``tokens``; ``text`` is None where the log has none."""

    line: int
    tokens: int
    ids: tuple[int, ...] | None = None
    text: str | None = None

    def written(self) -> str:
        """Return the entry as a row of JSON, the same for every spelling of its fields."""
        fields = {"line": self.line, "tokens": self.tokens, "ids": self.ids, "text": self.text}
        return json.dumps({name: value for name, value in fields.items() if value is not None})

    @classmethod
    def of_written(cls, row: str) -> LogEntry:
        """Invert ``written``; raise ``InputError`` for other text."""
        try:
            content = json.loads(row)
            line = content["line"]
        except (ValueError, TypeError, KeyError, RecursionError):
            raise InputError(
                "this corpus is text, and no log: name a file of ids, like -c ids:rollouts.jsonl"
            ) from None
        return entry_of(f"line {line}", line, content, LogFields())


def check_log(path: Path) -> None:
    """Check a log by its name and the file system; raise ``InputError``."""
    if not path.exists():
        raise InputError(f"there is no file {str(path)!r} in {Path.cwd()}; check the spelling")
    check_file(path)
    if reading.kind(path.name) != "jsonl":
        raise InputError(f"{path} is not JSON Lines by its name; a log has rows with ids, as in rollouts.jsonl")


def entries_of(path: Path, fields: LogFields) -> Iterator[LogEntry]:
    """Stream the entries of a file.

    Raises:
        InputError: a row has neither ids nor a number of tokens, or one of them is none.
    """
    for number, row in jsonl.rows(path):
        yield entry_of(f"{path} line {number}", number, row, fields)


def entry_of(where: str, line: int, row: Mapping[str, Any], fields: LogFields) -> LogEntry:
    """Check a row; ``where`` is its name in messages."""
    text, ids, tokens = (_given(row, field) for field in (fields.text, fields.ids, fields.tokens))
    if text is not None and not isinstance(text, str):
        raise InputError(f"{where}: {fields.text!r} is {jsonl.kind_of(text)}, not text; choose another with ?field=")
    text = None if text is None else settled(text)[0]
    if ids is None:
        if tokens is None or text is None:
            names = ", ".join(map(repr, list(row)[:20])) or "nothing"
            raise InputError(
                f"{where} has no {fields.ids!r}, and not both {fields.text!r} and {fields.tokens!r}; it has {names}: "
                "choose fields with ?ids=, ?field= and ?tokens="
            )
        return LogEntry(line, _number(where, fields.tokens, tokens, MOST_TOKENS), None, text)
    if not isinstance(ids, list):
        raise InputError(f"{where}: {fields.ids!r} is {jsonl.kind_of(ids)}, not a list of ids; choose with ?ids=")
    numbers = tuple(_number(where, f"{fields.ids}[{place}]", one, BIGGEST_ID) for place, one in enumerate(ids))
    return LogEntry(line, len(numbers), numbers, text)


def _given(row: Mapping[str, Any], field: str) -> Any:
    """Return a field or None; ``outer.inner`` names one of a nested object, as in other corpora."""
    outer, _, inner = field.partition(".")
    nested = row.get(outer)
    return _given(nested, inner) if field not in row and inner and isinstance(nested, dict) else row.get(field)


def _number(where: str, field: str, value: Any, most: int) -> int:
    if type(value) is not int or not 0 <= value <= most:
        given = value if type(value) in (int, float) else jsonl.kind_of(value)
        raise InputError(f"{where}: {field} is {str(given)[:40]}, not a whole number from 0 to {most:,}")
    return value


@dataclass(slots=True)
class Logs(StreamedCorpus[LogEntry]):
    """Entries of a log, as rows of JSON."""

    kind: str = KIND

    def keyed_documents(self, tally: Tally) -> Iterator[Piece]:
        """Stream entries with keys: equal texts, or equal ids without text, are no further evidence."""
        return never_empty(self.name, self._pieces(), tally)

    def _pieces(self) -> Iterator[Piece]:
        total = 0
        for entry in self.read():
            row = entry.written()  # ASCII
            total += len(row)
            if not fits(total, len(row), self.max_bytes):
                return
            yield Piece(row, str(entry.ids) if entry.text is None else entry.text)


def read_entries(corpus: Corpus, tally: Tally) -> Iterator[tuple[LogEntry, Digest]]:
    """Stream the entries of a log, each with the digest of its key, and count them as text.

    Raises:
        InputError: the corpus is text.
    """
    return ((LogEntry.of_written(one.text), one.key) for one in corpora.read(corpus, tally))


def _open(spec: str, argument: str, options: Mapping[str, str]) -> Corpus:
    if not argument:
        raise InputError(f"corpus {spec!r} names no file; write ids:FILE.jsonl")
    path, fields = folders.expanded(argument), LogFields.of(options)
    check_log(path)
    return Logs(spec, lambda: entries_of(path, fields), **described(spec, options, domain="logged ids"))


CORPORA = (
    CorpusFamily(
        name="ids",
        open=_open,
        summary="a log: JSON Lines with the ids of texts, or texts and numbers of tokens",
        example="ids:rollouts.jsonl",
        options={**COMMON_OPTIONS, **OPTIONS},
    ),
)

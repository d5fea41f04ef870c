"""Logs as corpora: ``ids:FILE.jsonl``. The documents are entries, as rows of JSON that ``read_entries`` reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from pyharness import corpora
from pyharness.corpora.options import COMMON_OPTIONS, described
from pyharness.corpora.streaming import fits, never_empty
from pyharness.features.logs.entries import OPTIONS, LogEntry, LogFields, check_log, entries_of
from pyharness.system import folders
from pyharness.types import Corpus, CorpusFamily, Digest, InputError, Piece, Tally

KIND = "ids"  # of corpora


@dataclass(slots=True)
class Logs:
    """Entries read from ``read``, a stream that can be restarted."""

    name: str
    read: Callable[[], Iterable[LogEntry]]
    language: str
    domain: str
    licence: str
    label: str
    max_bytes: int | None
    smoke_test: bool = False
    kind: str = KIND

    def documents(self, tally: Tally) -> Iterator[str]:
        """Stream entries as rows of JSON."""
        return (piece.text for piece in self.keyed_documents(tally))

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

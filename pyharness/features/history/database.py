"""The database of a history: a file of SQLite that holds records, and points that are made of them.

Every change is one transaction: an interrupted command, a full disk or another writer leaves the state before it.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyharness.features.gate.records import GATE_KIND
from pyharness.features.history.collecting import KeptRecord, is_commit, kept
from pyharness.features.history.places import BranchLine, LineRevision, ancestors, newer_tip, rewritten
from pyharness.types import InputError

KIND, SCHEMA = "pyharness-history", 1
SCHEMA_FILE = Path(__file__).with_name("schema.sql")
DEFAULT, VARIABLE = "pyharness-history.db", "PYHARNESS_HISTORY"
PATIENCE = 60.0  # seconds for another writer
MAGIC = b"SQLite format 3\0"
_TABLES = ("about", "points", "records", "revisions")
_COLUMNS = {"about": {"name", "value"}, "records": {"id", "revision", "content"}}  # of each schema
_LONGEST = 9  # digits of a schema's number
_REFUSALS: Mapping[str, str] = {
    "SQLITE_BUSY": f"another process has locked it for more than {PATIENCE:.0f} s: try again when it has ended",
    "SQLITE_READONLY": "it cannot be written: change its permissions, or name another file with --db",
    "SQLITE_FULL": "the disk is full: nothing was added; make room and add again",
    "SQLITE_CANTOPEN": "it cannot be opened: look whether its folder exists and can be written",
    "SQLITE_NOTADB": "it is no database of SQLite: name another file with --db",
    "SQLITE_CORRUPT": "it is damaged or cut off: take a copy of it, or add the records to a new one",
}


def place_of(given: str | None) -> Path:
    """Return the file of the history: as given, of the environment, or the default here.

    Raises:
        InputError: it is a URL, which is not shown: it may hold a password.
    """
    name = given or os.environ.get(VARIABLE) or DEFAULT
    if "://" in name:
        raise InputError("--db names a server, and a history is a file of SQLite: name a file")
    return Path(name)


@dataclass(frozen=True, slots=True)
class Added:
    """What an addition did."""

    new: int
    known: int  # records that were there already
    waiting: int  # measured revisions without a place, in all
    rewritten: tuple[str, ...] = ()  # measured revisions that a force push took off the line


@dataclass(frozen=True, slots=True)
class HistoryContents:
    """What a history holds, for another one."""

    entries: tuple[KeptRecord, ...]
    revisions: tuple[LineRevision, ...]
    tip: str | None


@contextmanager
def reporting(path: Path) -> Iterator[None]:
    """Turn errors of SQLite into one line that names the file."""
    try:
        yield
    except sqlite3.Error as error:
        name = "_".join(str(getattr(error, "sqlite_errorname", "")).split("_")[:2])
        why = _REFUSALS.get(name) or f"{error}: if it is damaged, take a copy of it"
        raise InputError(f"history {str(path)!r}: {why}") from None


class Database:
    """An open history."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path, self._connection = path, connection

    @property
    def name(self) -> str:
        """What messages call it."""
        return f"history {str(self.path)!r}"

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return all rows of a query."""
        return self._connection.execute(statement, values).fetchall()

    def about(self, name: str) -> str | None:
        """Return a fact about the history; None where it has none."""
        rows = self.rows("SELECT value FROM about WHERE name = ?", (name,))
        return str(rows[0][0]) if rows else None

    def add(
        self, entries: Iterable[KeptRecord], line: BranchLine | None, others: Sequence[HistoryContents] = ()
    ) -> Added:
        """Add records, other histories and the order of revisions, in one transaction; what it has already stays.

        Raises:
            InputError: a gate's record was changed since it was added, or the database refuses.
        """
        with self._writing():
            news = [self._add(entry) for part in (entries, *(other.entries for other in others)) for entry in part]
            gone = self._extend(line.revisions, line.tip) if line is not None else []
            for other in others:
                self._extend(other.revisions, other.tip)
            if others and line is not None:  # its tip is the last word
                gone += self._extend(line.revisions, line.tip)
            return Added(sum(news), len(news) - sum(news), len(self.waiting()), tuple(dict.fromkeys(gone)))

    def contents(self) -> HistoryContents:
        """Read all that another history takes; raise ``InputError`` where a record is damaged."""
        revisions, tip = self.known_revisions()
        return HistoryContents(tuple(self.entries()), tuple(revisions), tip)

    def entries(self) -> Iterator[KeptRecord]:
        """Make all entries again from the records, in the order of their digests."""
        for digest, revision in self.rows("SELECT id, revision FROM records ORDER BY id"):
            ((content,),) = self.rows("SELECT content FROM records WHERE id = ?", (digest,))
            yield kept(content, str(digest), str(revision), self.name)

    def waiting(self) -> list[str]:
        """Return measured revisions without a place."""
        query = "SELECT DISTINCT p.revision FROM points p JOIN revisions v ON v.id = p.revision WHERE v.place IS NULL"
        return sorted(str(revision) for (revision,) in self.rows(query))

    def rebuild(self, line: BranchLine | None) -> int:
        """Make all tables again from the records; return their number. Commits and their order stay."""
        with self._writing():
            entries = list(self.entries())
            revisions, tip = self.known_revisions()
            for table in _TABLES:
                self._connection.execute(f"DROP TABLE IF EXISTS {table}")
            self._create()
            for entry in entries:
                self._add(entry)
            self._extend(revisions, tip)
            if line is not None:
                self._extend(line.revisions, line.tip)
            return len(entries)

    def known_revisions(self) -> tuple[list[LineRevision], str | None]:
        """Return what is known of commits, and the tip of the line; nothing where another schema names them otherwise.

        What a stranger's file has in place of commits and texts is left out.
        """
        try:
            rows = self.rows("SELECT id, parent, committed, subject FROM revisions ORDER BY id")
        except sqlite3.OperationalError:
            return [], None
        known = [
            LineRevision(commit, parent if _is_commit(parent) else None, *(_text(value) for value in texts))
            for commit, parent, *texts in rows if _is_commit(commit)
        ]  # fmt: skip
        tip = self.about("tip")
        return known, tip if _is_commit(tip) else None

    def _create(self) -> None:
        for statement in SCHEMA_FILE.read_text(encoding="utf-8").split(";\n"):
            self._connection.execute(statement)
        facts = [("kind", KIND), ("schema", str(SCHEMA))]
        self._connection.executemany("INSERT INTO about (name, value) VALUES (?, ?)", facts)

    def _add(self, entry: KeptRecord) -> bool:
        if self.rows("SELECT 1 FROM records WHERE id = ?", (entry.id,)):
            return False
        self._check_unchanged(entry)
        self._connection.execute(
            "INSERT INTO records (id, kind, created, suite, machine, revision, content) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (entry.id, entry.kind, entry.created, entry.suite, entry.machine, entry.named, entry.content),
        )
        self._connection.executemany(
            "INSERT INTO points (record, series, revision, anchor, value, low, high, samples) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [(entry.id, json.dumps(one.series), entry.revision, one.series.anchor, one.value, one.low, one.high,
              one.samples) for one in entry.points],
        )  # fmt: skip
        measured = [(entry.revision, None), *entry.subjects.items()]
        self._connection.executemany(
            "INSERT INTO revisions (id, subject) VALUES (?, ?) "
            "ON CONFLICT (id) DO UPDATE SET subject = COALESCE(revisions.subject, excluded.subject)",
            measured,
        )
        return True

    def _check_unchanged(self, entry: KeptRecord) -> None:
        """Refuse a gate's record that was changed: a machine runs one gate at a time."""
        same = self.rows(
            "SELECT id FROM records WHERE kind = ? AND created = ? AND suite = ? AND machine = ? AND created <> '' "
            "AND kind = 'pyharness-gate' AND revision = ?",
            (entry.kind, entry.created, entry.suite, entry.machine, entry.named),
        )
        for (digest,) in same:
            measured = self.rows("SELECT 1 FROM points WHERE record = ? AND revision = ?", (digest, entry.revision))
            if measured:
                raise InputError(
                    f"a record of {entry.suite!r} of {entry.created} was added before, and has changed since: add the "
                    f"one that was written, or remove {str(digest)[:12]!r} with its history"
                )

    def _extend(self, revisions: Iterable[LineRevision], tip: str | None) -> list[str]:
        """Add what is known of commits, and place all revisions again; return those that left the line."""
        self._connection.executemany(
            "INSERT INTO revisions (id, parent, committed, subject) VALUES (?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET "
            "parent = COALESCE(revisions.parent, excluded.parent), "
            "committed = COALESCE(revisions.committed, excluded.committed), "
            "subject = COALESCE(excluded.subject, revisions.subject)",
            [(one.id, one.parent, one.committed, one.subject) for one in revisions],
        )
        parents = {str(commit): parent for commit, parent in self.rows("SELECT id, parent FROM revisions")}
        before, known = self.rows("SELECT id FROM revisions WHERE place IS NOT NULL"), self.about("tip")
        newest = newer_tip(known, tip, parents)
        if newest is None:
            return []
        line = ancestors(newest, parents)
        self._connection.execute("UPDATE revisions SET place = NULL")
        self._connection.executemany("UPDATE revisions SET place = ? WHERE id = ?", list(enumerate(line)))
        self._connection.execute(
            "INSERT INTO about (name, value) VALUES ('tip', ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            (newest,),
        )
        measured = [str(row[0]) for row in self.rows("SELECT DISTINCT revision FROM points")]
        return rewritten(measured, line, [str(row[0]) for row in before])

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with reporting(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise


def check_apart(entries: Iterable[KeptRecord]) -> None:
    """Refuse two different records of one gate, as ``Database.add`` would, before a history is made for them."""
    seen: dict[tuple[str, ...], str] = {}
    for one in entries:
        gate = (one.created, one.suite, one.machine, one.named, one.revision)
        if one.kind != GATE_KIND or not one.created:
            continue
        if seen.get(gate, one.id) != one.id:
            raise InputError(f"two records of {one.suite!r} of {one.created} differ: add the one that was written")
        if one.points:
            seen[gate] = one.id


def _is_commit(value: object) -> bool:
    return isinstance(value, str) and is_commit(value)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


@contextmanager
def opened(path: Path, *, create: bool = False, any_schema: bool = False) -> Iterator[Database]:
    """Open a history.

    Args:
        path: its file.
        create: make it where it does not exist; otherwise it is only read.
        any_schema: accept an older schema, for ``rebuild``.

    Raises:
        InputError: it does not exist, is another's, of a newer version, damaged, or cannot be read or made.
    """
    if not path.exists() and not create:
        raise InputError(f"history {str(path)!r} does not exist: pyharness history add RECORD makes one")
    if path.is_dir():
        raise InputError(f"history {str(path)!r} is a folder: name a file with --db")
    mode = "rwc" if create else "rw" if any_schema else "ro"
    with reporting(path):
        address = f"{path.resolve().as_uri()}?mode={mode}"
        with closing(sqlite3.connect(address, uri=True, timeout=PATIENCE, isolation_level=None)) as connection:
            database = Database(path, connection)
            _check(database, create=create, any_schema=any_schema)
            yield database


def _check(database: Database, *, create: bool, any_schema: bool) -> None:
    """Make the tables of an empty file; refuse what is no history of this version."""
    tables = database.rows("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
    if not tables and create:
        with database._writing():
            if not database.rows("SELECT name FROM sqlite_master"):
                database._create()
        return
    where = database.name
    if not all(names <= _columns(database, table) for table, names in _COLUMNS.items()) or (
        database.about("kind") != KIND
    ):
        raise InputError(f"{where} is another program's database: name a history of pyharness")
    schema = database.about("schema") or ""
    shown = repr(schema[:_LONGEST]) + " ..." * (len(schema) > _LONGEST)
    if schema.isdecimal() and (len(schema) > _LONGEST or int(schema) > SCHEMA):
        raise InputError(f"{where} has schema {shown}, and this version reads {SCHEMA}: install a newer pyharness")
    if schema != str(SCHEMA) and not any_schema:
        raise InputError(f"{where} has schema {shown}, and this version reads {SCHEMA}: pyharness history rebuild")


def _columns(database: Database, table: str) -> set[str]:
    """Return the names of a table's columns; none where there is no such table."""
    return {str(name) for (name,) in database.rows("SELECT name FROM pragma_table_info(?)", (table,))}


def is_history(path: Path) -> bool:
    """Whether a file begins as a database does."""
    try:
        with path.open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False

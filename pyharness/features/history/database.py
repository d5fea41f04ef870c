"""The database of a history: records, and points that are made of them; in a file of SQLite or on PostgreSQL.

Every change is one transaction: an interrupted command, a full disk or another writer leaves the state before it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from pyharness.features.history import connections, servers
from pyharness.features.history.collecting import KeptRecord, is_commit, kept
from pyharness.features.history.connections import FileConnection
from pyharness.features.history.places import BranchLine, LineRevision, ancestors, newer_tip, rewritten
from pyharness.features.history.servers import ServerConnection, ServerPlace, is_address, server_place
from pyharness.system import bounded_file
from pyharness.types import InputError

KIND, SCHEMA = "pyharness-history", 3
SCHEMA_FILE = Path(__file__).with_name("schema.sql")
DEFAULT, VARIABLE = "pyharness-history.db", "PYHARNESS_HISTORY"
MAGIC = b"SQLite format 3\0"
Connection: TypeAlias = FileConnection | ServerConnection  # alike in all but where the history lies
Place: TypeAlias = Path | ServerPlace
_TABLES = ("about", "gaps", "points", "records", "revisions")
_COLUMNS = {"about": {"name", "value"}, "records": {"id", "revision", "content"}}  # of each schema
_OF_REVISIONS = {"id", "parent", "committed", "subject"}
_LONGEST = 9  # digits of a schema's number


def place_of(given: str | None, option: str = "--db") -> Place:
    """Return where the history lies: as given, of the environment, or the default here.

    Raises:
        InputError: it is an address and none of PostgreSQL; it is not shown, since it may hold a password.
    """
    if given is None:
        given, option = os.environ.get(VARIABLE), VARIABLE
    name = given or DEFAULT
    return server_place(name, option) if is_address(name) else Path(name)


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


class Database:
    """An open history."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    @property
    def name(self) -> str:
        """What messages call it."""
        return self._connection.name

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return all rows of a query."""
        return self._connection.rows(statement, values)

    def claimed(self, what: str) -> AbstractContextManager[bool]:
        """Hold a claim until the end of the block; the value is False where another process holds it."""
        return self._connection.claimed(what)

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
        with self._connection.writing():
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

    def gaps(self) -> list[tuple[str, str, str, str]]:
        """Return revision, anchor, suite and reason of each gate without a point, the latest gate last."""
        query = "SELECT created, record, g.revision, anchor, g.suite, reason FROM gaps g JOIN records r ON id = record"
        rows = sorted([str(value) for value in row] for row in self.rows(query))  # databases differ in that of texts
        return [(revision, anchor, suite, reason) for _, _, revision, anchor, suite, reason in rows]

    def rebuild(self, line: BranchLine | None) -> int:
        """Make all tables again from the records; return their number. Commits and their order stay."""
        with self._connection.writing():
            entries = list(self.entries())
            revisions, tip = self.known_revisions()
            for table in _TABLES:
                self._connection.rows(f"DROP TABLE IF EXISTS {table}")
            self._create()
            for entry in entries:
                self._insert(entry)  # what was let in once is kept, whatever this version would refuse
            self._extend(revisions, tip)
            if line is not None:
                self._extend(line.revisions, line.tip)
            return len(entries)

    def known_revisions(self) -> tuple[list[LineRevision], str | None]:
        """Return what is known of commits, and the tip of the line; nothing where another schema names them otherwise.

        What a stranger's file has in place of commits and texts is left out.
        """
        if not self._connection.columns("revisions") >= _OF_REVISIONS:
            return [], None
        rows = self.rows("SELECT id, parent, committed, subject FROM revisions ORDER BY id")
        revisions = [
            LineRevision(commit, parent if _is_commit(parent) else None, *map(_text, texts))
            for commit, parent, *texts in rows if _is_commit(commit)
        ]  # fmt: skip
        tip = self.about("tip")
        return revisions, tip if _is_commit(tip) else None

    def _create(self) -> None:
        for statement in SCHEMA_FILE.read_text(encoding="utf-8").split(";\n"):
            self._connection.rows(statement)
        facts = [("kind", KIND), ("schema", str(SCHEMA))]
        self._connection.change("INSERT INTO about (name, value) VALUES (?, ?)", facts)

    def _add(self, entry: KeptRecord) -> bool:
        if same := self.rows("SELECT revision FROM records WHERE id = ?", (entry.id,)):
            if same[0][0] != entry.revision:
                why = f"is of revision {same[0][0][:10]} already: name that one, or begin another history"
                raise InputError(f"record {entry.id[:12]!r} {why}")
            return False
        self._check_unchanged(entry)
        self._insert(entry)
        return True

    def _insert(self, entry: KeptRecord) -> None:
        self._connection.rows(
            "INSERT INTO records (id, kind, created, suite, machine, revision, content) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (entry.id, entry.kind, entry.created, entry.suite, entry.machine, entry.revision, entry.content),
        )
        self._connection.change(
            "INSERT INTO points (record, series, revision, anchor, value, low, high, samples) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [(entry.id, json.dumps(one.series), entry.revision, one.series.anchor, one.value, one.low, one.high,
              one.samples) for one in entry.points],
        )  # fmt: skip
        if entry.gap is not None:
            self._connection.rows(
                "INSERT INTO gaps (record, revision, anchor, suite, reason) VALUES (?, ?, ?, ?, ?)",
                (entry.id, entry.revision, entry.gap.anchor, entry.suite, entry.gap.reason),
            )
        measured = [(entry.revision, None), *entry.subjects.items()]
        self._connection.change(
            "INSERT INTO revisions (id, subject) VALUES (?, ?) "
            "ON CONFLICT (id) DO UPDATE SET subject = COALESCE(revisions.subject, excluded.subject)",
            measured,
        )

    def _check_unchanged(self, entry: KeptRecord) -> None:
        """Refuse a record that was changed: what was measured at one moment has one value and interval."""
        if not entry.created:
            return
        query = "SELECT id FROM records WHERE revision = ? AND created = ? AND kind = ? AND suite = ? AND machine = ?"
        moment = (entry.revision, entry.created, entry.kind, entry.suite, entry.machine)
        judged = [one for one in entry.points if one.series.nature != "shown"]
        now = {json.dumps(one.series): [one.value, one.low, one.high] for one in judged}
        for (digest,) in self.rows(query, moment):
            rows = self.rows("SELECT series, value, low, high FROM points WHERE record = ?", (digest,))
            if any(now.get(series, figures) != figures for series, *figures in rows):
                raise InputError(
                    f"a record of {entry.suite!r} of {entry.created} was added before, and has changed since: add the "
                    "one that was written"
                )

    def _extend(self, revisions: Iterable[LineRevision], tip: str | None) -> list[str]:
        """Add what is known of commits, and place all revisions again; return those that left the line."""
        self._connection.change(
            "INSERT INTO revisions (id, parent, committed, subject) VALUES (?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET "
            "parent = COALESCE(revisions.parent, excluded.parent), "
            "committed = COALESCE(revisions.committed, excluded.committed), "
            "subject = COALESCE(excluded.subject, revisions.subject)",
            [(one.id, one.parent, one.committed, one.subject) for one in revisions],
        )
        parents = {str(commit): parent for commit, parent in self.rows("SELECT id, parent FROM revisions")}
        before, last = self.rows("SELECT id FROM revisions WHERE place IS NOT NULL"), self.about("tip")
        newest = newer_tip(last, tip, parents)
        if newest is None:
            return []
        line = ancestors(newest, parents)
        self._connection.rows("UPDATE revisions SET place = NULL")
        self._connection.change("UPDATE revisions SET place = ? WHERE id = ?", list(enumerate(line)))
        self._connection.rows(
            "INSERT INTO about (name, value) VALUES ('tip', ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            (newest,),
        )
        measured = [str(row[0]) for row in self.rows("SELECT DISTINCT revision FROM points")]
        return rewritten(measured, line, [str(row[0]) for row in before])


def _is_commit(value: object) -> bool:
    return isinstance(value, str) and is_commit(value)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


@contextmanager
def opened(place: Place, *, create: bool = False, any_schema: bool = False) -> Iterator[Database]:
    """Open a history.

    Args:
        place: its file or server.
        create: make it where it does not exist; otherwise it is only read.
        any_schema: accept an older schema, for ``rebuild``.

    Raises:
        InputError: it does not exist, is another's, of a newer version, damaged, or cannot be read or made.
    """
    with _connected(place, create=create, writes=create or any_schema) as connection:
        database = Database(connection)
        _check(database, create=create, any_schema=any_schema)
        yield database


def _connected(place: Place, *, create: bool, writes: bool) -> AbstractContextManager[Connection]:
    if isinstance(place, ServerPlace):
        return servers.connected(place, reads=not writes)
    if not place.exists() and not create:
        raise InputError(f"history {str(place)!r} does not exist: pyharness history add RECORD makes one")
    if place.is_dir():
        raise InputError(f"history {str(place)!r} is a folder: name a file with --db")
    return connections.connected(place, "rwc" if create else "rw" if writes else "ro")


def _check(database: Database, *, create: bool, any_schema: bool) -> None:
    """Make the tables of an empty database; refuse what is no history of this version."""
    connection = database._connection
    if not (tables := connection.tables()):
        if not create:
            raise InputError(f"{database.name} is empty: pyharness history add RECORD makes one")
        with connection.writing():
            if not connection.tables():
                database._create()
        return
    whole = _COLUMNS.keys() <= set(tables)  # a stranger's view may have no end
    ours = whole and all(names <= connection.columns(table) for table, names in _COLUMNS.items())
    if not ours or database.about("kind") != KIND:
        raise InputError(f"{database.name} is another program's database: name a history of pyharness")
    schema = database.about("schema") or ""
    shown = repr(schema[:_LONGEST]) + " ..." * (len(schema) > _LONGEST)
    if schema.isdecimal() and (len(schema) > _LONGEST or int(schema) > SCHEMA):
        raise InputError(
            f"{database.name} has schema {shown}, and this version reads {SCHEMA}: install a newer pyharness"
        )
    if schema != str(SCHEMA) and not any_schema:
        raise InputError(
            f"{database.name} has schema {shown}, and this version reads {SCHEMA}: pyharness history rebuild"
        )


def is_history(path: Path) -> bool:
    """Whether a file begins as a database does."""
    try:
        with bounded_file.opened(path) as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False

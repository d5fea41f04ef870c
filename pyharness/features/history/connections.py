"""Where a history lies, and the connection to it: a file of SQLite here, a server in ``servers.py``.

Both take one text of SQL, with ``?`` for a value, through the standard interface of Python (PEP 249).
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from pyharness.system import atomic_file, folders
from pyharness.types import InputError

PATIENCE = 60.0  # seconds for another writer
LOCKED = "another process has locked it for more than {:.0f} s: try again when it has ended"
_REFUSALS: Mapping[str, str] = {
    "SQLITE_BUSY": LOCKED.format(PATIENCE),
    "SQLITE_READONLY": "it cannot be written: change its permissions, or name another file with --db",
    "SQLITE_FULL": "the disk is full: nothing was changed; make room and try again",
    "SQLITE_IOERR": "the system refuses to read or write it: look at its disk, your quota and ulimit -f",
    "SQLITE_CANTOPEN": "it cannot be opened: look whether its folder exists and can be written",
    "SQLITE_NOTADB": "it is no database of SQLite: name another file with --db",
    "SQLITE_CORRUPT": "it is damaged or cut off: restore a backup of it, or add the records to a new one",
}


@contextmanager
def reporting(path: Path) -> Iterator[None]:
    """Turn errors of SQLite into one line that names the file."""
    try:
        yield
    except sqlite3.Error as error:
        name = "_".join(str(getattr(error, "sqlite_errorname", "")).split("_")[:2])
        why = _REFUSALS.get(name) or f"{error}: if it is damaged, restore a backup of it"
        raise InputError(f"history {str(path)!r}: {why}") from None


class FileConnection:
    """A connection to a file of SQLite."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.name, self._path, self._connection = f"history {str(path)!r}", path, connection

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run a statement; return its rows."""
        return self._connection.execute(statement, values).fetchall()

    def change(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run a statement for each row of values."""
        self._connection.executemany(statement, rows)

    def tables(self) -> list[str]:
        """Return the names of all tables."""
        return [str(name) for (name,) in self.rows("SELECT name FROM sqlite_master WHERE type = 'table'")]

    def columns(self, table: str) -> set[str]:
        """Return the names of a table's columns; none where there is no such table."""
        return {str(name) for (name,) in self.rows("SELECT name FROM pragma_table_info(?)", (table,))}

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the only transaction that writes: whole at the end, or without a trace."""
        with reporting(self._path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    @contextmanager
    def claimed(self, what: str) -> Iterator[bool]:
        """Hold the claim of the whole file, whatever it is for: a machine runs one gate at a time.

        It is a lock on an empty file in the cache. A second descriptor of the database would end SQLite's own locks
        when it is closed (fcntl(2)).
        """
        del what
        place = folders.cache() / "history" / hashlib.sha256(os.fsencode(self._path.resolve())).hexdigest()[:32]
        with folders.caching("locks", place.parent):
            place.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(place, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            yield atomic_file.lock(handle)
        finally:
            os.close(handle)


@contextmanager
def connected(path: Path, mode: str) -> Iterator[FileConnection]:
    """Open a file of SQLite; ``mode`` is that of its URI.

    Raises:
        InputError: SQLite refuses, now or in the block, or the file is damaged, or it is a pipe or a device.
    """
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise InputError(f"{str(path)!r} is no regular file: name a history of pyharness")
    with reporting(path):
        address = f"{Path(os.path.realpath(path)).as_uri()}?mode={mode}"
        with closing(sqlite3.connect(address, uri=True, timeout=PATIENCE, isolation_level=None)) as connection:
            _check_pages(path, connection)
            yield FileConnection(path, connection)


def _check_pages(path: Path, connection: sqlite3.Connection) -> None:
    """Refuse a damaged file: where pages are lost, SQLite may read fewer rows without an error."""
    try:
        whole = connection.execute("PRAGMA quick_check(1)").fetchall() == [("ok",)]
    except UnicodeDecodeError:  # SQLite's message quotes damaged bytes
        whole = False
    if not whole:
        raise InputError(f"history {str(path)!r}: {_REFUSALS['SQLITE_CORRUPT']}")

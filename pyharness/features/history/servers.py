"""A history on a server of PostgreSQL, by psycopg 3 (extra ``postgres``).

The address is taken apart here, and libpq gets its parts: so no message of either can quote a password.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from pyharness.features.history.connections import LOCKED, PATIENCE
from pyharness.plugins import libraries
from pyharness.types import InputError

SCHEMES = ("postgresql", "postgres")
CONNECTING = 10.0  # seconds, for all addresses of a name together
FORM = "write postgresql://USER:PASSWORD@HOST:PORT/DATABASE, with % escapes for special characters"
LONGEST = 200  # characters of what a server says
_ADDRESS = re.compile(r"://|password\s*=|^postgres(ql)?:", re.IGNORECASE)
_WRITERS = 0x7079_6861  # key of the lock that writers hold
_LOST = "the connection was lost, and what was not finished is not there: try again"
_REFUSALS: Mapping[str, str] = {  # by SQLSTATE: PostgreSQL's manual, appendix A
    "55P03": LOCKED.format(PATIENCE),
    "25006": "it cannot be written: this session may only read",
    "42501": "it cannot be used: grant this user the rights to its tables",
    "57P01": _LOST,
    "53100": "the disk of the server is full: nothing was changed; make room and try again",
}


@dataclass(frozen=True, slots=True)
class ServerPlace:
    """A database on a server; as text it has neither user nor password."""

    host: str  # "": as libpq has it, mostly a socket of this machine
    port: int | None
    database: str
    options: Mapping[str, str] = field(repr=False)  # of libpq: user, password, sslmode and so on

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port is None else f":{self.port}"
        return f"postgresql://{host}{port}/{self.database}"

    @property
    def name(self) -> str:
        """Name of the database."""
        return self.database


def is_address(text: str) -> bool:
    """Whether a text is meant as the address of a server, of whatever kind and form; a file's path never is."""
    return _ADDRESS.search(text) is not None


def server_place(address: str, option: str = "--db") -> ServerPlace:
    """Take the address of a database apart; ``option`` is what messages call it.

    Raises:
        InputError: it is no such address; the message quotes nothing of it.
    """
    try:
        parts = urlsplit(address if "://" in address else "")
        port, query = parts.port, dict(parse_qsl(parts.query, strict_parsing=True) if parts.query else [])
    except ValueError:
        raise InputError(f"{option} is an address that cannot be read: {FORM}") from None
    if parts.scheme not in SCHEMES:
        raise InputError(f"{option} names a server of another kind: a history is a file of SQLite, or {FORM}")
    database = parts.path.removeprefix("/")
    texts = {"dbname": unquote(database), "host": unquote(parts.hostname or ""),
             "user": unquote(parts.username or ""), "password": unquote(parts.password or ""),
             **query}  # fmt: skip
    if (
        parts.fragment
        or {"/", "@"} & set(query.get("dbname", database))
        or any("\0" in text for text in texts.values())
    ):
        raise InputError(f"{option} is an address that cannot be read: {FORM}")
    if not texts["dbname"]:
        raise InputError(f"{option} names a server and no database: {FORM}")
    given = {name: text for name, text in texts.items() if text}
    return ServerPlace(given.get("host", ""), port, texts["dbname"], given | ({"port": str(port)} if port else {}))


class ServerConnection:
    """A connection to PostgreSQL."""

    def __init__(self, place: ServerPlace, connection: Any) -> None:
        self.name, self._place, self._connection = f"history {str(place)!r}", place, connection

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run a statement; return its rows."""
        cursor = self._connection.execute(_of_psycopg(statement), values or None)
        return cursor.fetchall() if cursor.description is not None else []

    def change(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run a statement for each row of values."""
        with self._connection.cursor() as cursor:
            cursor.executemany(_of_psycopg(statement), list(rows))

    def tables(self) -> list[str]:
        """Return the names of all tables of the schema that the session uses."""
        query = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"  # whoever may read them
        return [str(name) for (name,) in self.rows(query)]

    def columns(self, table: str) -> set[str]:
        """Return the names of a table's columns; none where there is no such table."""
        query = "SELECT attname FROM pg_attribute WHERE attrelid = to_regclass(?::text) AND attnum > 0"
        return {str(name) for (name,) in self.rows(f"{query} AND NOT attisdropped", (table,))}

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the only transaction that writes: whole at the end, or without a trace."""
        with reporting(self._place):
            self.rows("BEGIN")
            try:
                self.rows("SELECT pg_advisory_xact_lock(?)", (_WRITERS,))
                yield
                self.rows("COMMIT")
            except BaseException:
                with contextlib.suppress(_psycopg().Error):  # the connection may be gone
                    self.rows("ROLLBACK")
                raise

    @contextmanager
    def claimed(self, what: str) -> Iterator[bool]:
        """Hold a claim, among all machines; the server ends it with the connection."""
        key = int.from_bytes(hashlib.sha256(what.encode()).digest()[:8], signed=True)
        ((mine,),) = self.rows("SELECT pg_try_advisory_lock(?::bigint)", (key,))
        try:
            yield bool(mine)
        finally:
            with contextlib.suppress(_psycopg().Error):
                if mine:
                    self.rows("SELECT pg_advisory_unlock(?::bigint)", (key,))


def _psycopg() -> Any:
    return libraries.load("a history on a server", "psycopg", "postgres")


def _of_psycopg(statement: str) -> str:
    return statement.replace("?", "%s")


@contextmanager
def reporting(place: ServerPlace) -> Iterator[None]:
    """Turn errors of the server into one line that names it."""
    try:
        yield
    except _psycopg().Error as error:
        words = (error.diag.message_primary or _LOST) if error.sqlstate else _LOST
        raise InputError(f"history {str(place)!r}: {_REFUSALS.get(error.sqlstate) or words[:LONGEST]}") from None


@contextmanager
def connected(place: ServerPlace, *, reads: bool) -> Iterator[ServerConnection]:
    """Open a database on a server; ``reads``: it is only read.

    Raises:
        InputError: psycopg is not installed, no server answers within ``CONNECTING`` seconds, or it refuses.
    """
    with closing(_connected(place)) as connection, reporting(place):
        opened = ServerConnection(place, connection)
        opened.rows(f"SET lock_timeout = '{PATIENCE:.0f}s'")
        opened.rows(f"SET default_transaction_read_only = {'on' if reads else 'off'}")
        yield opened


def _connected(place: ServerPlace) -> Any:
    """Connect in a thread: libpq has a limit for each address, and none for looking up a name."""
    psycopg, ended = _psycopg(), list[Any]()

    def connect() -> None:
        try:
            options = {"connect_timeout": str(int(CONNECTING)), "application_name": "pyharness", **place.options}
            ended.append(psycopg.connect(**options, autocommit=True))
        except Exception as error:
            ended.append(error)

    thread = threading.Thread(target=connect, daemon=True)
    thread.start()
    thread.join(CONNECTING)
    what = f"history {str(place)!r}"
    if not ended:
        raise InputError(f"{what}: no server answers within {CONNECTING:.0f} s; look at its host and port")
    if isinstance(ended[0], Exception):
        raise InputError(f"{what} cannot be opened: {_why(ended[0], place)}") from None
    return ended[0]


def _why(error: Exception, place: ServerPlace) -> str:
    """Return what the server says, after its word FATAL; what libpq says may quote parts of the address."""
    _, separator, words = str(error).partition("FATAL:")
    secret = place.options.get("password", "")
    if not separator or (secret and secret in words):
        return "look whether the server runs at this host and port, and at user, password and options"
    return words.strip().splitlines()[0][:LONGEST]

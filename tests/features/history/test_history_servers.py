"""A history on PostgreSQL: the same tables as in a file, and what a server can refuse. A cluster of the test's own."""

from __future__ import annotations

import json
import random
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cases.command_line import call, refused
from gating.cluster import Cluster, cluster
from gating.histories import commit, entries, entry, filled, gate_text, line_of, tables, write_at_once
from gating.leveled import leveled_project, started_fill
from pyharness.features.history import servers
from pyharness.features.history.database import Database, Place, opened, place_of
from pyharness.features.history.lines import history_of
from pyharness.features.history.servers import ServerPlace
from pyharness.types import InputError

pytestmark = pytest.mark.process
ENTRIES = entries([0.0] * 10 + [0.05] * 10)
LINE = line_of(20)


@pytest.fixture(scope="module")
def server() -> Iterator[Cluster]:
    with cluster() as running:
        yield running


@pytest.fixture
def place(server: Cluster) -> Place:
    return place_of(server.address(server.fresh()))


def test_tables_are_those_of_a_file_in_any_order_and_when_joined(tmp_path: Path, place: Place, server: Cluster) -> None:
    name = "".join(random.Random(2).choices("abcdefghijklmnopqrstuvwxyz", k=20_000))  # no index holds it
    names = {"a\0b": 0.0, "é<\ud800": 0.01, name: 0.0}
    unlike = [*ENTRIES, entry(commit(3), names, created="2026-01-02", memory=0.1)]
    mixed = random.Random(1).sample(unlike, len(unlike))
    before = tables(filled(tmp_path / "history.db", unlike, LINE))
    assert tables(filled(place, mixed, LINE)) == before
    with opened(place, create=True) as database:
        assert database.add(unlike, LINE).new == 0
    half, rest = place_of(server.address(server.fresh())), tmp_path / "rest.db"
    filled(half, unlike[:12], LINE)
    filled(rest, unlike[8:], LINE)
    with opened(half, create=True) as database, opened(rest) as other:
        database.add([], None, [other.contents()])
    with opened(tmp_path / "back.db", create=True) as database, opened(half) as other:
        database.add([], LINE, [other.contents()])
    assert tables(half) == tables(tmp_path / "back.db") == before
    with opened(place, any_schema=True) as database:
        assert database.rebuild(LINE) == len(unlike)
    assert tables(place) == before
    with opened(place) as database, opened(tmp_path / "history.db") as file:
        assert history_of(database) == history_of(file)


def test_commands_take_an_address_and_show_no_password(tmp_path: Path, server: Cluster) -> None:
    address, file = server.address(server.fresh()), str(tmp_path / "history.db")
    for number, level in enumerate([0.0] * 10 + [0.05] * 10):
        (tmp_path / f"{number}.json").write_text(gate_text(commit(number), {"encode": level}, seed=number))
    records = [str(path) for path in tmp_path.glob("*.json")]
    said = []
    for where in (address, file):
        said.append(call("history", "add", *records, "--db", where, cwd=tmp_path))
        with opened(place_of(where), create=True) as database:
            database.add([], LINE)
        said.append(call("history", "check", "--strict", cwd=tmp_path, PYHARNESS_HISTORY=where))
        said.append(call("history", "report", "--format", "json", "--db", where, cwd=tmp_path))
        said.append(call("history", "report", "--db", where, "-o", f"{len(said)}.html", cwd=tmp_path))
    codes = [done.returncode for done in said]
    assert codes == [0, 3, 0, 0] * 2
    assert json.loads(said[2].stdout) == json.loads(said[6].stdout)
    assert said[1].stdout == said[5].stdout
    joined = call("history", "add", address, "--db", str(tmp_path / "joined.db"), cwd=tmp_path)
    assert joined.returncode == 0, joined.stderr
    said += [joined, call("history", "rebuild", "--db", address, cwd=tmp_path)]
    assert "itself" in refused("history", "add", address, "--db", address, cwd=tmp_path)
    shown = "".join(done.stdout + done.stderr for done in said)
    written = b"".join(path.read_bytes() for path in tmp_path.iterdir() if path.suffix in (".html", ".db"))
    assert server.password not in shown
    assert server.password.encode() not in written


def test_writers_at_once_lose_nothing(place: Place) -> None:
    assert write_at_once(place, 16) == []
    assert len(tables(place)["records"]) == 16


def test_a_claim_is_of_one_revision_and_ends_with_its_connection(place: Place) -> None:
    filled(place, [], LINE)
    with opened(place) as one, opened(place) as other:
        with one.claimed("a") as first, other.claimed("a") as second, other.claimed("b") as third:
            assert (first, second, third) == (True, False, True)
        with other.claimed("a") as after:
            assert after
    with opened(place) as left:
        left.claimed("a").__enter__()
    with opened(place) as last, last.claimed("a") as mine:
        assert mine


def test_fills_at_once_share_the_revisions(tmp_path: Path, server: Cluster) -> None:
    project, name = leveled_project(tmp_path / "project", 13, 6), server.fresh()
    filling = [started_fill(project, server.address(name), tmp_path / f"cache-{number}") for number in range(3)]
    said = [one.communicate(timeout=120) for one in filling]
    assert [one.returncode for one in filling] == [0, 0, 0], said
    assert sum(int(output.split()[0]) for output, _ in said) == 12
    with opened(place_of(server.address(name))) as database:
        revisions = database.rows("SELECT revision FROM points")
    assert len(revisions) == len(set(revisions)) == 12
    assert server.password not in "".join(map(str, said))


def test_what_a_server_refuses_is_named_and_nothing_is_added(
    place: Place, server: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = tables(filled(place, ENTRIES[:1], LINE))
    with pytest.raises(InputError, match="cannot be written"), opened(place) as database:
        database.add(ENTRIES[1:], None)
    with opened(place, create=True) as database, pytest.raises(InputError, match="changed"):
        database.add([ENTRIES[1], entry(commit(0), {"encode": 0.5})], LINE)
    monkeypatch.setattr(servers, "PATIENCE", 1.0)
    with server.connected(place.name) as holder, holder.transaction():
        holder.execute("SELECT pg_advisory_xact_lock(%s)", (servers._WRITERS,))
        with pytest.raises(InputError, match="locked"), opened(place, create=True) as database:
            database.add(ENTRIES[1:], None)
    with opened(place, create=True) as database, pytest.raises(InputError, match="was lost"):
        _cut_off(database, server)
    with server.connected() as admin:
        admin.execute("CREATE ROLE reader LOGIN PASSWORD 'secret-of-reader'")
    reader = place_of(server.address(place.name, user="reader", password="secret-of-reader"))  # noqa: S106 -- made up
    with pytest.raises(InputError, match="rights") as refusal, opened(reader):
        pass
    assert "secret" not in str(refusal.value)
    assert tables(place) == before


def _cut_off(database: Database, server: Cluster) -> None:
    """End the server's side of a connection in the middle of an addition."""
    ((own,),) = database.rows("SELECT pg_backend_pid()")
    with database._connection.writing():
        database._add(ENTRIES[1])
        with server.connected() as other:
            other.execute("SELECT pg_terminate_backend(%s, 5000)", (own,))
        database._add(ENTRIES[2])


@pytest.mark.parametrize(
    ("statements", "word"),
    [
        (["CREATE TABLE photos (name TEXT)"], "another program"),
        (["UPDATE about SET value = 'photos' WHERE name = 'kind'"], "another program"),
        (["UPDATE about SET value = '99' WHERE name = 'schema'"], "newer"),
        (["UPDATE about SET value = '1' WHERE name = 'schema'", "DROP TABLE gaps"], "rebuild"),
        (["ALTER TABLE records RENAME COLUMN revision TO y"], "another program"),
    ],
)
def test_a_database_of_others_is_refused_and_stays(
    place: Place, server: Cluster, statements: list[str], word: str
) -> None:
    if "CREATE" not in statements[0]:
        filled(place, ENTRIES[:1], LINE)
    with server.connected(place.name) as connection:
        for statement in statements:
            connection.execute(statement)
    for create in (False, True):
        with pytest.raises(InputError, match=word), opened(place, create=create):
            pass
    if word == "rebuild":
        with opened(place, any_schema=True) as database:
            assert database.rebuild(None) == 1
        assert len(tables(place)["points"]) == 1


def test_an_empty_database_and_those_that_are_not_there_are_named(place: Place, server: Cluster) -> None:
    with pytest.raises(InputError, match="empty"), opened(place):
        pass
    for address, word in (
        (server.address("nowhere"), "nowhere"),
        (server.address(place.name, user="nobody-here"), "nobody-here"),
        (server.address(place.name, password="wrong-secret"), "authentication"),  # noqa: S106 -- made up
        (server.address(place.name) + "?nonsense=secret", "options"),
    ):
        with pytest.raises(InputError, match=word) as refusal, opened(place_of(address)):
            pass
        assert "secret" not in str(refusal.value)
        assert server.password not in str(refusal.value)


def test_a_server_that_is_not_there_is_given_up_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("psycopg")
    monkeypatch.setattr(servers, "CONNECTING", 2.0)
    with socket.create_server(("127.0.0.1", 0)) as silent:  # accepts, and says nothing
        port = silent.getsockname()[1]
        begun = time.monotonic()
        silence = place_of(f"postgresql://me:secret@127.0.0.1:{port}/db")
        with pytest.raises(InputError, match=str(port)) as refusal, opened(silence):
            pass
        assert time.monotonic() - begun < 9
    assert "secret" not in str(refusal.value)
    with pytest.raises(InputError, match="runs"), opened(place_of(f"postgresql://me:secret@127.0.0.1:{port}/db")):
        pass


def test_the_limit_is_ten_seconds() -> None:
    assert servers.CONNECTING == 10.0
    assert isinstance(place_of("postgresql://host/db"), ServerPlace)

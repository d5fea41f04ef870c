"""Addresses of servers: taken apart, and never quoted. Without psycopg, all of a file works."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases.command_line import call, refused
from gating.histories import commit, gate_text
from pyharness.features.history.database import opened
from pyharness.features.history.servers import server_place
from pyharness.types import InputError

SECRET = "s3cr3t"  # noqa: S105 -- made up


def test_an_address_is_taken_apart() -> None:
    place = server_place(f"postgresql://me:{SECRET}%40%2F@Host:5433/my%20db?sslmode=require")
    assert (place.host, place.port, place.database) == ("host", 5433, "my db")
    options = dict(place.options)
    assert (options.pop("password"), options.pop("user")) == (f"{SECRET}@/", "me")
    assert options == {"host": "host", "port": "5433", "dbname": "my db", "sslmode": "require"}
    assert str(place) == "postgresql://host:5433/my db"
    assert SECRET not in repr(place)
    assert str(server_place("postgres:///db?host=/run/postgresql")) == "postgresql:///run/postgresql/db"
    assert str(server_place("postgresql://[::1]/db")) == "postgresql://[::1]/db"


@pytest.mark.parametrize(
    "address",
    [
        f"mysql://me:{SECRET}@host/db",
        f"postgresql://me:{SECRET}@host",
        f"postgresql://me:a/{SECRET}@host/db",
        f"postgresql://me:12/{SECRET}@host/db",
        f"postgresql://me:a#{SECRET}@host/db",
        f"postgresql://me:a?{SECRET}@host/db",
        f"postgresql://me:{SECRET}@[host/db",
        f"postgresql://me:{SECRET}@host:port/db",
        f"postgresql://me:{SECRET}%00@host/db",
        f"postgresql://me:{SECRET}@host/db?{SECRET}",
        f"postgresql://host/?dbname=postgresql://me:{SECRET}@host/db",
        f"postgresql:/me:{SECRET}@host/db",
        f"postgres:me:{SECRET}",
        f"host=db user=me password={SECRET} dbname=history",
        f"host=db Password = {SECRET} dbname=history",
    ],
)
def test_an_address_that_is_none_is_refused_and_not_quoted(tmp_path: Path, address: str) -> None:
    with pytest.raises(InputError) as refusal:
        server_place(address)
    assert SECRET not in str(refusal.value)
    for command in ("check", "report", "rebuild"):
        said = refused("history", command, "--db", address, cwd=tmp_path)
        assert SECRET not in said
        assert "--db" in said
    said = refused("history", "add", address, "--db", str(tmp_path / "own.db"), cwd=tmp_path)
    assert SECRET not in said
    assert not (tmp_path / "own.db").exists()


@given(st.text(max_size=20), st.text(max_size=20), st.text(max_size=20))
def test_any_address_is_taken_apart_or_refused(user: str, password: str, rest: str) -> None:
    with contextlib.suppress(InputError):
        assert server_place(f"postgresql://{user}:{password}@host/{rest}").database


def test_without_psycopg_a_server_is_refused_and_a_file_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    path, file = str(tmp_path / "history.db"), tmp_path / "gate.json"
    said = refused("history", "check", "--db", f"postgresql://me:{SECRET}@127.0.0.1:1/db", cwd=tmp_path)
    assert "psycopg" in said
    assert "pyharness[postgres]" in said
    assert SECRET not in said
    file.write_text(gate_text(commit(0), {"encode": 0.0}), encoding="utf-8")
    assert call("history", "add", str(file), "--db", path, cwd=tmp_path).returncode == 0
    assert call("history", "report", "--db", path, cwd=tmp_path).returncode == 0
    assert call("history", "rebuild", "--db", path, cwd=tmp_path).returncode == 0
    with opened(Path(path)) as database:
        assert len(database.rows("SELECT 1 FROM records")) == 1


@pytest.mark.process
def test_a_run_imports_no_driver_and_nothing_of_servers() -> None:
    code = (
        "import sys; from pyharness.cli import main\n"
        "try: main(['run', '-t', 'raw_bytes', '-c', 'sample:prose', '-b', 'compression'])\n"
        "except SystemExit as end: assert end.code == 0\n"
        "new = [m for m in sys.modules if m.startswith('pyharness.features.history.')]\n"
        "assert not {'psycopg', 'psycopg_binary'} & set(sys.modules), new\n"
        "assert {m.rpartition('.')[2] for m in new} <= {'cli', 'gate_cli'}, new"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr

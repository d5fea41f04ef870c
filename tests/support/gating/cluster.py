"""A cluster of PostgreSQL of the test's own, on the loopback address, from the system's package."""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from pyharness.plugins.libraries import is_installed

USER = "tester"
STARTING = 30.0  # seconds


def programs() -> Path | None:
    """Return the folder of initdb and postgres; Debian keeps them off the path. None where there is none."""
    on_path = shutil.which("initdb")
    folders = [Path(on_path).resolve().parent] if on_path else sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    return next((one for one in folders[::-1] if (one / "initdb").is_file() and (one / "postgres").is_file()), None)


@dataclass
class Cluster:
    """A running server, with a password that no message may show."""

    port: int
    password: str
    made: int = field(default=0)

    def address(self, database: str, *, user: str = USER, password: str | None = None) -> str:
        return f"postgresql://{user}:{password or self.password}@127.0.0.1:{self.port}/{database}"

    def connected(self, database: str = "postgres") -> Any:
        import psycopg

        return psycopg.connect(self.address(database), autocommit=True)

    def fresh(self) -> str:
        """Make a database; return its name."""
        self.made += 1
        name = f"history_{self.made}"
        with self.connected() as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return name


def _somebody() -> dict[str, Any]:
    """Return whose processes the server's are: PostgreSQL refuses those of root."""
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


@contextmanager
def cluster() -> Iterator[Cluster]:
    """Run a cluster and remove all of it at the end; skip the test where the package or psycopg is missing."""
    folder = programs()
    if folder is None:
        pytest.skip("no PostgreSQL here: apt-get install postgresql")
    if not is_installed("psycopg"):
        pytest.skip("no psycopg here: pip install 'pyharness[postgres]'")
    somebody, password = _somebody(), secrets.token_hex(12)
    place = Path(tempfile.mkdtemp(prefix="history-cluster-"))  # pytest's folders are for one user alone
    try:
        (place / "password").write_text(password, encoding="utf-8")
        if somebody:
            for one in (place, place / "password"):
                os.chown(one, somebody["user"], somebody["group"])
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        data = ["-D", str(place / "data")]
        options = ["-A", "scram-sha-256", "-U", USER, f"--pwfile={place / 'password'}", "--no-sync", "-E", "UTF8"]
        subprocess.run(
            [str(folder / "initdb"), *data, *options], check=True, capture_output=True, cwd=place, **somebody
        )
        settings = ["-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "fsync=off"]
        with (place / "log").open("wb") as log:
            server = subprocess.Popen(
                [str(folder / "postgres"), *data, "-p", str(port), *settings],
                cwd=place,
                stdout=log,
                stderr=log,
                **somebody,
            )
        try:
            running = Cluster(port, password)
            _wait(running, server)
            yield running
        finally:
            server.send_signal(signal.SIGINT)  # a fast shutdown
            server.wait(STARTING)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _wait(running: Cluster, server: subprocess.Popen[bytes]) -> None:
    import psycopg

    end = time.monotonic() + STARTING
    while True:
        try:
            running.connected().close()
        except psycopg.OperationalError:
            assert server.poll() is None, "the server has ended"
            assert time.monotonic() < end, "the server does not answer"
            time.sleep(0.1)
        else:
            return

"""A quick look whether a host can be reached, so that a machine without network fails in seconds with advice."""

from __future__ import annotations

import socket
import threading
import urllib.request
from urllib.parse import urlsplit

from pyharness.types import InputError

SECONDS = 3.0


def probe(name: str, url: str, advice: str) -> None:
    """Raise ``InputError`` unless the host of ``url`` (or the proxy for it) accepts a connection in 3 seconds."""
    target = urllib.request.getproxies().get("https", url)
    parts = urlsplit(target if "//" in target else f"//{target}")
    if not reachable(parts.hostname or "", parts.port or 443):
        raise InputError(f"tokenizer {name!r} is not on this machine and {parts.hostname} cannot be reached; {advice}")


def reachable(host: str, port: int) -> bool:
    """Whether a connection can be opened. Resolving a name has no time limit of its own: hence the thread."""
    answers: list[bool] = []

    def connect() -> None:
        try:
            socket.create_connection((host, port), timeout=SECONDS).close()
            answers.append(True)
        except OSError:
            answers.append(False)

    worker = threading.Thread(target=connect, daemon=True)
    worker.start()
    worker.join(SECONDS)
    return answers == [True]

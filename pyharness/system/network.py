"""A quick check whether a host can be reached, so that a machine without network fails in seconds with advice."""

from __future__ import annotations

import socket
import threading
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

CONNECT_SECONDS = 3.0


def unreachable(url: str) -> str | None:
    """Return the host that cannot be reached and why, or None if it (or its proxy) accepts a connection."""
    try:
        host, port = _first_hop(url)
    except ValueError:
        return "an address without a valid host and port"
    reasons: list[str | None] = ["no answer"]

    def connect() -> None:
        try:
            with socket.create_connection((host, port), CONNECT_SECONDS):
                reasons[0] = None
        except (OSError, UnicodeError) as error:
            reasons[0] = str(error)

    # In a thread, because name resolution has no time limit of its own.
    thread = threading.Thread(target=connect, daemon=True)
    thread.start()
    thread.join(CONNECT_SECONDS + 1)
    return None if reasons[0] is None else f"{host}:{port} ({reasons[0]})"


def _first_hop(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    proxy = getproxies().get(parts.scheme)
    if proxy and not proxy_bypass(parts.hostname or ""):
        parts = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
    return parts.hostname or url, parts.port or (443 if parts.scheme == "https" else 80)

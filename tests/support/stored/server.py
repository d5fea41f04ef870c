"""A server of S3 on the loopback address, with ranges, lists, and the faults that a test asks for.

It signs nothing and checks no signature. Paths are ``/BUCKET/KEY``, so it serves ``http://`` as well.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

Fault = Literal["cut", "stall", "short", "503", "403", "404", "region", "whole", "stale"]


@dataclass
class Stored:
    """What the server holds and what it was asked for."""

    objects: dict[str, bytes]  # by BUCKET/KEY
    fault: Callable[[int, str, str], Fault | None] = lambda number, method, path: None
    sent: int = 0  # bytes of bodies of objects
    asked: list[tuple[str, str, str]] = field(default_factory=list)  # method, path, Range
    stall_seconds: float = 7.0
    address: str = ""
    mute: bool = False  # whether a wrong region is refused without a word on the right one
    _etags: dict[int, str] = field(default_factory=dict)

    def etag(self, path: str) -> str:
        data = self.objects[path]
        if id(data) not in self._etags:
            self._etags[id(data)] = hashlib.md5(data, usedforsecurity=False).hexdigest()
        return self._etags[id(data)]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    stored: Stored

    def log_message(self, format: str, *args: Any) -> None:
        """Be quiet."""

    def do_HEAD(self) -> None:
        self.serve(body=False)

    def do_GET(self) -> None:
        self.serve(body=True)

    def serve(self, body: bool) -> None:
        parts = urlsplit(self.path)
        path, query = unquote(parts.path).strip("/"), parse_qs(parts.query)
        self.stored.asked.append((self.command, path, self.headers.get("Range", "")))
        fault = self.stored.fault(len(self.stored.asked), self.command, path)
        if fault == "403":
            return self._refuse(403, "AccessDenied", body)
        if fault == "503":
            return self._refuse(503, "SlowDown", body)
        if fault == "region":
            return self._refuse(400, "AuthorizationHeaderMalformed", body, "<Region>eu-west-9</Region>")
        if "list-type" in query:
            return self._list(path, query)
        if not body and path in {one.partition("/")[0] for one in self.stored.objects}:
            return self._found_bucket()
        if path not in self.stored.objects or fault == "404":
            return self._refuse(404, "NoSuchKey", body)
        return self._send(path, body, fault)

    def _refuse(self, status: int, code: str, body: bool, more: str = "") -> None:
        text = f"<Error><Code>{code}</Code><Message>secret-in-a-message</Message>{more}</Error>".encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/xml")
        self.send_header("Content-Length", str(len(text)))
        if more and not self.stored.mute:
            self.send_header("x-amz-bucket-region", "eu-west-9")
        self.end_headers()
        if body:
            self.wfile.write(text)

    def _found_bucket(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _send(self, path: str, body: bool, fault: Fault | None) -> None:
        data = self.stored.objects[path]
        if fault == "stale":  # as it was before its last line was added
            data = data[: data.rindex(b"\n", 0, -1) + 1]
        etag, start, stop, status = self.stored.etag(path), 0, len(data), 200
        if (wanted := self.headers.get("If-Match")) and wanted.strip('"') != etag:
            return self._refuse(412, "PreconditionFailed", body)
        if (asked := self.headers.get("Range")) and fault != "whole":
            first, _, last = asked.removeprefix("bytes=").partition("-")
            start, stop, status = int(first), min(int(last) + 1, len(data)), 206
        part = data[start:stop]
        if fault == "short" and body:
            part = part[: len(part) // 2]
        self.send_response(status)
        self.send_header("Content-Length", str(len(part)))
        self.send_header("ETag", f'"{etag}"')
        self.send_header("Last-Modified", "Mon, 01 Jan 2024 00:00:00 GMT")
        if status == 206:
            self.send_header("Content-Range", f"bytes {start}-{stop - 1}/{len(data)}")
        self.end_headers()
        if body:
            self._write(part, fault)
        return None

    def _write(self, part: bytes, fault: Fault | None) -> None:
        if fault in ("cut", "stall"):
            self.wfile.write(part[: len(part) // 2])
            self.wfile.flush()
            if fault == "stall":
                time.sleep(self.stored.stall_seconds)
            self.close_connection = True
            return
        self.stored.sent += len(part)
        self.wfile.write(part)

    def _list(self, bucket: str, query: dict[str, list[str]]) -> None:
        prefix, delimiter = query.get("prefix", [""])[0], query.get("delimiter", [""])[0]
        keys = sorted(one.removeprefix(f"{bucket}/") for one in self.stored.objects if one.startswith(f"{bucket}/"))
        rows, folders = [], dict[str, None]()
        for key in (one for one in keys if one.startswith(prefix)):
            rest = key.removeprefix(prefix)
            if delimiter and delimiter in rest:
                folders[prefix + rest.partition(delimiter)[0] + delimiter] = None
                continue
            path = f"{bucket}/{key}"
            rows.append(
                f"<Contents><Key>{escape(key)}</Key><Size>{len(self.stored.objects[path])}</Size>"
                f"<LastModified>2024-01-01T00:00:00.000Z</LastModified><ETag>&quot;{self.stored.etag(path)}&quot;</ETag>"
                "</Contents>"
            )
        shared = "".join(f"<CommonPrefixes><Prefix>{escape(one)}</Prefix></CommonPrefixes>" for one in folders)
        text = (
            f'<?xml version="1.0"?><ListBucketResult><Name>{bucket}</Name><Prefix>{escape(prefix)}</Prefix>'
            f"<KeyCount>{len(rows) + len(folders)}</KeyCount><MaxKeys>1000</MaxKeys><IsTruncated>false</IsTruncated>"
            f"{''.join(rows)}{shared}</ListBucketResult>"
        ).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/xml")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that left is what some tests are about."""


@contextmanager
def serving(stored: Stored, kind: type[Handler] = Handler) -> Iterator[str]:
    """Serve objects; yield the address of the server."""
    handler = type("Serving", (kind,), {"stored": stored})
    with _Server(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()

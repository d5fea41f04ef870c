"""A GitHub of one repository, on localhost: artifacts, pull requests, comments, and tokens with the rights of a job."""

from __future__ import annotations

import json
import re
import secrets
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

BOT = "github-actions[bot]"
ARTIFACT = "pyharness-gate"


@dataclass
class GitHub:
    """What the repository holds, and what was asked of it."""

    repository: str = "owner/pyharness"
    tokens: dict[str, Mapping[str, str]] = field(default_factory=dict)
    caches: dict[str, Path] = field(default_factory=dict)  # by key, oldest first
    artifacts: dict[int, dict[int, tuple[str, bytes]]] = field(default_factory=dict)  # by run and id: name, archive
    sizes: dict[int, int] = field(default_factory=dict)  # by id: what is said of it, where that is not true
    pulls: dict[int, dict[str, Any]] = field(default_factory=dict)
    comments: dict[int, list[dict[str, Any]]] = field(default_factory=dict)  # by pull request
    log: list[tuple[str, str, int]] = field(default_factory=list)
    address: str = ""

    def token(self, rights: Mapping[str, str]) -> str:
        """Return a new token with the rights of a job."""
        token = secrets.token_hex(8)
        self.tokens[token] = dict(rights)
        return token

    def add_pull(self, number: int, sha: str, source: str) -> None:
        """Open a pull request from a repository, ours or a fork."""
        self.pulls[number] = {
            "number": number,
            "state": "open",
            "head": {"sha": sha, "repo": {"full_name": source}},
            "base": {"repo": {"full_name": self.repository}},
        }
        self.comments[number] = []

    def keep(self, run: int, archive: bytes, name: str = ARTIFACT) -> None:
        """Keep an artifact of a run."""
        self.artifacts.setdefault(run, {})[1 + sum(map(len, self.artifacts.values()))] = name, archive

    def answer(self, method: str, path: str, token: str, content: Any) -> tuple[int, Any]:
        """Return the status and JSON values, or bytes; a text with status 302 is where it is."""
        rights = self.tokens.get(token)
        path, _, query = path.partition("?")
        if found := re.fullmatch(r"/blob/(\d+)", path):  # another host's: it takes no token of this one
            return (400, {}) if token else (200, self._archive(int(found[1])))
        if rights is None or not path.startswith(f"/repos/{self.repository}/"):
            return 404, {}
        needed, status, answer = self._known(method, path.removeprefix(f"/repos/{self.repository}/"), query, content)
        if needed is not None and rights.get(needed[0]) not in needed[1]:
            return 403, {"message": "Resource not accessible by integration"}
        return status, answer() if callable(answer) else answer

    def _known(self, method: str, path: str, query: str, content: Any) -> tuple[Any, int, Any]:
        read, write = ("read", "write"), ("write",)
        if found := re.fullmatch(r"actions/runs/(\d+)/artifacts", path):
            return ("actions", read), 200, {"artifacts": self._listed(int(found[1]))}
        if found := re.fullmatch(r"actions/artifacts/(\d+)/zip", path):
            return ("actions", read), 302, f"{self.address}/blob/{found[1]}"
        if (found := re.fullmatch(r"pulls/(\d+)", path)) and int(found[1]) in self.pulls:
            return None, 200, self.pulls[int(found[1])]
        if (found := re.fullmatch(r"issues/(\d+)/comments", path)) and int(found[1]) in self.comments:
            comments = self.comments[int(found[1])]
            if method == "GET":
                page = int(dict(pair.split("=") for pair in query.split("&"))["page"])
                return None, 200, comments[100 * (page - 1) : 100 * page]
            return ("pull-requests", write), 201, lambda: self._add(comments, content["body"])
        for comment in (one for several in self.comments.values() for one in several):
            if method == "PATCH" and path == f"issues/comments/{comment['id']}":
                return ("pull-requests", write), 200, lambda found=comment: found.update(content) or found
        return None, 404, {}

    def _listed(self, run: int) -> list[dict[str, Any]]:
        kept = self.artifacts.get(run, {}).items()
        return [
            {"id": key, "name": name, "expired": False, "size_in_bytes": self.sizes.get(key, len(data))}
            for key, (name, data) in kept
        ]

    def _archive(self, key: int) -> bytes:
        return next(several[key][1] for several in self.artifacts.values() if key in several)

    def _add(self, comments: list[dict[str, Any]], body: str) -> dict[str, Any]:
        number = 1 + max((one["id"] for several in self.comments.values() for one in several), default=0)
        comments.append({"id": number, "user": {"login": BOT}, "body": body})
        return comments[-1]


@contextmanager
def served(github: GitHub) -> Iterator[GitHub]:
    """Serve it on localhost, at ``github.address``."""

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            content = json.loads(self.rfile.read(length)) if length else None
            token = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
            status, answer = github.answer(self.command, self.path, token, content)
            github.log.append((self.command, self.path, status))
            data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response(status)
            if status == 302:
                self.send_header("Location", answer)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_PATCH = _answer  # noqa: N815 -- names of the library

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    github.address = f"http://127.0.0.1:{server.server_port}"
    try:
        yield github
    finally:
        server.shutdown()
        server.server_close()

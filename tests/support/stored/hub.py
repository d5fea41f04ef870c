"""The few questions of a Hub that reading files of a data set asks, over the objects of ``stored.server``.

An object ``datasets/ORG/NAME/PATH`` is a file of that data set, on every branch.
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from stored.server import Handler

COMMIT = "c" * 40


class HubHandler(Handler):
    """Answers as a Hub does."""

    def do_GET(self) -> None:  # noqa: N802
        """Answer what is asked of a data set, or send a file."""
        self._ask()

    def do_HEAD(self) -> None:  # noqa: N802
        """Answer without a body."""
        self._ask()

    def do_POST(self) -> None:  # noqa: N802
        """Say what is at some paths."""
        self._ask()

    def _ask(self) -> None:
        words = unquote(urlsplit(self.path).path).strip("/").split("/")
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        if words[0] != "api":  # datasets/ORG/NAME/resolve/BRANCH/PATH
            self.path = "/" + "/".join([*words[:3], *words[5:]])
            self.serve(body=self.command == "GET")
            return
        _, _, organisation, name, *rest = words
        root = f"datasets/{organisation}/{name}/"
        files = {key.removeprefix(root): key for key in self.stored.objects if key.startswith(root)}
        if not rest or rest[0] == "revision":
            self._answer({"id": f"{organisation}/{name}", "sha": COMMIT, "siblings": [], "tags": []})
            return
        folders = [
            {"type": "directory", "path": path, "oid": "0"} for path in {one.rpartition("/")[0] for one in files}
        ]
        every = [*(self._about(path, key) for path, key in files.items()), *(one for one in folders if one["path"])]
        if rest[0] == "tree":
            below, deep = "/".join(rest[2:]), "recursive=true" in self.path.lower()
            inside = [one for one in every if deep or one["path"].rpartition("/")[0] == below]
            self._answer([one for one in inside if one["path"].startswith(f"{below}/" if below else "")])
            return
        asked = json.loads(body)["paths"] if body.startswith("{") else parse_qs(body)["paths"]
        self._answer([one for one in every if one["path"] in asked])

    def _about(self, path: str, key: str) -> dict[str, Any]:
        return {"type": "file", "path": path, "size": len(self.stored.objects[key]), "oid": self.stored.etag(key)}

    def _answer(self, data: Any) -> None:
        text = json.dumps(data).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

"""The few questions that reading from Google Cloud Storage asks, over the objects of ``stored.server``."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from stored.server import Handler


class GoogleHandler(Handler):
    """Answers as the JSON interface of Google Cloud Storage does: ``/storage/v1/b/BUCKET/o/KEY``."""

    def serve(self, body: bool) -> None:
        """Answer what is asked of an object or a bucket, or send an object."""
        parts = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        words = parts.path.partition("/b/")[2].split("/")
        bucket, key = words[0], unquote("/".join(words[2:]))
        path = f"{bucket}/{key}"
        if query.get("alt") == "media":
            self.path = f"/{path}"
            super().serve(body)
        elif key and path in self.stored.objects:
            self._answer(200, self._about(path))
        elif key or not words[1:]:
            self._answer(404, {"error": {"code": 404, "message": "Not Found"}})
        else:
            self._answer(200, self._listed(bucket, query.get("prefix", ""), query.get("delimiter", "")))

    def _listed(self, bucket: str, prefix: str, delimiter: str) -> dict[str, Any]:
        items, folders = list[dict[str, Any]](), set[str]()
        for path in sorted(self.stored.objects):
            key = path.removeprefix(f"{bucket}/")
            if path.startswith(f"{bucket}/") and key.startswith(prefix):
                first, found, _ = key.removeprefix(prefix).partition(delimiter) if delimiter else (key, "", "")
                if found:
                    folders.add(f"{prefix}{first}{found}")
                else:
                    items.append(self._about(path))
        return {"kind": "storage#objects", "items": items, "prefixes": sorted(folders)}

    def _about(self, path: str) -> dict[str, Any]:
        bucket, _, key = path.partition("/")
        return {
            "kind": "storage#object", "name": key, "bucket": bucket, "size": str(len(self.stored.objects[path])),
            "generation": str(int(self.stored.etag(path)[:12], 16)), "updated": "2024-01-01T00:00:00.000Z",
        }  # fmt: skip

    def _answer(self, status: int, data: Any) -> None:
        text = json.dumps(data).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

"""What parts leave: a file each, written whole and at once, and one archive of all for taking home."""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from device.stages import Part, Place

PASSED, FAILED, TIMED_OUT, RUNNING = "passed", "failed", "timed out", "running"
NOTHING_RAN = "nothing ran"
STANDING = (PASSED, FAILED, NOTHING_RAN)  # said once, these hold until a source changes
LOG_KEPT = 1 << 20  # bytes of the end of a log that go into the archive


def write_whole(path: Path, content: bytes) -> None:
    """Write a file that is there whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with draft.open("wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


class Store:
    """Results of parts, by part; one that is of other sources or of another device is as good as none."""

    def __init__(self, place: Place, device: str) -> None:
        self.place = place
        self.device = device
        self._digests: dict[Path, str] = {}

    def log(self, part: Part) -> Path:
        """Return where the output of a part goes."""
        return self.place.results / f"{part.slug}.log"

    def read(self, part: Part) -> dict[str, Any] | None:
        """Return what a part has left, if it is of these sources and this device."""
        try:
            result: dict[str, Any] = json.loads(self._path(part).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        same = result.get("sources") == self.digest(part.reads) and result.get("device") == self.device
        return result if same else None

    def write(self, part: Part, verdict: str, detail: str = "", **more: Any) -> dict[str, Any]:
        """Keep the result of a part, and return it."""
        result = {
            "part": list(part.words),
            "verdict": verdict,
            "detail": detail,
            "device": self.device,
            "sources": self.digest(part.reads),
            "command": list(part.command),
            **more,
        }
        write_whole(self._path(part), (json.dumps(result, indent=1) + "\n").encode())
        return result

    def _path(self, part: Part) -> Path:
        return self.place.results / f"{part.slug}.json"

    def digest(self, paths: Sequence[str]) -> str:
        """Digest of files and of all files in folders, by name and content."""
        digest = hashlib.sha256()
        for name in paths:
            top = self.place.root / name
            if top not in self._digests:
                self._digests[top] = _digest(top)
            digest.update(f"{name}\0{self._digests[top]}\0".encode())
        return digest.hexdigest()


def _digest(top: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(top.rglob("*")) if top.is_dir() else [top]:
        if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".so":
            content = hashlib.sha256(path.read_bytes()).hexdigest()
            digest.update(f"{path.relative_to(top)}\0{content}\0".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def archive(results: Path, target: Path) -> None:
    """Pack results, records and the ends of logs."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        for path in sorted(results.glob("[!.]*")):
            content = path.read_bytes()
            file.writestr(path.name, content[-LOG_KEPT:] if path.suffix == ".log" else content)
    write_whole(target, packed.getvalue())

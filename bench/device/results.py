"""What parts leave: a file each, written whole and at once, and one archive of all, to take home and to bring back."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import shutil
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from device.stages import Part, Place

PASSED, FAILED, TIMED_OUT, RUNNING = "passed", "failed", "timed out", "running"
NOTHING_RAN = "nothing ran"
STANDING = (PASSED, FAILED, NOTHING_RAN)  # said once, these hold until a source changes
LOG_KEPT = 1 << 20  # bytes of the end of a log that go into the archive
ARCHIVE = "results.zip"
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,199}")  # of a file in the archive: none elsewhere, none hidden
MOST_BYTES, MOST_FILES = 256 << 20, 1000  # unpacked


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
    """Results of parts, by part; one that is of other sources or of another device is as good as none.

    A device is the same if its name and capability are: the drivers of machines that are lent one after another differ.
    """

    def __init__(self, place: Place, device: str, driver: str = "") -> None:
        self.place = place
        self.device = device
        self.driver = driver
        self._digests: dict[Path, str] = {}

    def log(self, part: Part) -> Path:
        """Return where the output of a part goes."""
        return self.place.results / f"{part.stage if part.file else part.slug}.log"

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
            "driver": self.driver,
            "sources": self.digest(part.reads),
            "command": list(part.command),
            **more,
        }
        write_whole(self._path(part), (json.dumps(result, indent=1) + "\n").encode())
        return result

    def forget(self, part: Part) -> None:
        """Leave a part as if it had not been tried."""
        self._path(part).unlink(missing_ok=True)

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


def bring_back(place: Place, folders: Sequence[Path]) -> str:
    """Unpack what was taken home into a folder without results; returns what there is to say about it.

    The wheel beside the archive is taken if it is the one that the result of the build names.
    """
    home = next((folder for folder in folders if (folder / ARCHIVE).is_file()), None)
    if home is None or any(place.results.glob("*.json")):
        return ""
    try:
        files = unpacked(home / ARCHIVE)
    except (OSError, ValueError, RuntimeError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        return f"{home / ARCHIVE} is not used: {error}"
    for name, content in files.items():
        write_whole(place.results / name, content)
    wheel = _wheel_of(home, files.get("build.json", b"{}"))
    if wheel is not None:
        place.wheels.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(wheel, place.wheels / wheel.name)
    return f"{len(files)} files of {home / ARCHIVE}" + ("" if wheel is None else f", and {wheel.name}")


def unpacked(archive: Path) -> dict[str, bytes]:
    """Return the files of an archive; raise ``ValueError`` for names and sizes that are none of a check's."""
    with zipfile.ZipFile(archive) as packed:
        members = packed.infolist()
        if len(members) > MOST_FILES or sum(member.file_size for member in members) > MOST_BYTES:
            raise ValueError("it is too large")
        for member in members:
            if not NAME.fullmatch(member.filename):
                raise ValueError(f"it has a file {member.filename[:200]!r}")
        return {member.filename: packed.read(member) for member in members}  # at most file_size, or an error


def _wheel_of(home: Path, build: bytes) -> Path | None:
    """Return the wheel in a folder that the result of a build names, if it is that one to the last byte."""
    try:
        named = json.loads(build)["wheel"]
        name, digest = named["name"], named["sha256"]
        path = home / name
        same = NAME.fullmatch(name) and hashlib.sha256(path.read_bytes()).hexdigest() == digest
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return path if same else None

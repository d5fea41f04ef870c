"""Where trained tokenizers are kept: one folder per recipe, one folder in it per text, and an entry that names it.

Files are written aside and moved into place whole, the entry last, so a reader never meets a half of anything.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyharness.system import atomic_file, cache_folder
from pyharness.trainers import TrainedTokenizer
from pyharness.types import InputError
from pyharness.vocabularies.files import vocabulary_file

ENTRY = "entry.json"
LOCK = "lock"


@dataclass(frozen=True, slots=True)
class Kept:
    """The result of a training: a file, or the reason why there is none."""

    digest: str  # of the text
    path: Path | None  # the file that ``file:`` loads
    refused: str | None = None
    crashed: bool = False  # it was no refusal: the process died, and may live another time


@dataclass(frozen=True, slots=True)
class Place:
    """The folder of a recipe."""

    folder: Path
    recipe: Mapping[str, Any]

    @classmethod
    def of(cls, recipe: Mapping[str, Any]) -> Place:
        """Find the place of a recipe (JSON values)."""
        key = hashlib.sha256(json.dumps(recipe, sort_keys=True).encode()).hexdigest()[:32]
        return cls(folder() / key, recipe)

    def find(self) -> Kept | None:
        """Return the kept result; None where there is none, or a damaged one."""
        try:
            entry = json.loads((self.folder / ENTRY).read_text(encoding="utf-8"))
            if "refused" in entry:
                return Kept(str(entry["digest"]), None, str(entry["refused"]), entry.get("crashed") is True)
            digest, name, checksum = (str(entry[key]) for key in ("digest", "file", "sha256"))
            path = self.folder / digest / name
            # Names come from a file that anyone may have touched: nothing outside the folder is read.
            if path.parent.parent != self.folder or path.name != name or digest in ("", ".", ".."):
                return None
            if vocabulary_file.digest(path) != checksum:
                return None
            return Kept(digest, path)
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def keep(self, digest: str, trained: TrainedTokenizer) -> None:
        """Write what a training gave."""
        if not trained.files:
            raise InputError(f"trainer {self.recipe['trainer']!r} gave no file that can be loaded")
        name, content = next(iter(trained.files.items()))
        entry = {"recipe": self.recipe, "digest": digest, "file": name, "sha256": hashlib.sha256(content).hexdigest()}
        with _named_errors(self.folder):
            _move_in(trained.files, self.folder / digest)
            atomic_file.replace(self.folder / ENTRY, _json(entry))

    def refuse(self, digest: str, reason: str, *, crashed: bool = False) -> None:
        """Write why the trainer could not: it could not again, unless it crashed."""
        entry = {"recipe": self.recipe, "digest": digest, "refused": reason, "crashed": crashed}
        with _named_errors(self.folder):
            atomic_file.replace(self.folder / ENTRY, _json(entry))


def folder() -> Path:
    """Return the folder of all recipes."""
    return cache_folder.ours() / "trained"


@contextmanager
def locked(recipe: Mapping[str, Any]) -> Iterator[Place]:
    """Keep other processes from training the same meanwhile."""
    place = Place.of(recipe)
    with _named_errors(place.folder):
        place.folder.mkdir(parents=True, exist_ok=True)
        lock = (place.folder / LOCK).open("w", encoding="ascii")
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield place


@contextmanager
def _named_errors(place: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(
            f"cannot keep trained tokenizers in {place.parent}: {error.strerror or error}; name another folder in "
            "PYHARNESS_CACHE"
        ) from None


def _move_in(files: Mapping[str, bytes], target: Path) -> None:
    for left in target.parent.glob(".part-*"):  # by a process that was killed: the lock is ours
        shutil.rmtree(left, ignore_errors=True)
    aside = Path(tempfile.mkdtemp(prefix=".part-", dir=target.parent))
    try:
        for name, content in files.items():
            (aside / name).write_bytes(content)
        if target.exists():  # damaged, or by another hand: what is written now is what the entry will name
            target.rename(aside / ".old")
        aside.rename(target)
        shutil.rmtree(target / ".old", ignore_errors=True)
    except BaseException:
        shutil.rmtree(aside, ignore_errors=True)
        raise


def _json(entry: Mapping[str, Any]) -> str:
    return json.dumps(entry, indent=1) + "\n"

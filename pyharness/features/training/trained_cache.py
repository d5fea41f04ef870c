"""Cache of trained tokenizers: one folder per recipe, one folder in it per text, and an entry for the last.

Files are written under another name and moved into place whole, the entry last, so a reader never sees a partial file.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from pyharness.features.training.trainers import Array, TrainedTokenizer
from pyharness.system import archive, atomic_file, bounded_file, folders
from pyharness.vocabularies.files import vocabulary_file

ENTRY = "entry.json"
LOCK = "lock"
LEARNT = "learnt.npz"
MOST_BYTES = 1 << 24  # of an entry
MOST_LEARNT = 1 << 29  # of the arrays


@dataclass(frozen=True, slots=True)
class KeptTraining:
    """The result of a training: a file, or the reason why it is missing."""

    digest: str  # of the text
    path: Path | None  # the file that ``file:`` loads
    base: str | None = None  # SHA-256 of the base tokenizer, for an adaptation
    options: Mapping[str, str] = field(default_factory=dict)  # of ``file:``, which the file needs to load
    refused: str | None = None
    crashed: bool = False  # not a refusal: the process died, and may succeed another time


@dataclass(frozen=True, slots=True)
class RecipeFolder:
    """The folder of a recipe."""

    folder: Path
    recipe: Mapping[str, Any]

    @classmethod
    def of(cls, recipe: Mapping[str, Any]) -> RecipeFolder:
        """Return the folder of a recipe (JSON values)."""
        key = hashlib.sha256(json.dumps(recipe, sort_keys=True).encode()).hexdigest()[:32]
        return cls(folder() / key, recipe)

    def find(self) -> KeptTraining | None:
        """Return the kept result; None for a missing or damaged one."""
        try:
            entry = json.loads(bounded_file.read(self.folder / ENTRY, MOST_BYTES, ENTRY))
            base = entry["base"] and str(entry["base"])
            if "refused" in entry:
                refused, crashed = str(entry["refused"]), entry.get("crashed") is True
                return KeptTraining(str(entry["digest"]), None, base, refused=refused, crashed=crashed)
            digest, name, checksum = (str(entry[key]) for key in ("digest", "file", "sha256"))
            path = self.folder / digest / name
            # Anyone may have changed the file with these names: nothing outside the folder is read.
            if path.parent.parent != self.folder or path.name != name or digest in ("", ".", ".."):
                return None
            if vocabulary_file.digest(path) != checksum:
                return None
            options = {str(name): str(value) for name, value in dict(entry["options"]).items()}
            return KeptTraining(digest, path, base, options)
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None

    def keep(self, digest: str, trained: TrainedTokenizer, base: str | None = None) -> None:
        """Write the files of a training.

        Raises:
            InputError: they cannot be written.
        """
        self._write(digest, base, trained.files, trained.loading)

    def keep_learnt(self, digest: str, arrays: Mapping[str, Array], base: str | None) -> None:
        """Write arrays that let trainings of other sizes skip the text; the recipe is without the size."""
        written = io.BytesIO()
        np.savez(written, **dict[str, Any](arrays))
        self._write(digest, base, {LEARNT: written.getvalue()}, {})

    def learnt(self, digest: str, base: str | None) -> Mapping[str, Array] | None:
        """Read the arrays of ``keep_learnt`` for the same text and base; None for missing or damaged ones."""
        kept = self.find()
        if kept is None or kept.path is None or (kept.digest, kept.base) != (digest, base):
            return None
        try:
            return _arrays(kept.path)
        except archive.DAMAGE:
            return None

    def _write(self, digest: str, base: str | None, files: Mapping[str, bytes], options: Mapping[str, str]) -> None:
        name, content = next(iter(files.items()))
        checksum = hashlib.sha256(content).hexdigest()
        entry = {
            "recipe": self.recipe, "digest": digest, "base": base, "file": name, "sha256": checksum,
            "options": dict(options),
        }  # fmt: skip
        with folders.caching("trained tokenizers", self.folder.parent):
            folders.clear_abandoned(self.folder.glob(".*.part"))  # of other texts, too
            folders.keep(self.folder / digest, files)
            atomic_file.keep(self.folder / ENTRY, _json(entry))

    def refuse(self, digest: str, reason: str, base: str | None = None, *, crashed: bool = False) -> None:
        """Write why the trainer refused: it would refuse again, unless it crashed."""
        entry = {"recipe": self.recipe, "digest": digest, "base": base, "refused": reason, "crashed": crashed}
        with folders.caching("trained tokenizers", self.folder.parent):
            atomic_file.keep(self.folder / ENTRY, _json(entry))


def folder() -> Path:
    """Return the folder of all recipes."""
    return folders.cache() / "trained"


@contextmanager
def locked(recipe: Mapping[str, Any]) -> Iterator[RecipeFolder]:
    """Keep other processes from training the same recipe meanwhile; wait for one that does.

    Raises:
        InputError: the folder cannot be made.
    """
    place = RecipeFolder.of(recipe)
    with folders.caching("trained tokenizers", place.folder.parent):
        place.folder.mkdir(parents=True, exist_ok=True)
        # Opened for reading, too: a FIFO in its place would wait for a reader.
        file = os.fdopen(os.open(place.folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666), "rb")
    with file:
        atomic_file.lock(file, wait=True)
        yield place


def _arrays(path: Path) -> dict[str, Array]:
    with bounded_file.opened(path) as file, archive.opened(file) as members:
        if sum(about.file_size for about in members.infolist()) > MOST_LEARNT:
            raise ValueError(f"{path} holds more than {MOST_LEARNT:,} bytes")
        return {
            about.filename.removesuffix(".npy"): np.load(
                io.BytesIO(archive.read(members, about, MOST_LEARNT)), allow_pickle=False
            )
            for about in members.infolist()
        }


def _json(entry: Mapping[str, Any]) -> str:
    return json.dumps(entry, indent=1) + "\n"

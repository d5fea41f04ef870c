"""The base of an adaptation: its file, and the settings that a rank file lacks."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path

from pyharness.bpe.formats.imports import import_model
from pyharness.bpe.model.model import BpeModel
from pyharness.features.adaptation.editing.files import extend_file
from pyharness.features.adaptation.editing.settings import SETTINGS
from pyharness.features.training.trainers.options import located
from pyharness.plugins.specification import check_options
from pyharness.vocabularies import encodings
from pyharness.vocabularies.files import vocabulary_file
from pyharness.vocabularies.files.json_file import parse_json
from pyharness.vocabularies.files.vocabulary_file import Kind

_NAMES: Mapping[Kind, str] = {
    "huggingface": "tokenizer.json",
    "tekken": "tekken.json",
    "sentencepiece": "tokenizer.model",
}
_ADAPTED = "-adapted"  # suffix for a rank file: under its own name it would pass for the published one


@dataclass(frozen=True)
class BaseFile:
    """A tokenizer file as read."""

    path: Path
    data: bytes
    kind: Kind
    pattern: str | None = None  # of a rank file: split pattern
    special: Mapping[str, int] | None = None  # of a rank file: special tokens and their ids

    @classmethod
    def read(cls, base: str) -> BaseFile:
        """Read the file of a request: a path, or ``file:PATH?pattern=...&special=...``.

        Raises:
            InputError: the file is absent, cut off, no tokenizer, or of a kind without an editor; an option is wrong.
        """
        path, options = located(base)
        data = vocabulary_file.read(path)
        kind = vocabulary_file.detect(data, str(path))
        if kind != "rank_file" and kind not in _NAMES:
            extend_file(data, [], [], str(path))  # raises with the reason
        check_options(base, options, ("pattern", "special") if kind == "rank_file" else ())
        if kind != "rank_file":
            return cls(path, data, kind)
        digest = hashlib.sha256(data).hexdigest()
        if "pattern" not in options:
            encodings.check_whole(data, digest, path.stem, str(path))
        published = encodings.recognise(digest, path.stem)
        pattern = options.get("pattern") or (published.pattern if published else None)
        special = dict(published.special) if published else {}
        if "special" in options:
            special = encodings.read_special(options["special"], str(path))
        return cls(path, data, kind, pattern, special)

    def edited(self, data: bytes, model: BpeModel) -> BaseFile:
        """Return the file with other content, whose model is known."""
        file = replace(self, data=data, special=None if self.special is None else model.special)
        vars(file)["model"] = model  # the place of the cached_property
        return file

    @property
    def label(self) -> str:
        """Name of the file in messages."""
        return str(self.path)

    @property
    def digest(self) -> str:
        """SHA-256 of the content."""
        return hashlib.sha256(self.data).hexdigest()

    @cached_property
    def model(self) -> BpeModel:
        """Model of the file.

        Raises:
            InputError: the file is damaged, or no tokenizer with merges.
        """
        if self.kind == "rank_file":
            return _model(self.data, self.label, self.pattern, tuple((self.special or {}).items()))
        return _model(self.data, self.label)

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """Return facts about the file that a reader of the result needs."""
        dropout = parse_json(self.data, self.label)["model"].get("dropout") if self.kind == "huggingface" else None
        if not dropout:
            return ()
        kept = "the result does so, too; counting, learning and checking ignored it"
        return (f"{self.path.name} discards merges at random (dropout {dropout}); {kept}",)

    @property
    def name(self) -> str:
        """Name of the edited file."""
        return _NAMES.get(self.kind) or f"{self.path.stem.removesuffix(_ADAPTED)}{_ADAPTED}.tiktoken"

    def options_of(self, model: BpeModel) -> dict[str, str]:
        """Return the options of ``file:`` that load the edited file."""
        if self.kind != "rank_file" or self.pattern is None:
            return {}
        name, expression = encodings.pattern(self.pattern)
        split = {"pattern": name if name in encodings.PATTERNS else expression}
        return {**split, "special": encodings.written_special(model.special)} if model.special else split


@lru_cache(maxsize=1)  # consecutive trainings share a base, and reading it may take longer than they do
def _model(
    data: bytes, label: str, pattern: str | None = None, special: tuple[tuple[str, int], ...] | None = None
) -> BpeModel:
    return import_model(data, label=label, pattern=pattern, special=None if special is None else dict(special))


def digest_of(base: str) -> str:
    """Return the SHA-256 of everything that an adaptation reads of its base: the file, and any settings next to it.

    Raises:
        InputError: the file is absent.
    """
    path, _ = located(base)
    file = vocabulary_file.digest(path)
    beside = [path.parent / name for name in SETTINGS if (path.parent / name).is_file()]
    if not beside:
        return file
    lines = [file, *(f"{settings.name} {vocabulary_file.digest(settings)}" for settings in beside)]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()

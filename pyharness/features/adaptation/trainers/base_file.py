"""The tokenizer that an adaptation starts from: its file, and what a rank file does not say of itself."""

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
from pyharness.plugins.specification import TOKENIZER, check_options
from pyharness.types import InputError
from pyharness.vocabularies import encodings
from pyharness.vocabularies.files import vocabulary_file
from pyharness.vocabularies.files.json_file import parse_json
from pyharness.vocabularies.files.vocabulary_file import Kind

_NAMES: Mapping[Kind, str] = {
    "huggingface": "tokenizer.json",
    "tekken": "tekken.json",
    "sentencepiece": "tokenizer.model",
}
_ADAPTED = "-adapted"  # of a rank file: under its own name it would pass for the published one


@dataclass(frozen=True)
class BaseFile:
    """A tokenizer file, as it was read."""

    path: Path
    data: bytes
    kind: Kind
    pattern: str | None = None  # of a rank file: how text is split
    special: Mapping[str, int] | None = None  # of a rank file

    @classmethod
    def read(cls, base: str) -> BaseFile:
        """Read the file that a request names: a path, or ``file:PATH?pattern=...&special=...``.

        Raises:
            InputError: there is no such file, it is no tokenizer, or of a kind that is not edited.
        """
        path, options = located(base)
        data = vocabulary_file.read(path)
        kind = vocabulary_file.detect(data, str(path))
        if kind != "rank_file" and kind not in _NAMES:
            extend_file(data, [], [], str(path))  # says why not
        check_options(base, options, ("pattern", "special") if kind == "rank_file" else ())
        if kind != "rank_file":
            return cls(path, data, kind)
        digest = hashlib.sha256(data).hexdigest()
        if "pattern" not in options:
            encodings.check_whole(data, digest, path.stem, str(path))
        known = encodings.recognise(digest, path.stem)
        pattern = options.get("pattern") or (known.pattern if known else None)
        special = dict(known.special) if known else {}
        if "special" in options:
            special = encodings.read_special(options["special"], str(path))
        return cls(path, data, kind, pattern, special)

    def edited(self, data: bytes, model: BpeModel) -> BaseFile:
        """Return the file with another content, of which the model is known."""
        file = replace(self, data=data, special=None if self.special is None else model.special)
        vars(file)["model"] = model  # where cached_property has it
        return file

    @property
    def label(self) -> str:
        """What messages call the file."""
        return str(self.path)

    @property
    def digest(self) -> str:
        """SHA-256 of the content."""
        return hashlib.sha256(self.data).hexdigest()

    @cached_property
    def model(self) -> BpeModel:
        """What the file says.

        Raises:
            InputError: it is damaged, or no tokenizer of merges.
        """
        if self.kind == "rank_file":
            return _model(self.data, self.label, self.pattern, tuple((self.special or {}).items()))
        return _model(self.data, self.label)

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """Facts about the file without which what is made of it is misread."""
        dropout = parse_json(self.data, self.label)["model"].get("dropout") if self.kind == "huggingface" else None
        if not dropout:
            return ()
        kept = "what is made of it does so, too; counting, learning and checking went without"
        return (f"{self.path.name} discards merges at random (dropout {dropout}); {kept}",)

    @property
    def name(self) -> str:
        """Name under which what becomes of it is written."""
        return _NAMES.get(self.kind) or f"{self.path.stem.removesuffix(_ADAPTED)}{_ADAPTED}.tiktoken"

    def options_of(self, model: BpeModel) -> dict[str, str]:
        """Options of ``file:`` that the file needs to be loaded, with what has become of it."""
        if self.kind != "rank_file" or self.pattern is None:
            return {}
        name, expression = encodings.pattern(self.pattern)
        split = {"pattern": name if name in encodings.PATTERNS else expression}
        return {**split, "special": encodings.written_special(model.special)} if model.special else split


@lru_cache(maxsize=1)  # trainings of one base follow each other, and reading it takes longer than some of them
def _model(
    data: bytes, label: str, pattern: str | None = None, special: tuple[tuple[str, int], ...] | None = None
) -> BpeModel:
    return import_model(data, label=label, pattern=pattern, special=None if special is None else dict(special))


def located(base: str) -> tuple[Path, Mapping[str, str]]:
    """File that a request names, and its options.

    Raises:
        InputError: there is none.
    """
    if not base.startswith("file:"):
        return vocabulary_file.find(base), {}
    wanted = TOKENIZER.parse(base)
    if wanted.argument is None:
        raise InputError(f"the base {base!r} names no file: write file:PATH")
    return vocabulary_file.find(wanted.argument), wanted.options


def digest_of(base: str) -> str:
    """SHA-256 of all that an adaptation reads of its base: of the file, and of settings beside it if there are any.

    Raises:
        InputError: there is no such file.
    """
    path, _ = located(base)
    file = vocabulary_file.digest(path)
    beside = [path.parent / name for name in SETTINGS if (path.parent / name).is_file()]
    if not beside:
        return file
    lines = [file, *(f"{found.name} {vocabulary_file.digest(found)}" for found in beside)]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()

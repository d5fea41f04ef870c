"""Rows ``gguf:FILE``: the vocabulary of a GGUF file in our engine."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import lru_cache, partial
from pathlib import Path

from pyharness.features.deployment.gguf_file import read_metadata
from pyharness.features.deployment.gguf_vocabulary import GgufVocabulary, is_wanted, vocabulary_of
from pyharness.plugins.specification import check_options
from pyharness.system import folders
from pyharness.tokenizers import native
from pyharness.tokenizers.source import VocabularyFile, variant
from pyharness.types import InputError, Tokenizer, TokenizerFamily, TokenizerSpec


class DeployedFile(VocabularyFile):
    """A vocabulary that our engine runs, and others on request: ``engine+gguf:FILE``."""

    def __call__(self, spec: TokenizerSpec) -> Tokenizer:
        """Load it with our engine."""
        return native.load(self, spec.options)


def vocabulary_in(path: Path) -> GgufVocabulary:
    """Read the vocabulary of a file, which is remembered while its size and its time of change stay the same.

    Raises:
        InputError: it is no GGUF file, or its tokenizer is of a kind that is not read.
    """
    try:
        status = path.stat()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None
    return _vocabulary(path, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=2)
def _vocabulary(path: Path, modified: int, size: int) -> GgufVocabulary:
    del modified, size
    return vocabulary_of(read_metadata(path, is_wanted), str(path))


@lru_cache(maxsize=2)
def _content(path: Path, modified: int, size: int) -> bytes:
    return _vocabulary(path, modified, size).content()


def expand(argument: str, options: Mapping[str, str]) -> TokenizerSpec:
    """Describe the row of a file; its metadata is read for this, and nothing behind it."""
    name, path = f"gguf:{argument}", folders.expanded(argument)
    check_options(name, options, native.OPTIONS)
    vocabulary, status = vocabulary_in(path), path.stat()
    fetch = partial(_content, path, status.st_mtime_ns, status.st_size)
    ids = f"sha256:{hashlib.sha256(fetch()).hexdigest()[:16]}"
    return TokenizerSpec(
        name, DeployedFile(vocabulary.kind, str(path), fetch), library="pyharness", source=str(path),
        vocabulary=variant(ids, options, native.OPTIONS), options=dict(options),
    )  # fmt: skip


FAMILIES = (
    TokenizerFamily(
        name="gguf",
        expand=expand,
        summary="the vocabulary in the metadata of a GGUF file (BPE and SentencePiece), as llama.cpp reads it",
        example="gguf:PATH/model.gguf",
    ),
)

"""Tokenizers from a file or folder: ``file:PATH``. The content decides the kind, not the name."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from pyharness.corpora import document_keys
from pyharness.plugins.specification import check_options
from pyharness.tokenizers.source import VocabularyFile, loader, variant
from pyharness.types import InputError, TokenizerFamily, TokenizerSpec
from pyharness.vocabularies import encodings
from pyharness.vocabularies.encodings import Encoding
from pyharness.vocabularies.files import vocabulary_file
from pyharness.vocabularies.huggingface.vocab_and_merges import read_pair


def row(name: str, path: Path, options: Mapping[str, str], licence: str = "unknown") -> TokenizerSpec:
    """Describe the tokenizer of a file, as far as possible without its library."""
    data = vocabulary_file.read(path)
    kind = vocabulary_file.detect(data, str(path))
    pair = kind == "vocab_and_merges"  # read as an equal tokenizer.json
    home = loader("huggingface" if pair else kind)
    check_options(name, options, home.options)
    fetch = partial(read_pair if pair else vocabulary_file.read, path)
    digest = hashlib.sha256(fetch()).hexdigest() if pair else vocabulary_file.digest(path)
    if kind == "rank_file" and "pattern" not in options:
        encodings.check_whole(data, digest, path.stem, str(path))
    encoding = _encoding(path, digest, options) if kind == "rank_file" else None
    text = path.parent / document_keys.TRAINED_ON
    return TokenizerSpec(
        name=name, load=VocabularyFile(home.name, str(path), fetch, encoding), library=home.library, source=str(path),
        path=str(path), licence=licence if encoding is None or licence != "unknown" else encoding.licence,
        vocabulary=encoding.vocabulary if encoding else variant(f"sha256:{digest[:16]}", options, home.options),
        reference=True, options=dict(options), trained_on=text if text.is_file() else None,
    )  # fmt: skip


def _encoding(path: Path, digest: str, options: Mapping[str, str]) -> Encoding:
    published = encodings.recognise(digest, path.stem)
    if "pattern" not in options and published is None:
        raise InputError(
            f"{path} does not say how text is split, and neither its content nor its name is known; add "
            f"?pattern=NAME ({', '.join(encodings.PATTERNS)}) or ?pattern=REGULAR-EXPRESSION"
        )
    encoding = published or Encoding("custom", f"sha256:{digest[:16]}", "", digest, licence="unknown")
    if "pattern" in options:
        name, expression = encodings.pattern(options["pattern"])
        if expression != encoding.pattern:
            split = name if name != "custom" else f"{hash_of(expression)}"
            encoding = dataclasses.replace(
                encoding, name=name, pattern=expression, vocabulary=f"sha256:{digest[:16]}/{split}"
            )
    if "special" in options:
        encoding = dataclasses.replace(encoding, special=encodings.read_special(options["special"], str(path)))
    return encoding


def hash_of(expression: str) -> str:
    """Return a short name for a split pattern without a name."""
    return hashlib.sha256(expression.encode()).hexdigest()[:8]


def expand(argument: str, options: Mapping[str, str]) -> TokenizerSpec:
    """Find the file and describe it."""
    return row(f"file:{argument}", vocabulary_file.find(argument), options)


FAMILIES = (
    TokenizerFamily(
        name="file",
        place=0,
        expand=expand,
        summary="a tokenizer.json, vocab.json (with merges.txt), tekken.json, rank file, SentencePiece, minbpe or own "
        "model, or a folder of one",
        example="file:PATH/tokenizer.json",
    ),
)

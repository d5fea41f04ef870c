"""Our own encoder: BPE of every kind of vocabulary file, and our own trainers' models."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from pyharness.bpe.encoding.tokenizer import BpeTokenizer
from pyharness.bpe.formats.imports import import_model
from pyharness.tokenizers.source import Loader, VocabularyFile, in_libraries, variant
from pyharness.tokenizers.timed_calls import Timed
from pyharness.types import Engine, InputError, MergeModel, Tokenizer, TokenizerSpec, Tokens
from pyharness.vocabularies.encodings import PATTERNS
from pyharness.vocabularies.files.vocabulary_file import Kind

OPTIONS = ("method", "dropout", "seed")  # of BpeTokenizer
KINDS: tuple[Kind, ...] = ("huggingface", "rank_file", "tekken", "sentencepiece", "minbpe", "pyharness")


class NativeTokenizer(BpeTokenizer):
    """A BPE model in our encoder."""

    def timed_call(self, texts: Sequence[str], threads: int = 1) -> Timed:
        """Return the batch call, the same that a user calls."""
        documents = list(texts)
        return Timed(lambda: self.encode_batch(documents, threads), lambda tokens: tokens)

    def timed_single(self, text: str) -> Timed:
        """Return the call for one text."""
        return Timed(lambda: self.encode(text), lambda ids: Tokens.from_lists([ids]))


class NativeBpe(NativeTokenizer):
    """A model whose rules use the ids it writes, so that they can be examined."""

    def merge_model(self) -> MergeModel:
        """Return the rules or ranks."""
        return self.model.merges


def load(file: VocabularyFile, options: Mapping[str, str]) -> Tokenizer:
    """Load a vocabulary file into our encoder.

    Raises:
        InputError: the file is damaged or not a BPE model, or an option has an unusable value.
    """
    encoding: dict[str, Any] = {}
    if file.encoding is not None:
        encoding = {"pattern": file.encoding.pattern, "special": file.encoding.special}
    arguments = settings(file.label, options)
    with in_libraries:
        model = import_model(file.fetch(), label=file.label, **encoding)
        kind = NativeBpe if model.expansion is None else NativeTokenizer
        return kind(model, **arguments)


def settings(label: str, options: Mapping[str, str]) -> dict[str, Any]:
    """Return the arguments of ``BpeTokenizer`` for the options of a specification.

    Raises:
        InputError: the dropout is not a number, or the seed not a whole one.
    """
    arguments: dict[str, Any] = {}
    for key, kind in (("method", str), ("dropout", float), ("seed", int)):
        if key not in options:
            continue
        try:
            arguments[key] = kind(options[key])
        except ValueError:
            raise InputError(f"{label}: {key}={options[key]} is not a {'whole ' * (kind is int)}number") from None
    return arguments


def wrap(home: TokenizerSpec) -> TokenizerSpec:
    """Return the row that runs a home row's file."""
    file = home.load
    if not isinstance(file, VocabularyFile):
        raise InputError(
            f"native cannot run {home.name!r} (no vocabulary file); it runs files of kind {', '.join(KINDS)}"
        )
    vocabulary = variant(home.vocabulary, home.options, OPTIONS)
    if file.encoding is not None and file.encoding.pattern not in PATTERNS.values():
        # tiktoken leaves out the text that a pattern does not match; here it is a piece of its own.
        vocabulary = f"{vocabulary}/all text"
    return dataclasses.replace(
        home, name=f"native+{home.name}", load=lambda spec: _load(file, spec.options), library="pyharness", extra=None,
        vocabulary=vocabulary, reference=False,
    )  # fmt: skip


def _load(file: VocabularyFile, options: Mapping[str, str]) -> Tokenizer:
    try:
        return load(file, options)
    except InputError as error:
        raise InputError(f"native cannot run {file.label}: {error}") from None


ENGINES = (
    Engine(
        name="native",
        wrap=wrap,
        summary="our own encoder: BPE from tokenizer.json, rank files, tekken, SentencePiece and minbpe models",
        options=OPTIONS,
    ),
)
LOADERS = tuple(Loader(kind, "pyharness", load, OPTIONS) for kind in ("minbpe", "pyharness"))

"""Tokenizers, their abilities beyond encoding, and declarations of rows, families and engines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

from pyharness.types.trainings import TrainingProgress
from pyharness.types.vocabularies import Ids, MergeModel, Tokens, Vocabulary

RoundTrip: TypeAlias = Literal["exact", "normalised", "lossy"]


@runtime_checkable
class Tokenizer(Protocol):
    """A loaded tokenizer, as its library runs it, without special tokens and without offsets.

    With ``thread_safe = True`` it takes calls of ``encode_batch`` from several threads at a time.
    """

    id_limit: int  # largest id + 1: the length of arrays indexed by id
    vocab_size: int  # V: distinct ids that are neither special nor unknown; 0: ids are not known, only their number
    round_trip: RoundTrip  # derived from the tokenizer's own file
    notes: tuple[str, ...]  # settings switched off or kept: padding, truncation, ignore_merges, ...

    def encode_batch(self, texts: Sequence[str], threads: int = 1) -> Tokens:
        """Encode documents; strings that look like special tokens are plain text."""

    def decode(self, ids: Ids) -> bytes:
        """Return the bytes of the text of one document's ids."""


@runtime_checkable
class HasVocabulary(Protocol):
    """Ability: the bytes and kind of every id."""

    def vocabulary(self) -> Vocabulary:
        """Return the whole vocabulary."""


@runtime_checkable
class HasMergeModel(Protocol):
    """Ability: a BPE model whose rules can be examined."""

    def merge_model(self) -> MergeModel:
        """Return the rules and the model string of every token."""


@runtime_checkable
class HasModelEncoder(Protocol):
    """Ability of models that are not BPE (Unigram, WordPiece): their own encoder, for the self-tokenization test."""

    def encode_model(self, tokens: Ids) -> Tokens:
        """Encode the model string of each given id with the model alone: no normaliser, no added tokens."""


@runtime_checkable
class HasPipeline(Protocol):
    """Ability: the effect of the stages before the model on a text. ``HasStages`` has each stage by itself."""

    def normalize(self, text: str) -> str:
        """Return the text as the model receives it (the best that decoding can return)."""

    def added_tokens(self) -> Mapping[str, int]:
        """Return the content and id of added tokens that stay on in measurements (non-special, user-defined)."""


@dataclass(frozen=True, slots=True)
class Instead:
    """Replacement for a tokenizer: for example, a segmenter whose units have no ids, or a codec that reads no text."""

    make: Callable[[TokenizerSpec], Any]
    facts: Callable[[Any], Mapping[str, Any]]  # facts for the record; JSON values, ``notes`` a tuple of texts


@dataclass(frozen=True, slots=True)
class TokenizerSpec:
    """Description of a tokenizer, known without importing the library that runs it."""

    name: str  # the specification string, e.g. "mistral:v3", "gigatoken+file:/x/cl100k_base.tiktoken"
    load: Callable[[TokenizerSpec], Tokenizer]
    library: str  # the distribution that runs it; its version is recorded
    source: str = ""  # where the vocabulary comes from, for people
    path: str | None = None  # file of the vocabulary, if there is one: its digest is recorded
    revision: str | None = None
    licence: str = "unknown"
    extra: str | None = None  # the pip extra that provides it
    vocabulary: str | None = None  # rows that claim one vocabulary must give identical ids
    reference: bool = False  # whether the row's library is the original one of that vocabulary
    options: Mapping[str, str] = field(default_factory=dict)
    instead: Instead | None = None  # what to measure of a row without a vocabulary; ``load`` raises ``Unsupported``
    place: int = 50  # among those that are listed, smallest first
    trained_on: Path | None = None  # file with digests of the documents that it was trained on, where known
    label: str = field(default="", compare=False)  # the row's name in a suite


@dataclass(frozen=True, slots=True)
class TokenizerFamily:
    """Tokenizers named ``prefix:argument``; ``expand`` checks the argument, and its error lists the known ones."""

    name: str  # the prefix
    expand: Callable[[str, Mapping[str, str]], TokenizerSpec]  # (argument, options after "?")
    summary: str
    example: str
    known: Callable[[], Sequence[str]] = tuple  # arguments that can be listed
    place: int = 50  # among those that are listed, smallest first
    extra: str | None = None
    # Makes what a row needs before anything is measured, such as a trained tokenizer; it reports its progress to a
    # listener. ``expand`` then finds the result.
    prepare: Callable[[str, Mapping[str, str], Callable[[TrainingProgress], None] | None], None] | None = None
    # Whether ``prepare`` has run before, as far as that is known without reading text.
    prepared: Callable[[str, Mapping[str, str]], bool] | None = None
    # From argument and options: the key of rows to prepare one after another, and the place among them, smallest first.
    # None: any order.
    precedence: Callable[[str, Mapping[str, str]], tuple[str, int]] | None = None


@dataclass(frozen=True, slots=True)
class Engine:
    """Another implementation that runs an existing vocabulary: ``name+SPEC``."""

    name: str
    wrap: Callable[[TokenizerSpec], TokenizerSpec]  # row of the original library -> the row with this engine
    summary: str
    extra: str | None = None
    options: tuple[str, ...] = ()  # the engine's own: ``wrap`` finds them among those of the original row

"""Tokenizers, what they can do beyond encoding, and how rows, families and engines are declared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

from pyharness.types.tokens import Ids, Tokens
from pyharness.types.trainings import TrainingProgress
from pyharness.types.vocabularies import MergeModel, Vocabulary

RoundTrip: TypeAlias = Literal["exact", "normalised", "lossy"]


@runtime_checkable
class Tokenizer(Protocol):
    """A loaded tokenizer, as the library that runs it behaves, without special tokens and without offsets."""

    id_limit: int  # largest id + 1: the length of arrays indexed by id
    vocab_size: int  # V: distinct ids that are neither special nor unknown
    round_trip: RoundTrip  # derived from the tokenizer's own file
    notes: tuple[str, ...]  # what was found and switched off or kept: padding, truncation, ignore_merges, ...

    def encode_batch(self, texts: Sequence[str], threads: int = 1) -> Tokens:
        """Encode documents; strings that look like special tokens are plain text."""
        ...

    def decode(self, ids: Ids) -> bytes:
        """Bytes of the text of one document's ids."""
        ...


@runtime_checkable
class HasVocabulary(Protocol):
    """Ability: the bytes and kind of every id."""

    def vocabulary(self) -> Vocabulary:
        """Return the whole vocabulary."""
        ...


@runtime_checkable
class HasMergeModel(Protocol):
    """Ability: a BPE model whose rules can be examined."""

    def merge_model(self) -> MergeModel:
        """Return the rules and the model string of every token."""
        ...


@runtime_checkable
class HasModelEncoder(Protocol):
    """Ability of models that are not BPE (Unigram, WordPiece): their own encoder, for layer 2 of the STT."""

    def encode_model(self, tokens: Ids) -> Tokens:
        """Encode the model string of each given id with the model alone: no normaliser, no added tokens."""
        ...


@runtime_checkable
class HasPipeline(Protocol):
    """Ability: what the stages before the model do to a text. ``HasStages`` has each of them by itself."""

    def normalize(self, text: str) -> str:
        """Text as the model sees it, in text form (what decoding can give back at best)."""
        ...

    def added_tokens(self) -> Mapping[str, int]:
        """Content of added tokens that stay on when measuring (non-special, user-defined)."""
        ...


@dataclass(frozen=True, slots=True)
class Instead:
    """What stands in a tokenizer's place: it cuts text into units that have no ids, say, or is for no text at all."""

    make: Callable[[TokenizerSpec], Any]
    facts: Callable[[Any], Mapping[str, Any]]  # what a record keeps of it; JSON values, ``notes`` a tuple of texts


@dataclass(frozen=True, slots=True)
class TokenizerSpec:
    """What a tokenizer is, known without importing the library that runs it."""

    name: str  # the specification string, e.g. "mistral:v3", "gigatoken+file:/x/cl100k_base.tiktoken"
    load: Callable[[TokenizerSpec], Tokenizer]
    library: str  # the distribution that runs it; its version is recorded
    source: str = ""  # where the vocabulary comes from, for people
    path: str | None = None  # the vocabulary's file, when it is one: its digest is recorded
    revision: str | None = None
    licence: str = "unknown"
    extra: str | None = None  # the pip extra that provides it
    vocabulary: str | None = None  # rows that claim one vocabulary must give identical ids
    reference: bool = False  # this row's library is the home of that vocabulary
    options: Mapping[str, str] = field(default_factory=dict)
    instead: Instead | None = None  # what is measured of a row without a vocabulary; ``load`` raises ``Unsupported``
    trained_on: Path | None = None  # digests of the documents that it was trained on, where that is known


@dataclass(frozen=True, slots=True)
class TokenizerFamily:
    """Tokenizers named ``prefix:argument``; ``expand`` checks the argument and names what is known."""

    name: str  # the prefix
    expand: Callable[[str, Mapping[str, str]], TokenizerSpec]  # (argument, options after "?")
    summary: str
    example: str
    known: Callable[[], Sequence[str]] = tuple  # arguments that can be listed
    extra: str | None = None
    # Makes what a row needs, before anything is measured: training, say, which tells a listener how far it is.
    # ``expand`` then finds it.
    prepare: Callable[[str, Mapping[str, str], Callable[[TrainingProgress], None] | None], None] | None = None
    # Whether ``prepare`` has been here before, as far as that can be told without reading text.
    prepared: Callable[[str, Mapping[str, str]], bool] | None = None
    # What rows that are prepared one after another have in common, and whose turn it is of these, the smallest number
    # first, of argument and options. None: any order will do.
    precedence: Callable[[str, Mapping[str, str]], tuple[str, int]] | None = None


@dataclass(frozen=True, slots=True)
class Engine:
    """Another implementation that runs an existing vocabulary: ``name+SPEC``."""

    name: str
    wrap: Callable[[TokenizerSpec], TokenizerSpec]  # the home row -> the same vocabulary through this engine
    summary: str
    extra: str | None = None
    options: tuple[str, ...] = ()  # its own: ``wrap`` finds them among those of the home row, which never sees them

"""The nouns of the harness: plain data and small protocols. Imports nothing of ours."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeAlias, runtime_checkable

if TYPE_CHECKING:  # every module imports this one, that of ``--help``, too, and NumPy takes 0.1 s
    import numpy as np
    from numpy.typing import NDArray

Ids: TypeAlias = "NDArray[np.uint32]"
Offsets: TypeAlias = "NDArray[np.int64]"
Digest: TypeAlias = bytes
RoundTrip: TypeAlias = Literal["exact", "normalised", "lossy"]
State: TypeAlias = "Mapping[str, NDArray[Any]]"  # integer arrays that the numbers of a case are computed from


class InputError(ValueError):
    """What the user gave cannot be used.

    The message names the thing, what is known and the next step. The command line prints it and exits with 2.
    """


class Unsupported(InputError):
    """A library cannot do what a case asks of it: the case is skipped, with this reason."""


# ---------------------------------------------------------------------------------------------- tokens


@dataclass(frozen=True, slots=True)
class Tokens:
    """Token ids of a batch of documents, laid end to end.

    Document ``d`` is ``ids[offsets[d]:offsets[d + 1]]``.
    """

    ids: Ids  # uint32 [n_tokens]
    offsets: Offsets  # int64 [n_documents + 1], starts at 0

    @classmethod
    def from_lists(cls, lists: Sequence[Sequence[int] | Ids]) -> Tokens:
        """Lay one list (or array) of ids per document end to end."""
        import numpy as np

        offsets = np.zeros(len(lists) + 1, np.int64)
        np.cumsum([len(ids) for ids in lists], out=offsets[1:])
        ids = np.empty(int(offsets[-1]), np.uint32)
        for document, start, stop in zip(lists, offsets[:-1], offsets[1:], strict=True):
            ids[start:stop] = document
        return cls(ids, offsets)

    def document(self, index: int) -> Ids:
        """Return the ids of one document, without a copy."""
        return self.ids[self.offsets[index] : self.offsets[index + 1]]

    def __len__(self) -> int:
        return len(self.offsets) - 1


# ---------------------------------------------------------------------------------------------- vocabularies


class TokenKind(IntEnum):
    """What an id stands for. Everything but ``SPECIAL``, ``UNKNOWN`` and ``ABSENT`` counts towards V."""

    NORMAL = 0
    SPECIAL = 1  # control and special tokens: never added when measuring
    ADDED = 2  # non-special added tokens, user-defined pieces: matched before the model, and counted
    BYTE_FALLBACK = 3  # the 256 <0xNN> pieces of a SentencePiece model
    UNKNOWN = 4
    ABSENT = 5  # a gap: no token has this id
    UNUSED = 6  # SentencePiece "unused" pieces: in the file, never emitted


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Bytes and kind of every id. ``n`` is the largest id + 1; ids may have gaps.

    Token ``t`` contributes ``data[offsets[t]:offsets[t + 1]]`` to decoded text (in the middle of a text), so
    ``▁the`` is `` the``, ``##ing`` is ``ing`` and ``<0x41>`` is ``A``.
    """

    data: NDArray[np.uint8]  # [total bytes]
    offsets: Offsets  # int64 [n + 1]
    kinds: NDArray[np.uint8]  # TokenKind [n]

    @classmethod
    def from_tokens(cls, tokens: Mapping[int, bytes], kinds: Mapping[int, TokenKind]) -> Vocabulary:
        """Build from ``id -> bytes``; an id missing from ``kinds`` is NORMAL, one missing from ``tokens`` ABSENT."""
        import numpy as np

        size = max(tokens, default=-1) + 1
        offsets = np.zeros(size + 1, np.int64)
        table = np.full(size, TokenKind.ABSENT, np.uint8)
        for token, data in tokens.items():
            offsets[token + 1] = len(data)
            table[token] = kinds.get(token, TokenKind.NORMAL)
        np.cumsum(offsets, out=offsets)
        data = b"".join(tokens[token] for token in sorted(tokens))
        return cls(np.frombuffer(data, np.uint8), offsets, table)

    def __len__(self) -> int:
        return len(self.kinds)

    def __getitem__(self, token: int) -> bytes:
        return self.data[self.offsets[token] : self.offsets[token + 1]].tobytes()

    @property
    def counted(self) -> NDArray[np.bool_]:
        """bool [n]: the ids that make up V (distinct, non-special, not unknown, present)."""
        import numpy as np

        return ~np.isin(self.kinds, (TokenKind.SPECIAL, TokenKind.UNKNOWN, TokenKind.ABSENT))


@dataclass(frozen=True, slots=True)
class MergeModel:
    """The BPE rules of a tokenizer, in the model's own symbols, for the merge graph and the self-tokenization test.

    The model string of token ``t`` is ``data[offsets[t]:offsets[t + 1]]``. For byte-level models it is the token's
    bytes (each byte one base symbol); for character-level models it is the piece in UTF-8 (``▁the``), each
    character one base symbol, except that the final character carries ``suffix`` (CLIP's ``</w>``) when the
    token ends with it.

    ``rules`` (a list of merges): uint32 [n_rules, 3] rows (left id, right id, result id) in rank order.
    ``ranks`` (tiktoken, SentencePiece): uint32 [n], lower merges first, 2**32 - 1 = never the result of a merge;
    any two adjacent symbols whose concatenation is in the vocabulary may merge. Exactly one of the two is set.

    ``base`` uint32 [total], ``base_offsets`` int64 [n + 1]: the ids of the base symbols that each token starts from.
    ``tested`` bool [n]: the ids the test is about (special, added, unknown, byte-fallback and empty are not).
    ``atomic`` bool [n]: the ids that need no rule: base symbols.
    """

    data: NDArray[np.uint8]
    offsets: Offsets
    base: Ids
    base_offsets: Offsets
    tested: NDArray[np.bool_]
    atomic: NDArray[np.bool_]
    rules: NDArray[np.uint32] | None = None
    ranks: NDArray[np.uint32] | None = None


# ---------------------------------------------------------------------------------------------- tokenizers


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

    def cuts(self, text: str) -> Sequence[int]:
        """Character positions in ``text`` at which the pre-tokenizer cuts (0 and the end left out)."""
        ...

    def added_tokens(self) -> Mapping[str, int]:
        """Content of added tokens that stay on when measuring (non-special, user-defined)."""
        ...


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
    lossy: bool = False  # a declaration can only add to what the file says


@dataclass(frozen=True, slots=True)
class TrainingProgress:
    """How far a training is. What is not known is ``None``."""

    phase: str  # "reading", "counting", "merging", or what the library calls it
    done: int
    unit: str  # of done and total: "bytes", "tokens", ...
    total: int | None = None
    seconds_left: float | None = None  # estimate, of this phase

    @property
    def fraction(self) -> float | None:
        """Share of the phase that is done, in 0..1."""
        return min(self.done / self.total, 1.0) if self.total else None


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


@dataclass(frozen=True, slots=True)
class Engine:
    """Another implementation that runs an existing vocabulary: ``name+SPEC``."""

    name: str
    wrap: Callable[[TokenizerSpec], TokenizerSpec]  # the home row -> the same vocabulary through this engine
    summary: str
    extra: str | None = None
    options: tuple[str, ...] = ()  # its own: ``wrap`` finds them among those of the home row, which never sees them


# ---------------------------------------------------------------------------------------------- corpora


def digest_of(text: str) -> Digest:
    """Return 16 bytes that stand for the content of a document."""
    return hashlib.blake2b(text.encode(), digest_size=16).digest()


@dataclass(slots=True)
class Tally:
    """What streaming a corpus met. Integers only; ``merge`` is associative and commutative."""

    documents: int = 0
    bytes: int = 0  # UTF-8 bytes of the documents, after replacement
    empty_documents: int = 0  # met and left out
    cut_documents: int = 0  # longer than the limit, cut into several documents
    replaced_sequences: int = 0  # invalid UTF-8 sequences replaced by U+FFFD
    digest: int = 0  # sum of 128-bit document digests, modulo 2**128: does not depend on order
    # For who reads a corpus from its front, in its order: the digest of its first 1, 2, 4, 8, ... documents.
    beginnings: list[int] | None = field(default=None, compare=False)

    def add(self, text: str) -> Digest:
        """Count one document; returns its digest (16 bytes)."""
        digest = digest_of(text)
        self.documents += 1
        self.bytes += len(text.encode())
        self.digest = (self.digest + int.from_bytes(digest, "little")) % (1 << 128)
        if self.beginnings is not None and self.documents == 1 << len(self.beginnings):
            self.beginnings.append(self.digest)
        return digest

    def merge(self, other: Tally) -> None:
        """Add what another pass (a shard, a machine) met."""
        self.documents += other.documents
        self.bytes += other.bytes
        self.empty_documents += other.empty_documents
        self.cut_documents += other.cut_documents
        self.replaced_sequences += other.replaced_sequences
        self.digest = (self.digest + other.digest) % (1 << 128)
        self.beginnings = None  # two fronts are none


@runtime_checkable
class Corpus(Protocol):
    """Text that can be read again and again; nothing is read before ``documents`` is iterated."""

    name: str  # the specification string: a worker opens the corpus again from it
    language: str  # BCP 47 or FLORES code, "mul" for several, "und" for unknown, "code"
    domain: str
    licence: str
    smoke_test: bool  # too small to be evidence

    def documents(self, tally: Tally) -> Iterator[str]:
        """Stream non-empty documents. The reader counts what it leaves out, cuts or replaces into ``tally``;
        whoever consumes a document counts it with ``tally.add``.
        """
        ...


@runtime_checkable
class ParallelCorpus(Corpus, Protocol):
    """Aligned text: ``documents`` yields every text of every row."""

    languages: tuple[str, ...]
    reference: str  # the language the others are compared with

    def rows(self, tally: Tally) -> Iterator[Mapping[str, str]]:
        """Stream rows that have text in every language of ``languages``."""
        ...


class Piece(NamedTuple):
    """A text as it is encoded, and what it depends on: a document, a piece of a longer one, a text of an aligned row.

    What shares a key falls into one group of the jackknife. Of the pieces of one document, or the texts of one row, the
    first alone ``opens``: opened documents are what intervals count.
    """

    text: str
    key: str  # the text whose hash decides the group
    opens: bool = True
    again: bool = False  # streamed before, in an earlier pass of ``repeat:``: no further evidence


@runtime_checkable
class HasKeys(Protocol):
    """Ability of corpora whose texts depend on each other: cut documents, aligned rows."""

    def keyed_documents(self, tally: Tally) -> Iterator[Piece]:
        """Stream what ``documents`` streams, with keys; a pair ``(text, key)`` is a document of its own."""
        ...


@dataclass(frozen=True, slots=True)
class CorpusFamily:
    """Corpora named ``name`` or ``name:argument?options``; ``open`` checks both before anything runs."""

    name: str
    open: Callable[[str, str, Mapping[str, str]], Corpus]  # (whole specification, argument, options)
    summary: str
    example: str
    options: Mapping[str, str] = field(default_factory=dict)  # option -> what it does
    known: Callable[[], Sequence[str]] = tuple
    extra: str | None = None
    wraps: bool = False  # the argument ends in another specification, which also gets the options


# ---------------------------------------------------------------------------------------------- results


Direction: TypeAlias = Literal["higher", "lower", "none"]


@dataclass(frozen=True, slots=True)
class Metric:
    """What a number means, known before it is measured."""

    name: str
    unit: str
    direction: Direction  # which way is better
    summary: str
    primary: bool = False  # shown in the main table
    deterministic: bool = True  # the same text gives the same number on every machine
    tolerance: float = 0.0  # relative: what machines may differ by, where floating point comes before the integers
    grows_with_text: bool = False  # more text of the kind has another value, beyond any interval: one size compares


@dataclass(frozen=True, slots=True)
class Case:
    """One benchmark of one tokenizer on one corpus."""

    benchmark: str
    tokenizer: str
    corpus: str | None  # None: the benchmark needs no text
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """Stable name of the case: the same in every run, and the key of the journal."""
        parameters = ",".join(f"{name}={self.parameters[name]}" for name in sorted(self.parameters))
        return " | ".join(filter(None, (self.benchmark, self.tokenizer, self.corpus, parameters)))


Status: TypeAlias = Literal["ok", "skipped", "failed"]


@dataclass(frozen=True, slots=True)
class Measurement:
    """Raw values of one metric of one case. ``value`` is ``None`` with a ``reason`` when there is no number."""

    metric: str
    value: float | int | None
    reason: str | None = None
    part: str | None = None  # what the number is about within the case: a language, an input length, a threads count
    samples: tuple[float, ...] = ()  # every repetition, for timings
    replicates: tuple[float | None, ...] = ()  # the value without group g, for the jackknife; at one size if it grows
    no_interval: str | None = None  # why a value of a text has no replicates
    # What grows with the text: the value on about 1/8, 1/4, 1/2 and all of it, each within the next.
    curve: tuple[float | None, ...] = ()


@dataclass(frozen=True, slots=True)
class CaseResult:
    """What became of one case."""

    case: Case
    status: Status
    reason: str | None = None
    measurements: tuple[Measurement, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)  # witnesses, tallies, classes: JSON values

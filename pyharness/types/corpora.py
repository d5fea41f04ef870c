"""Corpora, what streaming them counts, and how families are declared."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias, runtime_checkable

if TYPE_CHECKING:  # as in vocabularies.py
    import numpy as np
    from numpy.typing import NDArray

Digest: TypeAlias = bytes


def digest_of(text: str | bytes) -> Digest:
    """Return the 16-byte BLAKE2b digest of the content of a document; ``bytes`` are UTF-8."""
    from hashlib import blake2b  # help does not need it

    return blake2b(text if isinstance(text, bytes) else text.encode(), digest_size=16).digest()


@dataclass(slots=True)
class Tally:
    """Counts of one pass over a corpus: integers only; but for beginnings, ``merge`` is commutative, too."""

    documents: int = 0
    bytes: int = 0  # UTF-8 bytes of the documents, after replacement
    empty_documents: int = 0  # left out
    cut_documents: int = 0  # longer than the limit, cut into several documents
    replaced_sequences: int = 0  # invalid UTF-8 sequences replaced by U+FFFD
    digest: int = 0  # sum of 128-bit document digests, modulo 2**128: does not depend on order
    # Digests of the first 1, 2, 4, 8, ... documents, for a corpus that is read from its beginning, in order.
    beginnings: list[int] | None = field(default=None, compare=False)

    def add(self, text: str) -> Digest:
        """Count one document and return its digest (16 bytes)."""
        data = text.encode()
        digest = digest_of(data)
        self.count(digest, len(data))
        return digest

    def count(self, digest: Digest, size: int) -> None:
        """Count one document, by its digest and its size in bytes of UTF-8."""
        self.documents += 1
        self.bytes += size
        self.digest = (self.digest + int.from_bytes(digest, "little")) % (1 << 128)
        if self.beginnings is not None and self.documents == 1 << len(self.beginnings):
            self.beginnings.append(self.digest)

    def count_all(self, digests: NDArray[np.uint8], sizes: NDArray[np.int64]) -> None:
        """Count documents in their order, by their digests, uint8 [documents, 16], and sizes."""
        while len(digests):
            left = 0 if self.beginnings is None else (1 << len(self.beginnings)) - self.documents
            some = digests[:left] if left > 0 else digests
            words = some.view("<u4").sum(axis=0, dtype="u8").tolist()
            self.documents += len(some)
            self.bytes += int(sizes[: len(some)].sum())
            self.digest = (self.digest + sum(word << 32 * place for place, word in enumerate(words))) % (1 << 128)
            if self.beginnings is not None and len(some) == left:
                self.beginnings.append(self.digest)
            digests, sizes = digests[len(some) :], sizes[len(some) :]

    def merge(self, other: Tally) -> None:
        """Add the counts of another pass, over text behind its own: the beginnings stay those of the first."""
        self.documents += other.documents
        self.bytes += other.bytes
        self.empty_documents += other.empty_documents
        self.cut_documents += other.cut_documents
        self.replaced_sequences += other.replaced_sequences
        self.digest = (self.digest + other.digest) % (1 << 128)


@dataclass(frozen=True, slots=True)
class TextRead:
    """Account of the text that a case has read: a finished tally, with digests in hexadecimal."""

    documents: int
    bytes: int
    digest: str
    empty_documents: int = 0
    cut_documents: int = 0
    replaced_sequences: int = 0
    beginnings: tuple[str, ...] | None = None  # digests of the first 1, 2, 4, 8, ... documents

    @classmethod
    def of(cls, tally: Tally) -> TextRead:
        """Copy the present counts of a tally."""
        beginnings = None if tally.beginnings is None else tuple(f"{digest:032x}" for digest in tally.beginnings)
        return cls(
            tally.documents, tally.bytes, f"{tally.digest:032x}", tally.empty_documents, tally.cut_documents,
            tally.replaced_sequences, beginnings,
        )  # fmt: skip


@runtime_checkable
class Corpus(Protocol):
    """Text that can be read repeatedly. Before ``documents`` is iterated, no more than its beginning is read."""

    name: str  # the specification string: a worker opens the corpus again from it
    language: str  # BCP 47 or FLORES code, "mul" for several, "und" for unknown, "code"
    domain: str
    licence: str
    smoke_test: bool  # too small to be evidence

    def documents(self, tally: Tally) -> Iterator[str]:
        """Stream non-empty documents.

        The reader counts in ``tally`` what it leaves out, cuts or replaces. The consumer counts each document with
        ``tally.add``.
        """


@runtime_checkable
class ParallelCorpus(Corpus, Protocol):
    """Aligned text: ``documents`` yields every text of every row."""

    languages: tuple[str, ...]
    reference: str  # language that the others are compared with

    def rows(self, tally: Tally) -> Iterator[Mapping[str, str]]:
        """Stream rows that have text in every one of ``languages``; a row may also name its work under ``WORK``."""


WORK = ""  # key of a row of aligned text for the name of its work, where the corpus names works; no language


class Piece(NamedTuple):
    """A text to be encoded and its dependences: a document, a piece of a longer one, or a text of an aligned row.

    Pieces with the same key fall into one group of the jackknife. Only the first piece of a document, or the first text
    of a row, ``opens``: intervals count opened documents.
    """

    text: str
    key: str  # text whose hash selects the group, where no work is named
    opens: bool = True
    again: bool = False  # streamed in an earlier pass of ``repeat:``: no further evidence
    work: str = ""  # work that the document belongs to, where known: shards and groups keep works whole


@runtime_checkable
class HasKeys(Protocol):
    """Ability of corpora whose texts depend on each other: cut documents, aligned rows."""

    def keyed_documents(self, tally: Tally) -> Iterator[Piece]:
        """Stream the texts of ``documents`` with keys; a pair ``(text, key)`` is a document of its own."""


def kind_of(corpus: Corpus) -> str:
    """Return the kind of a corpus, for benchmarks that need one: "text", "parallel", or its own attribute ``kind``."""
    return "parallel" if isinstance(corpus, ParallelCorpus) else str(getattr(corpus, "kind", "text"))


@dataclass(frozen=True, slots=True)
class CorpusFamily:
    """Corpora named ``name`` or ``name:argument?options``; ``open`` checks both before anything runs."""

    name: str
    open: Callable[[str, str, Mapping[str, str]], Corpus]  # (whole specification, argument, options)
    summary: str
    example: str
    options: Mapping[str, str] = field(default_factory=dict)  # option -> its description
    known: Callable[[], Sequence[str]] = tuple
    place: int = 50  # among those that are listed, smallest first
    extra: str | None = None
    remote: Callable[[str], bool] = lambda _: False  # whether the text of an argument is read over a network
    wraps: bool = False  # the argument ends in another specification, which also gets the options

"""Recognition of documents: a bounded set of their digests, which measures how much another text shares.

A document is known by its text, and by its beginning (``Piece.key``, its first 64 KiB). Neither its cuts nor the shard
nor the name of the corpus matter.
"""

from __future__ import annotations

import io
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pyharness.corpora.streaming import DerivedCorpus, keyed
from pyharness.system import atomic_file, bounded_file, folders
from pyharness.types import Corpus, Digest, InputError, ParallelCorpus, Piece, Tally, digest_of

TRAINED_ON = "trained_on.npy"  # beside a tokenizer: the digests of the text that it was trained on
MOST = 1 << 21  # digests of 8 bytes: beyond that, about half of them, a quarter, ... are kept
MOST_BYTES = 8 * (MOST + 1) + (1 << 12)  # of a file of digests
LEAST_SHARED = 32  # characters of a text; shorter ones recur by chance
_SPAN = 1 << 64


def _short(digest: Digest) -> int:
    return int.from_bytes(digest[:8], "little")


@dataclass(slots=True)
class DocumentKeys:
    """Digests of documents: all of them, or those below a limit, by which any other text is sampled, too."""

    limit: int = _SPAN
    kept: array[int] = field(default_factory=lambda: array("Q"))  # ascending from ``settle`` until the next ``add``
    _last: str = ""  # the key of the last pieces; those of one document are consecutive

    def add(self, piece: Piece, digest: Digest) -> None:
        """Add a piece of a document; ``digest`` is of its text."""
        self._add(_short(digest))
        if piece.key != piece.text and piece.key != self._last:
            self._last = piece.key
            self._add(_short(digest_of(piece.key)))

    def _add(self, key: int) -> None:
        if key < self.limit:
            self.kept.append(key)
            if len(self.kept) >= 2 * MOST:
                self.settle()

    def settle(self) -> None:
        """Sort the digests and drop duplicates; halve the limit until at most ``MOST`` are below it."""
        digests = np.unique(np.frombuffer(self.kept, np.uint64)) if self.kept else np.empty(0, np.uint64)
        while len(digests) > MOST:
            self.limit //= 2
            digests = digests[digests < self.limit]
        self.kept = array("Q", digests.tobytes())

    def __contains__(self, key: int) -> bool:
        place = bisect_left(self.kept, key)
        return place < len(self.kept) and self.kept[place] == key

    def as_array(self) -> NDArray[np.uint64]:
        """Return the input of ``of_array``: the largest digest that may be kept, and the kept ones, ascending."""
        self.settle()
        return np.concatenate([np.array([self.limit - 1], np.uint64), np.frombuffer(self.kept, np.uint64)])

    @classmethod
    def of_array(cls, values: NDArray[np.uint64]) -> DocumentKeys:
        """Rebuild the digests from ``as_array``.

        Raises:
            InputError: the array has another form.
        """
        if values.dtype != np.uint64 or values.ndim != 1 or not len(values) or (values[1:] > values[0]).any():
            raise InputError("these are no digests of documents")
        return cls(int(values[0]) + 1, array("Q", np.unique(values[1:]).tobytes()))


def serialise(keys: DocumentKeys) -> bytes:
    """Return the content of a file of digests."""
    content = io.BytesIO()
    np.save(content, keys.as_array(), allow_pickle=False)
    return content.getvalue()


def keep(path: Path, keys: DocumentKeys) -> None:
    """Write digests into a cache; raise ``InputError`` if that fails."""
    with folders.caching("digests of a training text", path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic_file.keep(path, serialise(keys))


@lru_cache(maxsize=1)
def read(path: Path) -> DocumentKeys:
    """Read a file of digests.

    Raises:
        InputError: the file is missing or damaged.
    """
    try:
        content = bounded_file.read(path, MOST_BYTES, path.name)
        return DocumentKeys.of_array(np.load(io.BytesIO(content), allow_pickle=False))
    except Exception as error:  # of damaged files NumPy raises a dozen kinds
        raise InputError(f"{path} does not say which text a row was trained on: {error}; delete it") from None


@dataclass(slots=True)
class Met:
    """Bytes read of sampled documents (below the limit of ``keys``), and those of known ones among them."""

    keys: DocumentKeys
    long: int = 0  # bytes of texts that do not recur by chance
    long_known: int = 0
    short: int = 0
    short_known: int = 0

    def add(self, text: str, key: str) -> None:
        """Count a text, all or a piece of a document that begins with ``key``, if the document is below the limit."""
        own = _short(digest_of(text))
        of_document = own if key == text else _short(digest_of(key))
        if of_document >= self.keys.limit:
            return
        size = len(text) if text.isascii() else len(text.encode())
        shared = size if of_document in self.keys or own in self.keys else 0
        if len(text) < LEAST_SHARED:
            self.short, self.short_known = self.short + size, self.short_known + shared
        else:
            self.long, self.long_known = self.long + size, self.long_known + shared

    @property
    def share(self) -> float:
        """Share of the bytes whose documents are known; short texts count where they are most of the text."""
        shared, size = self.long_known, self.long
        if self.short > self.long:
            shared, size = shared + self.short_known, size + self.short
        return shared / size if size else 0.0


@dataclass(slots=True)
class Watched(DerivedCorpus):
    """A corpus that also counts how much of its text is of known documents."""

    met: Met

    def keyed_documents(self, tally: Tally) -> Iterator[Piece]:
        """Stream the documents of the corpus with their keys."""
        for piece in keyed(self.whole, tally):
            self.met.add(piece.text, piece.key)
            yield piece


@dataclass(slots=True)
class WatchedRows(Watched):
    """Aligned text with these counts."""

    whole: ParallelCorpus
    languages: tuple[str, ...]
    reference: str

    def rows(self, tally: Tally) -> Iterator[Mapping[str, str]]:
        """Stream the rows of the corpus."""
        for row in self.whole.rows(tally):
            for language in self.languages:
                self.met.add(row[language], row[self.reference])
            yield row


def watched(corpus: Corpus, keys: DocumentKeys) -> Watched:
    """Return an equivalent corpus that counts how much of its text is of known documents."""
    if isinstance(corpus, ParallelCorpus):
        return WatchedRows(corpus, corpus.name, Met(keys), corpus.languages, corpus.reference)
    return Watched(corpus, corpus.name, Met(keys))

"""Models of the next symbol: interpolated n-grams over ids, and files of them.

A file is a header with all lengths, the counts, and a digest of both. All numbers are little-endian: magic, version,
alphabet, order, bytes of a count, entries of five levels (0 above the order), SHA-256 of all but itself. Then follow
the symbols, the children and the counts of the trie (csrc/core/symbols/symbol_trie.hpp).
"""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import BinaryIO, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pyharness import _core
from pyharness.system import atomic_file
from pyharness.types import InputError, Offsets

SymbolIds: TypeAlias = NDArray[np.uint8] | NDArray[np.uint32]
MOST_BYTES = 4 << 30  # of the tables of n-grams, while a model is trained


@dataclass(frozen=True, slots=True)
class SymbolScores:
    """Scores of the symbols of some documents under a model, in nats."""

    entropy: NDArray[np.float64]  # [symbols], of the prediction of symbol i from those before it in its document
    nll: NDArray[np.float64]  # [symbols], -ln P(symbol i | those before it in its document)
    next_entropy: NDArray[np.float64]  # [documents], of the prediction of a symbol after the last


class SymbolModel:
    """Probabilities of the next symbol after the ``order - 1`` symbols before it: an n-gram with n = ``order``.

    Symbols are ids 0..``alphabet_size - 1``: bytes, or tokens of any vocabulary. The model is Witten's and Bell's,
    interpolated down to the uniform distribution, so every symbol of the alphabet has a probability. Its entropies are
    exact sums over the alphabet. Neither threads nor batches change a bit of it, or of its scores.

    Source: docs/algorithms.md "Symbol models".

    >>> import numpy as np
    >>> text = np.frombuffer(b"abracadabra", np.uint8)
    >>> model = SymbolModel.train([(text, np.array([0, len(text)]))], alphabet_size=256, order=2)
    >>> scores = model.score(np.frombuffer(b"abc", np.uint8), np.array([0, 3]))
    >>> scores.nll.round(3).tolist(), scores.entropy.round(3).tolist()
    ([1.159, 1.079, 3.852], [3.292, 2.389, 1.574])
    """

    def __init__(self, native: _core.SymbolModel) -> None:
        """Wrap a native model; :meth:`train` and :meth:`load` make one."""
        self._native = native

    @classmethod
    def train(
        cls,
        batches: Iterable[tuple[SymbolIds, Offsets]],
        alphabet_size: int,
        order: int = 3,
        threads: int = 2,
        max_bytes: int = MOST_BYTES,
    ) -> SymbolModel:
        """Count the n-grams of documents that come in batches. Memory grows with distinct n-grams, not with the text.

        Args:
            batches: ids (uint8 or uint32 [symbols]) of documents end to end, and their offsets (int64
                [documents + 1]). No n-gram crosses the end of a document.
            alphabet_size: 1..2**25; symbols that never occur have probabilities, too.
            order: 1..5; the context is ``order - 1`` symbols.
            threads: 1..1024.
            max_bytes: limit of the memory of the counts, beyond which training is refused.

        Raises:
            InputError: order or alphabet are out of range; an id is not of the alphabet; there is no symbol at all; the
                distinct n-grams take more than ``max_bytes``.
            TypeError: an array has another dtype.
        """
        check(alphabet_size, order)
        with _native_errors():
            counter = _core.SymbolCounter(alphabet_size, order, max_bytes)
            for ids, offsets in batches:
                counter.add(ids, offsets, threads)
            if not counter.symbols():
                raise InputError("there is no symbol to train a symbol model on: every document is empty")
            return cls(counter.take_model(threads))

    @classmethod
    def load(cls, path: Path, alphabet_size: int | None = None, threads: int = 1) -> SymbolModel:
        """Read a model that :meth:`save` wrote; with ``alphabet_size``, of that alphabet only.

        Raises:
            InputError: there is no model, it was truncated or altered, or its alphabet is another. Sizes are checked
                before memory is allocated for them.
        """
        trie = read_trie(path, alphabet_size)
        try:
            return cls(_core.SymbolModel(trie, threads))
        except ValueError as error:  # forged counts with a valid digest
            raise InputError(f"{str(path)!r} is not a symbol model: {error}") from None

    def save(self, path: Path, *, overwrite: bool = False) -> None:
        """Write the counts into one file, whole or not at all.

        Raises:
            InputError: it cannot be written, or exists and ``overwrite`` is not set.
        """
        content = b"".join(parts_of(self._trie))
        atomic_file.write(path, content, overwrite=overwrite, advice="replace it with --force, or choose another --out")

    @property
    def _trie(self) -> SymbolTrie:
        return SymbolTrie(*self._native.trie())

    @property
    def alphabet_size(self) -> int:
        """Number of symbols."""
        return self._trie.alphabet_size

    @property
    def order(self) -> int:
        """Length of the longest n-gram: the context and one symbol."""
        return len(self._trie.level_sizes)

    @property
    def distinct_ngrams(self) -> tuple[int, ...]:
        """Number of distinct n-grams of 1, 2, .. ``order`` symbols."""
        return tuple(self._trie.level_sizes.tolist())

    @cached_property
    def digest(self) -> str:
        """SHA-256 of alphabet, order and counts, in hexadecimal: the same for the same text, in any batches."""
        return digest_of(self._trie).hex()

    def score(self, ids: SymbolIds, offsets: Offsets, threads: int = 1) -> SymbolScores:
        """Compute entropy and negative log-likelihood of every symbol of some documents, in nats.

        Args:
            ids: uint8 or uint32 [symbols], all documents end to end.
            offsets: int64 [documents + 1]. No context crosses the end of a document.
            threads: 1..1024.

        Raises:
            InputError: an id is not of the alphabet, or offsets do not fit.
            TypeError: an array has another dtype.
        """
        with _native_errors():
            return SymbolScores(*self._native.score(ids, offsets, threads))

    def probabilities(self, context: Sequence[int]) -> NDArray[np.float64]:
        """Return every symbol's probability after these (float64 [alphabet_size]), in time linear in the alphabet.

        Raises:
            InputError: a symbol is not of the alphabet.
        """
        if any(not 0 <= symbol < self.alphabet_size for symbol in context):
            raise InputError(f"a symbol of the context is not one of 0..{self.alphabet_size - 1}")
        return self._native.probabilities(np.array(context, np.uint32))


def check(alphabet_size: int, order: int) -> None:
    """Refuse an impossible model.

    Raises:
        InputError: order or alphabet are out of range.
    """
    if not 1 <= order <= HIGHEST_ORDER:
        raise InputError(
            f"a symbol model of order {order} cannot be trained; choose 1..{HIGHEST_ORDER} (order n looks at n - 1 "
            "symbols before)"
        )
    if not 1 <= alphabet_size <= LARGEST_ALPHABET:
        raise InputError(f"an alphabet of {alphabet_size:,} symbols is out of range: 1..{LARGEST_ALPHABET:,}")


@contextmanager
def _native_errors() -> Iterator[None]:
    try:
        yield
    except InputError:
        raise
    except ValueError as error:
        advice = ": train on less text, or with a lower order" if "distinct n-grams" in str(error) else ""
        raise InputError(f"{error}{advice}") from None


HIGHEST_ORDER = 5
LARGEST_ALPHABET = 1 << 25
_MAGIC = b"symbols\n"
_VERSION = 1
_HEADER = struct.Struct("<8sIIII5Q")
_DIGEST_BYTES = 32
_MOST_ENTRIES = (1 << 32) - 2
_ADVICE = "train one with 'pyharness symbols train'"


class SymbolTrie(NamedTuple):
    """The n-grams of a text, level by level; a level is in lexicographic order."""

    alphabet_size: int
    level_sizes: NDArray[np.uint64]  # [order], entries of the level of 1, 2, .. symbols
    symbols: NDArray[np.uint32]  # [entries], the last symbol of each n-gram
    counts: NDArray[np.uint64]  # [entries]
    children: NDArray[np.uint32]  # [entries of all levels but the last], how many n-grams continue each


class _Header(NamedTuple):
    alphabet_size: int
    count_bytes: int
    level_sizes: tuple[int, ...]

    @property
    def entries(self) -> int:
        return sum(self.level_sizes)

    @property
    def lengths(self) -> tuple[int, int, int]:
        """Sizes in bytes of symbols, children and counts."""
        return 4 * self.entries, 4 * (self.entries - self.level_sizes[-1]), self.count_bytes * self.entries


def parts_of(trie: SymbolTrie) -> Iterator[bytes]:
    """Yield the content of a file, piece by piece."""
    header, *arrays = _digest(trie)
    yield header
    yield digest_of(trie)
    yield from arrays


def digest_of(trie: SymbolTrie) -> bytes:
    """Return the SHA-256 of a model: header and counts."""
    digest = hashlib.sha256()
    for part in _digest(trie):
        digest.update(part)
    return digest.digest()


def _digest(trie: SymbolTrie) -> Iterator[bytes]:
    count_bytes = 4 if int(trie.counts.max()) < 1 << 32 else 8
    order = len(trie.level_sizes)
    sizes = [*trie.level_sizes.tolist(), *[0] * (HIGHEST_ORDER - order)]
    yield _HEADER.pack(_MAGIC, _VERSION, trie.alphabet_size, order, count_bytes, *sizes)
    yield trie.symbols.astype("<u4", copy=False).tobytes()
    yield trie.children.astype("<u4", copy=False).tobytes()
    yield trie.counts.astype(f"<u{count_bytes}", copy=False).tobytes()


def read_trie(path: Path, alphabet_size: int | None) -> SymbolTrie:
    """Read a file, without a check of its trie.

    Raises:
        InputError: it cannot be read, is no model, has another alphabet, or is truncated or altered.
    """
    try:
        if not path.is_file():
            raise InputError(f"{str(path)!r} is not a file; name a symbol model, or {_ADVICE}")
        with path.open("rb") as file:
            return _read(file, repr(str(path)), alphabet_size)
    except OSError as error:
        raise InputError(f"the symbol model {str(path)!r} cannot be read: {error.strerror or error}") from None


def _read(file: BinaryIO, name: str, alphabet_size: int | None) -> SymbolTrie:
    head = file.read(_HEADER.size + _DIGEST_BYTES)
    header = _parse(head, name)
    expected, size = len(head) + sum(header.lengths), os.fstat(file.fileno()).st_size
    if size != expected:
        change = "was cut off" if size < expected else "goes on after its end"
        raise InputError(f"the symbol model {name} {change}: it has {size:,} bytes, and says {expected:,}")
    if alphabet_size is not None and header.alphabet_size != alphabet_size:
        raise InputError(f"{name} is a model of {header.alphabet_size:,} symbols, not of {alphabet_size:,}")
    arrays = [file.read(length) for length in header.lengths]
    digest = hashlib.sha256(head[: _HEADER.size])
    for array in arrays:
        digest.update(array)
    if digest.digest() != head[_HEADER.size :]:
        raise InputError(f"the symbol model {name} was altered: its digest is not that of its content; {_ADVICE}")
    return _trie(header, *arrays)


def _parse(head: bytes, name: str) -> _Header:
    if head[: len(_MAGIC)] != _MAGIC:
        raise InputError(f"{name} is not a symbol model: its first bytes differ; {_ADVICE}")
    if len(head) < _HEADER.size + _DIGEST_BYTES:
        raise InputError(f"the symbol model {name} was cut off: it has {len(head):,} bytes, and no whole header")
    _, version, alphabet_size, order, count_bytes, *sizes = _HEADER.unpack_from(head)
    if version != _VERSION:
        raise InputError(f"the symbol model {name} is of version {version}; version {_VERSION} can be read")
    possible = 1 <= order <= HIGHEST_ORDER and 1 <= alphabet_size <= LARGEST_ALPHABET and count_bytes in (4, 8)
    if not possible or any(sizes[order:]) or not sizes[0] or sum(sizes) > _MOST_ENTRIES:
        raise InputError(f"the symbol model {name} was altered: there is no such header; {_ADVICE}")
    return _Header(alphabet_size, count_bytes, tuple(sizes[:order]))


def _trie(header: _Header, symbols: bytes, children: bytes, counts: bytes) -> SymbolTrie:
    return SymbolTrie(
        header.alphabet_size,
        np.array(header.level_sizes, np.uint64),
        np.frombuffer(symbols, "<u4").astype(np.uint32, copy=False),
        np.frombuffer(counts, f"<u{header.count_bytes}").astype(np.uint64),
        np.frombuffer(children, "<u4").astype(np.uint32, copy=False),
    )

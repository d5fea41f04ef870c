"""Files of symbol models: a header that says how long everything is, the counts, and a digest of both.

All numbers are little-endian: magic, version, alphabet, order, bytes of a count, entries of five levels (0 above the
order), SHA-256 of all but itself; then the symbols, the children and the counts of the trie
(csrc/core/symbols/symbol_trie.hpp).
"""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyharness.types import InputError

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
    symbols: NDArray[np.uint32]  # [entries], the last one of each n-gram
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
        """Bytes of symbols, children and counts."""
        return 4 * self.entries, 4 * (self.entries - self.level_sizes[-1]), self.count_bytes * self.entries


def parts(trie: SymbolTrie) -> Iterator[bytes]:
    """The content of a file, piece by piece."""
    header, *arrays = _digested(trie)
    yield header
    yield digest_of(trie)
    yield from arrays


def digest_of(trie: SymbolTrie) -> bytes:
    """SHA-256 of a model: header and counts."""
    digest = hashlib.sha256()
    for part in _digested(trie):
        digest.update(part)
    return digest.digest()


def _digested(trie: SymbolTrie) -> Iterator[bytes]:
    count_bytes = 4 if int(trie.counts.max()) < 1 << 32 else 8
    order = len(trie.level_sizes)
    sizes = [*trie.level_sizes.tolist(), *[0] * (HIGHEST_ORDER - order)]
    yield _HEADER.pack(_MAGIC, _VERSION, trie.alphabet_size, order, count_bytes, *sizes)
    yield trie.symbols.astype("<u4", copy=False).tobytes()
    yield trie.children.astype("<u4", copy=False).tobytes()
    yield trie.counts.astype(f"<u{count_bytes}", copy=False).tobytes()


def read(path: Path, alphabet_size: int | None) -> SymbolTrie:
    """Read a file; what its trie says is not looked at.

    Raises:
        InputError: it cannot be read, is no model, of another alphabet, cut off or altered.
    """
    try:
        if not path.is_file():
            raise InputError(f"{str(path)!r} is no file; name a symbol model, or {_ADVICE}")
        with path.open("rb") as file:
            return _read(file, repr(str(path)), alphabet_size)
    except OSError as error:
        raise InputError(f"the symbol model {str(path)!r} cannot be read: {error.strerror or error}") from None


def _read(file: BinaryIO, name: str, alphabet_size: int | None) -> SymbolTrie:
    head = file.read(_HEADER.size + _DIGEST_BYTES)
    header = _parsed(head, name)
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


def _parsed(head: bytes, name: str) -> _Header:
    if head[: len(_MAGIC)] != _MAGIC:
        raise InputError(f"{name} is no symbol model: it begins otherwise; {_ADVICE}")
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

"""Digests of ids: whether two passes over one text gave the same ids, and the first document and block that differ.

The ids of a document form blocks of 64. The digest of a block is the sum of its ids, each times the factor of its
place, modulo 2**32 (multilinear hashing: Lemire and Kaser, arXiv 1202.4961). Factors are odd and differ modulo 128. So
one changed id always changes the digest, and so do two swapped ids below 2**26. Other changes go unseen once in 2**32:
this detects accidents, not forgeries. A document is identified by the digest of its text, so order, batches and threads
change nothing.

The digest of all ids is a sum over all documents. To locate differences, the first documents are kept, in 16 MiB at
most: their lengths, and of each block the digest and the bytes of its text. Texts that are not independent evidence
(pieces of one document, documents of one work) share a *unit*, if the pass names it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pyharness import kernels
from pyharness.metrics.counting.state import Facts
from pyharness.metrics.counting.state_arrays import compact, taken
from pyharness.types import Digest, InputError, State, Tokens, offsets_of

BLOCK = 64  # ids
MOST_BYTES = 16 << 20  # of kept documents and blocks
DIGITS = 16  # of a digest of all ids, hexadecimal
_DOCUMENT_BYTES, _UNIT_BYTES, _BLOCK_BYTES = 12, 8, 8
_MODULUS = 1 << 64
_KEY = np.dtype("<u8")

Words = NDArray[np.uint64]
Digests: TypeAlias = Sequence[Digest] | NDArray[np.uint8]  # [documents], or [documents, 16]


@dataclass(frozen=True, slots=True)
class Kept:
    """Kept facts of the first documents, in their order."""

    keys: Words  # [documents], of their texts
    lengths: NDArray[np.uint32]  # [documents], in ids
    blocks: NDArray[np.uint32]  # [blocks], of one document after another
    bytes: NDArray[np.uint32] | None = None  # [blocks], of text; None if token_bytes is None
    units: Words | None = None  # [documents], the key of the text that each is a part of, or its own; None if unknown

    @property
    def counts(self) -> NDArray[np.int64]:
        """Number of blocks of every document."""
        return -(-self.lengths.astype(np.int64) // BLOCK)

    @property
    def size(self) -> int:
        """Largest size in bytes."""
        return self.document_bytes * len(self.keys) + _BLOCK_BYTES * len(self.blocks)

    @property
    def document_bytes(self) -> int:
        """Largest size of a document in bytes, without its blocks."""
        return _DOCUMENT_BYTES + (0 if self.units is None else _UNIT_BYTES)

    def of(self, documents: NDArray[np.int64]) -> Kept:
        """Return some documents, by their places, in this order."""
        at = self.places_of_blocks(documents)
        sizes = None if self.bytes is None else self.bytes[at]
        units = None if self.units is None else self.units[documents]
        return Kept(self.keys[documents], self.lengths[documents], self.blocks[at], sizes, units)

    def places_of_blocks(self, documents: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the places of the blocks of some documents, one document after another."""
        counts = self.counts[documents]
        steps = np.arange(int(counts.sum())) - np.repeat(offsets_of(counts)[:-1], counts)
        return np.asarray(np.repeat(offsets_of(self.counts)[documents], counts) + steps)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return arrays to keep; ``kept_of`` inverts them."""
        # A text that is its own unit gets 0, which costs next to nothing in a file.
        return {
            "ids keys": self.keys,
            "ids lengths": compact(self.lengths),
            "ids blocks": self.blocks,
            **({} if self.bytes is None else {"ids bytes": compact(self.bytes)}),
            **({} if self.units is None else {"ids units": compact(self.units ^ self.keys)}),
        }


def joined(parts: Sequence[Kept]) -> Kept:
    """Return the documents of several passes, one after another, with the facts that all of them have."""
    columns = [[getattr(part, one.name) for part in parts] for one in fields(Kept)]
    return Kept(*(None if any(one is None for one in column) else np.concatenate(column) for column in columns))  # type: ignore[arg-type]


@dataclass(slots=True)
class IdDigests:
    """The digests of one pass, or of a shard of it; ``merge`` appends the documents of the other."""

    token_bytes: NDArray[np.uint16] | None = None  # [ids], if known
    total: int = 0
    documents: int = 0
    size: int = 0  # bytes kept
    closed: bool = False  # a document did not fit: no later one is kept
    parts: list[Kept] = field(default_factory=list)

    @classmethod
    def of(cls, facts: Facts) -> IdDigests:
        """Return empty digests. They count no bytes if the vocabulary is hidden, or has a token of 64 KiB and more."""
        lengths = facts.lengths
        return cls(None if lengths is None or lengths.max(initial=0) >= 1 << 16 else lengths.astype(np.uint16))

    def add(self, digests: Digests, tokens: Tokens, units: Digests | None = None) -> None:
        """Add documents with the digests of their texts, and of the larger texts (units) they are parts of."""
        self.append(*self.batch(digests, tokens, units))

    def batch(self, digests: Digests, tokens: Tokens, units: Digests | None = None) -> tuple[int, Kept]:
        """Digest documents without adding them: the arguments of ``append``. Other threads may do so meanwhile."""
        keys = _words(digests)
        token_bytes = None if self.closed else self.token_bytes  # a closed pass keeps no bytes
        digested = kernels.id_digests(np.ascontiguousarray(tokens.ids), tokens.offsets, keys, token_bytes)
        lengths = (tokens.offsets[1:] - tokens.offsets[:-1]).astype(np.uint32)
        of_units = None if units is None else _words(units)
        return digested.total, Kept(keys, lengths, digested.blocks, digested.bytes, of_units)

    def append(self, total: int, part: Kept) -> None:
        """Add the next documents."""
        self.total = (self.total + total) % _MODULUS
        self.documents += len(part.keys)
        self._keep(part)

    def merge(self, other: IdDigests) -> None:
        """Add the digests of another pass."""
        self.total = (self.total + other.total) % _MODULUS
        self.documents += other.documents
        for part in other.parts:
            self._keep(part)
        self.closed |= other.closed

    def _keep(self, part: Kept) -> None:
        if self.closed or not len(part.keys):
            return
        if self.size + part.size > MOST_BYTES:
            self.closed = True
            sizes = np.cumsum(part.document_bytes + _BLOCK_BYTES * part.counts)
            part = part.of(np.arange(int(np.searchsorted(sizes, MOST_BYTES - self.size, "right"))))
        self.size += part.size
        self.parts.append(part)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return arrays to keep with a record."""
        return {"ids digest": np.array([self.total, self.documents], np.uint64), **self._kept().arrays()}

    def _kept(self) -> Kept:
        none = np.zeros(0, np.uint32)
        return joined(self.parts or [Kept(none.astype(_KEY), none, none, None if self.token_bytes is None else none)])

    def of_sample(self, digests: NDArray[np.uint8], tokens: Tokens) -> Kept:
        """Return what would be kept of documents, from the digests of their texts, uint8 [documents, 16]."""
        keys = _words([digests.tobytes()])
        digested = kernels.id_digests(tokens.ids, tokens.offsets, keys, self.token_bytes)
        return Kept(keys, np.diff(tokens.offsets).astype(np.uint32), digested.blocks, digested.bytes)

    def part_arrays(self, known: Kept) -> dict[str, NDArray[Any]]:
        """Return the arrays from which ``restore`` goes on; of ``known`` documents they have the places alone."""
        kept = self._kept()
        mine, theirs, differing = _pairs(kept, known)
        places = np.zeros(len(kept.keys), np.int64)
        places[mine[~differing]] = theirs[~differing] + 1
        own = replace(kept.of(np.flatnonzero(places == 0)), units=None)
        more = {"ids places": compact(places), "ids closed": np.array([self.closed], np.uint8)}
        return {**self.arrays(), **own.arrays(), **more}

    def restore(self, arrays: State, known: Kept) -> None:
        """Fill empty digests from ``part_arrays``; raise ``InputError`` for arrays that contradict each other."""
        total, documents = taken(arrays, "ids digest", 2).tolist()
        units = {name: array for name, array in arrays.items() if name == "ids units"}
        own = kept_of({name: array for name, array in arrays.items() if name not in units})
        packed = taken(arrays, "ids places")
        if len(packed) * _DOCUMENT_BYTES > MOST_BYTES:  # before anything is made of them
            raise InputError("the digests of ids of a part are too many")
        places = packed.astype(np.int64)
        both, new = joined([own, known]), places == 0
        at = np.where(new, np.cumsum(new) - 1, places - 1 + len(own.keys))
        if int(new.sum()) != len(own.keys) or int(at.min(initial=0)) < 0 or int(at.max(initial=-1)) >= len(both.keys):
            raise InputError("the documents of the digests of ids of a part are not those of its sample")
        if both.document_bytes * len(at) + _BLOCK_BYTES * int(both.counts[at].sum()) > MOST_BYTES:
            raise InputError("the digests of ids of a part are too many")
        kept = kept_of({**both.of(at).arrays(), **units})
        if (kept.bytes is None) != (self.token_bytes is None) or kept.size > MOST_BYTES:
            raise InputError("the digests of ids of a part are of another vocabulary, or too many")
        self._keep(kept)
        self.total, self.documents, self.closed = total, documents, bool(taken(arrays, "ids closed", 1)[0])


def _words(digests: Digests) -> Words:
    """Return the first half of every digest."""
    data = digests.tobytes() if isinstance(digests, np.ndarray) else b"".join(digests)
    return np.frombuffer(data, _KEY)[::2].astype(np.uint64)


def details(arrays: State) -> dict[str, str]:
    """Return the digest of all ids as a record holds it; nothing for a state without one."""
    if "ids digest" not in arrays:
        return {}
    return {"ids": f"{int(taken(arrays, 'ids digest', 2)[0]):0{DIGITS}x}"}


def kept_of(arrays: State) -> Kept:
    """Invert ``IdDigests.arrays`` for the kept facts; raise ``InputError`` for arrays that contradict each other."""
    names = ("keys", "lengths", "blocks", *(("bytes",) if "ids bytes" in arrays else ()))  # older states have no bytes
    keys, *others = (taken(arrays, f"ids {name}") for name in names)
    if any(int(array.min(initial=0)) < 0 or int(array.max(initial=0)) >= 1 << 32 for array in others):
        raise InputError("a state's digests of ids are not of 32 bits")
    lengths, blocks, *sizes = (array.astype(np.uint32) for array in others)
    if len(keys) != len(lengths):
        raise InputError("the documents of a state's digests of ids are not of one size")
    keys, units = keys.astype(np.uint64), None
    if "ids units" in arrays:
        units = taken(arrays, "ids units", len(keys)).astype(np.uint64) ^ keys
    kept = Kept(keys, lengths, blocks, sizes[0] if sizes else None, units)
    if any(int(kept.counts.sum()) != len(array) for array in (blocks, *sizes)):
        raise InputError("the blocks of a state's digests of ids are not those of its documents")
    return kept


# ----------------------------------------------------------------------------------------------- differences


@dataclass(frozen=True, slots=True)
class IdDifference:
    """The first document whose ids differ, and the first block that differs."""

    document: int  # from 0, in the order of the first pass
    token: int  # from 0: the ids before it are equal
    last_token: int  # of the block: they differ there at the latest
    text: range | None  # bytes of the document in the block; None if neither side knows
    documents: int  # number of documents that differ
    compared: int


def first_difference(a: Kept, b: Kept) -> IdDifference | None:
    """Compare the documents that both keep; return None if all their ids are equal.

    Copies of a document are compared with the first of them: the same text has the same ids.
    """
    mine, theirs, differing = _pairs(a, b)
    if not differing.any():
        return None
    number = int(differing.argmax())
    sides = a.of(mine[[number]]), b.of(theirs[[number]])
    block, last = _first_block(*sides)
    return IdDifference(int(mine[number]), BLOCK * block, last, _text_of(sides, block), int(differing.sum()), len(mine))


def _pairs(a: Kept, b: Kept) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """Return places of the documents of ``a`` that ``b`` keeps too, their places there, and which of them differ."""
    order = np.argsort(b.keys, kind="stable")
    places = np.searchsorted(b.keys[order], a.keys)
    held = places < len(order)
    held[held] = b.keys[order[places[held]]] == a.keys[held]
    mine, theirs = np.flatnonzero(held), order[places[held]]
    differing = np.asarray(a.lengths[mine] != b.lengths[theirs])
    equal = np.flatnonzero(~differing)
    at_a, at_b = a.places_of_blocks(mine[equal]), b.places_of_blocks(theirs[equal])
    owners = np.repeat(equal, a.counts[mine[equal]])
    differing[owners[a.blocks[at_a] != b.blocks[at_b]]] = True
    return mine, theirs, differing


def _first_block(a: Kept, b: Kept) -> tuple[int, int]:
    """Return the first block in which two documents differ, and its last token on the longer side."""
    shorter = min(len(a.blocks), len(b.blocks))
    unequal = a.blocks[:shorter] != b.blocks[:shorter]
    ends = sorted((int(a.lengths[0]), int(b.lengths[0])))
    block = int(unequal.argmax()) if unequal.any() else ends[0] // BLOCK  # an id 0 at the end changes no digest
    return block, min(BLOCK * (block + 1), ends[1]) - 1


def _text_of(sides: Sequence[Kept], block: int) -> range | None:
    """Return the bytes of a block, on the side with more: the first different id begins in them or at their end."""
    sizes_by_side = [side.bytes.astype(np.int64) for side in sides if side.bytes is not None]
    if not sizes_by_side:
        return None
    start = int(sizes_by_side[0][:block].sum())
    return range(start, start + max(int(sizes[block : block + 1].sum()) for sizes in sizes_by_side))


# -------------------------------------------------------------------------------------------- lengths of documents


def paired_lengths(a: State, b: State) -> NDArray[np.int64]:
    """Return how many ids each unit has on both sides, int64 [2, units]: texts that are not independent are added up.

    Raises:
        InputError: a side does not keep all texts, or not their units; both read other texts.
    """
    first, second = (_whole(arrays) for arrays in (a, b))
    if not np.array_equal(np.sort(first.keys), np.sort(second.keys)):
        raise InputError("the texts whose lengths are kept are not the same on both sides")
    assert first.units is not None  # noqa: S101 -- it is whole
    units = np.unique(first.units, return_inverse=True)[1]
    order = np.argsort(second.keys, kind="stable")
    theirs = order[np.searchsorted(second.keys[order], first.keys)]  # for copies, the first: equal text has equal ids
    return np.array(
        [np.bincount(units, lengths).astype(np.int64) for lengths in (first.lengths, second.lengths[theirs])]
    )


def _whole(arrays: State) -> Kept:
    if "ids digest" not in arrays or "ids units" not in arrays:
        raise InputError("an older pyharness kept no lengths of documents: measure again")
    kept, read = kept_of(arrays), int(taken(arrays, "ids digest", 2)[1])
    if len(kept.keys) != read:
        raise InputError(f"only the first {len(kept.keys):,} of {read:,} texts have lengths on record")
    return kept

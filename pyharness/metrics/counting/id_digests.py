"""Digests of ids: whether two passes over one text gave the same ids, and the first document and block where not.

The ids of a document are taken in blocks of 64. The digest of a block is the sum of its ids, each times the factor of
its place, modulo 2**32 (multilinear hashing: Lemire and Kaser, arXiv 1202.4961). Factors are odd and differ modulo 128:
one id that is another changes the digest for sure, and so do two below 2**26 that change places; other changes go
unseen once in 2**32. That tells accidents apart, not forgeries. With 64 bits it would take twice the time. Documents go
by the digest of their text, so that their order, batches and threads change nothing.

The digest of all ids is a sum over all documents. Where they differ is kept of the first documents, in 16 MiB at most.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyharness.metrics.counting.state_arrays import compact, taken
from pyharness.types import Digest, InputError, State, Tokens, offsets_of

BLOCK = 64  # ids
MOST_BYTES = 16 << 20  # of what is kept of documents and blocks
DIGITS = 16  # of a digest of all ids, hexadecimal
_DOCUMENT_BYTES, _BLOCK_BYTES = 12, 4
_MODULUS = 1 << 64
_STEP = 0x9E3779B97F4A7C15  # of splitmix64

Words = NDArray[np.uint64]


def _mixed(values: Words) -> Words:
    """Finalizer of splitmix64: a permutation of 64-bit numbers that leaves no pattern."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(values ^ (values >> np.uint64(31)))


def _numbered(numbers: NDArray[Any]) -> Words:
    return np.asarray(numbers.astype(np.uint64) * np.uint64(_STEP))


_PLACES = np.arange(BLOCK)
_FACTORS = (_mixed(_numbered(_PLACES + 1)) >> np.uint64(39) << np.uint64(7)).astype(np.uint32) | np.uint32(1)
_FACTORS += (2 * _PLACES).astype(np.uint32)


@dataclass(frozen=True, slots=True)
class Kept:
    """What is kept of some documents, in their order."""

    keys: Words  # [documents], of their texts
    lengths: NDArray[np.uint32]  # [documents], in ids
    blocks: NDArray[np.uint32]  # [blocks], of one document after the other

    @property
    def counts(self) -> NDArray[np.int64]:
        """Blocks of every document."""
        return -(-self.lengths.astype(np.int64) // BLOCK)

    def first(self, documents: int) -> Kept:
        """Of no more than the first documents."""
        blocks = int(self.counts[:documents].sum())
        return Kept(self.keys[:documents], self.lengths[:documents], self.blocks[:blocks])


@dataclass(slots=True)
class IdDigests:
    """The digests of one pass, or of a shard of it; ``merge`` puts the documents of the other behind its own."""

    total: int = 0
    documents: int = 0
    size: int = 0  # bytes of what is kept
    closed: bool = False  # a document did not fit: no later one is kept
    parts: list[Kept] = field(default_factory=list)

    def add(self, digests: Sequence[Digest], tokens: Tokens) -> None:
        """Add documents with the digests of their texts."""
        lengths = np.diff(tokens.offsets)
        keys = np.frombuffer(b"".join(digests), "<u8")[::2].astype(np.uint64)
        counts = -(-lengths // BLOCK)
        within = np.arange(int(counts.sum())) - np.repeat(offsets_of(counts)[:-1], counts)  # number in its document
        blocks = _sums(tokens, lengths, counts, within)
        placed = _mixed(blocks.astype(np.uint64) | within.astype(np.uint64) << np.uint64(32))
        running = np.concatenate([np.zeros(1, np.uint64), np.cumsum(placed, dtype=np.uint64)])
        ends = np.cumsum(counts)
        of_ids = running[ends] - running[ends - counts]
        whole = _mixed(of_ids ^ _mixed(keys + _numbered(lengths)))
        self.total = (self.total + int(whole.sum(dtype=np.uint64))) % _MODULUS
        self.documents += len(tokens)
        self._keep(Kept(keys, lengths.astype(np.uint32), blocks))

    def merge(self, other: IdDigests) -> None:
        """Add what another pass met."""
        self.total = (self.total + other.total) % _MODULUS
        self.documents += other.documents
        for part in other.parts:
            self._keep(part)
        self.closed |= other.closed

    def _keep(self, part: Kept) -> None:
        if self.closed or not len(part.keys):
            return
        sizes = np.cumsum(_DOCUMENT_BYTES + _BLOCK_BYTES * part.counts)
        fitting = int(np.searchsorted(sizes, MOST_BYTES - self.size, "right"))
        self.closed = fitting < len(sizes)
        if fitting:
            self.size += int(sizes[fitting - 1])
            self.parts.append(part.first(fitting))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Arrays to keep beside a record."""
        empty = Kept(np.zeros(0, np.uint64), np.zeros(0, np.uint32), np.zeros(0, np.uint32))
        parts = self.parts or [empty]
        return {
            "ids digest": np.array([self.total, self.documents], np.uint64),
            "ids keys": np.concatenate([part.keys for part in parts]),
            "ids lengths": compact(np.concatenate([part.lengths for part in parts])),
            "ids blocks": np.concatenate([part.blocks for part in parts]),
        }


def _sums(
    tokens: Tokens, lengths: NDArray[np.int64], counts: NDArray[np.int64], within: NDArray[np.int64]
) -> NDArray[np.uint32]:
    """Digests of all blocks. Factors are copied document by document: several times faster than indexing them by id."""
    if not len(tokens.ids):
        return np.zeros(0, np.uint32)
    tiled = np.tile(_FACTORS, int(counts.max()))
    products = np.concatenate([tiled[:length] for length in lengths.tolist()])
    products *= tokens.ids
    starts = np.repeat(tokens.offsets[:-1], counts) + within * BLOCK
    return np.asarray(np.add.reduceat(products, starts, dtype=np.uint32))


def details(arrays: State) -> dict[str, str]:
    """The digest of all ids, as a record holds it; nothing of a state that has none."""
    if "ids digest" not in arrays:
        return {}
    return {"ids": f"{int(taken(arrays, 'ids digest', 2)[0]):0{DIGITS}x}"}


def kept_of(arrays: State) -> Kept:
    """Inverse of ``IdDigests.arrays``, of what is kept; raises ``InputError`` for arrays that contradict each other."""
    keys, lengths, blocks = (taken(arrays, f"ids {name}") for name in ("keys", "lengths", "blocks"))
    if len(keys) != len(lengths) or (lengths.astype(object) < 0).any() or int(lengths.max(initial=0)) >= 1 << 32:
        raise InputError("the documents of a state's digests of ids are not of one size")
    kept = Kept(keys.astype(np.uint64), lengths.astype(np.uint32), blocks.astype(np.uint32))
    if int(kept.counts.sum()) != len(blocks):
        raise InputError("the blocks of a state's digests of ids are not those of its documents")
    return kept


# ------------------------------------------------------------------------------------------ where two differ


@dataclass(frozen=True, slots=True)
class IdDifference:
    """The first document whose ids differ, and the block of ids in which they begin to."""

    document: int  # from 0, in the order of the first pass
    token: int  # from 0: the ids before it are equal
    last_token: int  # of the block: at the latest there they differ
    documents: int  # that differ
    compared: int


def first_difference(a: Kept, b: Kept) -> IdDifference | None:
    """Compare the documents that both keep; None where all of these have the same ids.

    Copies of a document are compared with the first of them: the same text has the same ids.
    """
    order = np.argsort(b.keys, kind="stable")
    places = np.searchsorted(b.keys[order], a.keys)
    held = places < len(order)
    held[held] = b.keys[order[places[held]]] == a.keys[held]
    mine = np.flatnonzero(held)
    theirs = order[places[held]]
    differing = _differing(a, mine, b, theirs)
    if not differing.any():
        return None
    number = int(differing.argmax())
    token, last = _first_block(a, int(mine[number]), b, int(theirs[number]))
    return IdDifference(int(mine[number]), token, last, int(differing.sum()), len(mine))


def _differing(a: Kept, mine: NDArray[Any], b: Kept, theirs: NDArray[Any]) -> NDArray[np.bool_]:
    """bool [pairs of documents]."""
    differing = np.asarray(a.lengths[mine] != b.lengths[theirs])
    equal = np.flatnonzero(~differing)
    counts = a.counts[mine[equal]]
    steps = np.arange(int(counts.sum())) - np.repeat(offsets_of(counts)[:-1], counts)
    at_a, at_b = (
        np.repeat(offsets_of(side.counts)[documents[equal]], counts) + steps
        for side, documents in ((a, mine), (b, theirs))
    )
    owners = np.repeat(equal, counts)
    differing[owners[a.blocks[at_a] != b.blocks[at_b]]] = True
    return differing


def _first_block(a: Kept, mine: int, b: Kept, theirs: int) -> tuple[int, int]:
    sides = [
        side.blocks[offsets_of(side.counts)[document] :][: side.counts[document]]
        for side, document in ((a, mine), (b, theirs))
    ]
    shorter = min(map(len, sides))
    unequal = sides[0][:shorter] != sides[1][:shorter]
    ends = sorted((int(a.lengths[mine]), int(b.lengths[theirs])))
    block = int(unequal.argmax()) if unequal.any() else ends[0] // BLOCK  # an id 0 at the end changes no digest
    return BLOCK * block, min(BLOCK * (block + 1), ends[1]) - 1

"""Texts as the integer states of their documents: encoded once, then added up to any sub-corpus that is drawn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pyharness import corpora, kernels
from pyharness.corpora.streaming import BATCH_SIZE, Read, batches
from pyharness.metrics import counters
from pyharness.metrics.counting.state import Batch, CorpusState, Facts
from pyharness.statistics.jackknife import GROUPS, group_of
from pyharness.types import Corpus, Tally, Tokenizer, Vocabulary, digest_of

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Drawn:
    """A sub-corpus: documents in the order of the draw, some of them more than once, and the group of every piece."""

    documents: Integers
    pieces: Integers  # of all of them, end to end
    groups: NDArray[np.uint8]  # of every one of ``pieces``


@dataclass(frozen=True, slots=True)
class Documents:
    """The documents of a corpus, as the pieces that are encoded. Document d has pieces ``starts[d]:starts[d + 1]``."""

    pieces: Sequence[Read]
    starts: Integers
    bytes: Integers  # of every document

    @classmethod
    def read(cls, corpus: Corpus, works: bool = False) -> Documents:
        """Read a corpus; repeated documents are left out, so that different documents differ in text.

        ``works`` takes the works that the corpus names for documents: all pieces of one together.
        """
        pieces_of: dict[bytes, list[Read]] = {}
        new = False
        for piece in corpora.read(corpus, Tally()):
            if piece.opens:
                new = works or piece.key not in pieces_of
            if new:
                pieces_of.setdefault(piece.key, []).append(piece)
        pieces = [piece for one in pieces_of.values() for piece in one]
        starts = np.cumsum([0, *map(len, pieces_of.values())])
        sizes = np.array([len(piece.text.encode()) for piece in pieces], np.int64)
        return cls(pieces, starts, np.add.reduceat(sizes, starts[:-1]))

    def __len__(self) -> int:
        return len(self.bytes)

    def whole(self) -> Drawn:
        """Every document once."""
        groups = np.array([group_of(piece.key) for piece in self.pieces], np.uint8)
        return Drawn(np.arange(len(self)), np.arange(len(self.pieces)), groups)

    def draw(self, size: int, generator: np.random.Generator, apart: bool = False) -> Drawn:
        """Draw documents, each as likely at every step, until their bytes are as near as can be to ``size`` mean ones.

        Every draw hashes its documents anew, with its own salt and their places in it: documents that are drawn twice
        stand for two of their kind. ``apart`` hashes pieces instead, as if they were documents.
        """
        documents = generator.integers(0, len(self), 8 * size)
        total = np.cumsum(self.bytes[documents])
        stop = int(np.argmin(np.abs(total - size * self.bytes.mean())))
        documents = documents[: stop + 1]
        lengths = np.diff(self.starts)[documents]
        within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        places = np.repeat(np.arange(len(documents)), lengths)
        salt = int(generator.integers(1 << 62))
        named = zip(places.tolist(), (within if apart else within * 0).tolist(), strict=True)
        groups = np.array([group_of(digest_of(f"{salt} {place} {piece}")) for place, piece in named], np.uint8)
        return Drawn(documents, np.repeat(self.starts[documents], lengths) + within, groups)


@dataclass(frozen=True, slots=True)
class DocumentStates:
    """What one tokenizer makes of every piece: counters int64 [pieces], and its ids with their counts.

    Ids are numbered anew, without nearly all that never occur. Those of piece p are ``ids[offsets[p]:offsets[p + 1]]``.
    """

    facts: Facts
    counters: Mapping[str, Integers]
    ids: Integers
    counts: Integers
    offsets: Integers

    @classmethod
    def of(cls, tokenizer: Tokenizer, documents: Documents) -> DocumentStates:
        """Encode everything once."""
        facts = Facts.of(tokenizer)
        parts = list(_encoded(tokenizer, facts, documents.pieces))
        ids = np.concatenate([part[0] for part in parts])
        used = np.union1d(ids, _one_of_each_kind(facts))
        lengths = np.concatenate([part[2] for part in parts])
        return cls(
            _narrowed(facts, used),
            {name: np.concatenate([part[3][name] for part in parts]) for name in counters()},
            np.searchsorted(used, ids).astype(np.int64),
            np.concatenate([part[1] for part in parts]),
            np.concatenate(([0], np.cumsum(lengths))),
        )

    def state(self, drawn: Drawn, apart: bool = False) -> CorpusState:
        """Add up a sub-corpus, without nearly all ids that it has not; ``apart``: every piece counts as a document."""
        lengths = np.diff(self.offsets)[drawn.pieces]
        first = np.repeat(self.offsets[drawn.pieces] - (np.cumsum(lengths) - lengths), lengths)
        at = first + np.arange(lengths.sum())
        ids = self.ids[at]
        met = np.zeros(len(self.facts.counted), np.bool_)
        met[ids] = met[_one_of_each_kind(self.facts)] = True
        state = CorpusState.empty(_narrowed(self.facts, np.flatnonzero(met)))
        for name, values in self.counters.items():
            sums = np.zeros(GROUPS, np.int64)
            np.add.at(sums, drawn.groups, values[drawn.pieces])
            state.add(name, sums)
        if apart:
            state.counters["documents"] = state.counters["pieces"]
        width = int(met.sum())
        where = np.repeat(drawn.groups.astype(np.int64), lengths) * width + (np.cumsum(met) - 1)[ids]
        # float64 counts exactly below 2**53, far above any text that is read here.
        sums = np.bincount(where, self.counts[at], GROUPS * width)
        state.histogram[:] = sums.reshape(GROUPS, width).astype(np.uint64)
        return state


def _encoded(
    tokenizer: Tokenizer, facts: Facts, pieces: Sequence[Read]
) -> Iterator[tuple[Integers, Integers, Integers, dict[str, Integers]]]:
    """Distinct ids of every piece, end to end, with their counts; how many each piece has; its counters."""
    for batch in batches(pieces, size=BATCH_SIZE, size_of=lambda piece: len(piece.text)):
        texts = [piece.text for piece in batch]
        tokens = tokenizer.encode_batch(texts)
        opens = np.array([piece.opens for piece in batch], np.bool_)
        nowhere = np.zeros(len(texts), np.uint8)
        lengths = np.diff(tokens.offsets)
        counted = Batch(texts, kernels.text_statistics(texts), tokens, lengths, nowhere, opens, facts)
        keys = np.repeat(np.arange(len(texts)), lengths) << 32 | tokens.ids.astype(np.int64)
        distinct, counts = np.unique(keys, return_counts=True)
        yield (
            distinct & 0xFFFFFFFF,
            counts.astype(np.int64),
            np.bincount(distinct >> 32, minlength=len(texts)),
            {name: np.asarray(counter.count(counted), np.int64) for name, counter in counters().items()},
        )


def _one_of_each_kind(facts: Facts) -> Integers:
    """Ids that tell a vocabulary with unknown or fallback tokens from one without, should none occur."""
    if facts.vocabulary is None:
        return np.zeros(0, np.int64)
    return np.unique(facts.vocabulary.kinds, return_index=True)[1].astype(np.int64)


def _narrowed(facts: Facts, used: Integers) -> Facts:
    """Facts about some ids alone; V stays what it is."""
    vocabulary = facts.vocabulary
    if vocabulary is not None:
        lengths = np.diff(vocabulary.offsets)[used]
        offsets = np.concatenate(([0], np.cumsum(lengths)))
        at = np.arange(offsets[-1]) + np.repeat(vocabulary.offsets[used] - offsets[:-1], lengths)
        vocabulary = Vocabulary(vocabulary.data[at], offsets, vocabulary.kinds[used])
    return Facts(facts.vocab_size, facts.counted[used], vocabulary, facts.lossy)

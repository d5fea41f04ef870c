"""A text as the distinct pieces of its documents, counted per group of the jackknife: as pieces, and in tokens.

Everything a study of trainings needs: leaving a group out is a subtraction, and a piece is encoded once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from pyharness import bpe, corpora
from pyharness.metrics.counting.state import CorpusState, Facts
from pyharness.statistics.jackknife import GROUPS, group_of
from pyharness.types import MergeModel, Tally, TokenKind, Vocabulary

HELD_OUT_OF = 10  # one document in ten is held out, by a byte of its digest that does not decide its group
BATCH = 1 << 10  # documents


@dataclass(frozen=True, slots=True)
class Documents:
    """Documents without repetitions, by part (``training``, ``held_out``) and group."""

    parts: dict[str, list[list[str]]] = field(
        default_factory=lambda: {part: [[] for _ in range(GROUPS)] for part in ("training", "held_out")}
    )
    repeated: list[int] = field(default_factory=lambda: [0, 0])  # documents and bytes left out

    @classmethod
    def read(cls, specifications: Iterable[str]) -> Documents:
        """Read corpora; a document that was met before is left out."""
        documents, met = cls(), set[bytes]()
        for specification in specifications:
            tally = Tally()
            for text in corpora.open_corpus(specification).documents(tally):
                digest = tally.add(text)
                if digest in met:
                    documents.repeated[0] += 1
                    documents.repeated[1] += len(text.encode())
                    continue
                met.add(digest)
                part = "held_out" if digest[1] % HELD_OUT_OF == 0 else "training"
                documents.parts[part][group_of(digest)].append(text)
        return documents

    def sizes(self, part: str) -> dict[str, NDArray[np.int64]]:
        """Documents and bytes of every group, int64 [GROUPS]."""
        groups = self.parts[part]
        return {
            "documents": np.array([len(texts) for texts in groups], np.int64),
            "bytes": np.array([sum(len(text.encode()) for text in texts) for texts in groups], np.int64),
        }


@dataclass(frozen=True, slots=True)
class GroupedPieces:
    """Distinct pieces of both parts. ``counts[part]`` is uint64 [GROUPS, pieces]."""

    pieces: bpe.WeightedPieces  # the weights of these are of no use
    counts: dict[str, NDArray[np.uint64]]

    @classmethod
    def of(cls, documents: Documents, pattern: str) -> GroupedPieces:
        """Split and count."""
        splitter = bpe.TextSplitter(pattern)
        number: dict[bytes, int] = {}
        counted = {
            part: [_numbered(_counted(splitter, texts), number) for texts in groups]
            for part, groups in documents.parts.items()
        }
        counts = {part: np.zeros((GROUPS, len(number)), np.uint64) for part in counted}
        for part, groups in counted.items():
            for group, (numbers, weights) in enumerate(groups):
                counts[part][group, numbers] = weights
        return cls(bpe.WeightedPieces.of_bytes(dict.fromkeys(number, 0)), counts)

    def training(self, without: int | None = None) -> bpe.WeightedPieces:
        """Pieces of the training part, weighted, of all groups or all but one."""
        pieces, weights = self.pieces, self.counts["training"].sum(axis=0)
        if without is not None:
            weights = weights - self.counts["training"][without]
        return bpe.WeightedPieces(pieces.symbols, pieces.offsets, weights, pieces.data, pieces.data_offsets)


def _counted(splitter: bpe.TextSplitter, texts: Sequence[str]) -> bpe.WeightedPieces:
    counter = bpe.PieceCounter(splitter)
    for start in range(0, len(texts), BATCH):
        counter.add(texts[start : start + BATCH])
    return counter.pieces()


def _numbered(pieces: bpe.WeightedPieces, number: dict[bytes, int]) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    """Numbers of some pieces, new ones among them, and their weights."""
    data = pieces.symbols.astype(np.uint8).tobytes()
    numbers = [number.setdefault(data[start:end], len(number)) for start, end in pairwise(pieces.offsets.tolist())]
    return np.array(numbers, np.int64), pieces.weights


@dataclass(frozen=True, slots=True)
class Encoded:
    """The pieces of a text in the tokens of one training: ids of piece p are ``ids[offsets[p]:offsets[p + 1]]``."""

    trained: bpe.TrainedBpe
    facts: Facts
    ids: NDArray[np.int64]
    lengths: NDArray[np.int64]

    @classmethod
    def of(cls, trained: bpe.TrainedBpe, pieces: bpe.WeightedPieces) -> Encoded:
        """Encode every distinct piece once; scaffold tokens are written as their parts (Eq. 6)."""
        base = trained.data.astype(np.uint32)
        everything = np.ones(len(trained), np.bool_)
        model = MergeModel(
            trained.data, trained.offsets, base, trained.offsets, everything, np.arange(len(trained)) < 256,
            rules=trained.rules,
        )  # fmt: skip
        merged = bpe.BpeEncoder(model).encode_batch(pieces.symbols, pieces.offsets)
        parts, starts = trained.demolition()
        sizes = np.diff(starts)[merged.ids]
        ends = np.concatenate(([0], np.cumsum(sizes)))
        within = np.arange(ends[-1]) - np.repeat(ends[:-1], sizes)
        ids = parts[np.repeat(starts[merged.ids], sizes) + within].astype(np.int64)
        kinds = np.where(trained.scaffold, TokenKind.ABSENT, TokenKind.NORMAL).astype(np.uint8)
        vocabulary = Vocabulary(trained.data, trained.offsets, kinds)
        facts = Facts(trained.vocab_size, vocabulary.counted, vocabulary, lossy=False)
        return cls(trained, facts, ids, np.diff(ends[merged.offsets]))

    def state(self, counts: NDArray[np.uint64], sizes: Mapping[str, NDArray[np.int64]]) -> CorpusState:
        """Histograms of a text whose groups have the pieces ``counts``: uint64 [GROUPS, pieces]."""
        state = CorpusState.empty(self.facts)
        for group in range(GROUPS):
            weights = np.repeat(counts[group], self.lengths)
            # float64 counts exactly below 2**53, far above any text that is read here.
            state.histogram[group] = np.bincount(self.ids, weights, len(self.facts.counted)).astype(np.uint64)
        if state.histogram[:, ~self.facts.counted].any():
            raise AssertionError("a scaffold token was written")
        state.counters |= dict(sizes) | {"tokens": state.histogram.sum(axis=1).astype(np.int64)}
        return state

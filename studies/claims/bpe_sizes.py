"""One training of byte-level BPE in all its sizes: the first V tokens are what a training to V tokens gives.

``trained`` learns from the documents of a text that are not held out; ``published`` is o200k_base, whose tokens were
learnt from far more text than there is here. Both are measured on the held-out documents.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from claims.texts import Text
from pyharness import bpe
from pyharness.statistics.jackknife import Groups

SMALLEST, LARGEST = 1 << 10, 1 << 18
PATTERN = "o200k"
PUBLISHED = "tokenizers/tiktoken/o200k_base.tiktoken"
BATCH = 1 << 10  # documents
LEAST_COUNT = 2  # of a pair that is merged


@dataclass(frozen=True, slots=True)
class Curve:
    """Bytes and tokens of every group by size: ``tokens`` int64 [sizes, GROUPS]."""

    name: str
    sizes: NDArray[np.int64]
    tokens: NDArray[np.int64]
    bytes: NDArray[np.int64]
    documents: list[int]

    def bytes_per_token(self, groups: Groups) -> NDArray[np.float64]:
        """float64 [sizes], of some groups."""
        return np.asarray(self.bytes[groups].sum() / self.tokens[:, groups].sum(axis=1), np.float64)


def first(trained: bpe.TrainedBpe, size: int) -> bpe.TrainedBpe:
    """The result of the same training with ``size`` tokens."""
    beyond = np.flatnonzero(trained.rules[:, 2] >= size)
    rules = int(beyond[0]) if len(beyond) else len(trained.rules)
    return replace(
        trained, data=trained.data[: trained.offsets[size]], offsets=trained.offsets[: size + 1],
        rules=trained.rules[:rules], counts=trained.counts[:rules], scaffold=trained.scaffold[:size],
    )  # fmt: skip


def learnt(text: Text, size: int = LARGEST) -> bpe.TrainedBpe:
    """Train on what is not held out."""
    counter = bpe.PieceCounter(bpe.TextSplitter(PATTERN))
    documents = text.learnt.documents
    for start in range(0, len(documents), BATCH):
        counter.add(documents[start : start + BATCH])
    return bpe.train(counter.pieces(), size, min_frequency=LEAST_COUNT)


def trained_curve(text: Text) -> Curve:
    """Of a tokenizer that is trained on the text, up to as many tokens as the text gives."""
    trained = learnt(text)
    sizes = [size for size in doublings() if size <= len(trained)]
    return _curve(text, "trained here", sizes, lambda size: bpe.model_of_training(first(trained, size), PATTERN))


def published_curve(text: Text) -> Curve | None:
    """Of o200k_base; None without the folder of data."""
    if not (data := os.environ.get("PYHARNESS_DATA")):
        return None
    lines = Path(data, PUBLISHED).read_bytes().splitlines(keepends=True)
    sizes = [size for size in doublings() if size <= len(lines)]
    return _curve(
        text, "o200k_base, first ids", sizes, lambda size: bpe.import_model(b"".join(lines[:size]), pattern=PATTERN)
    )


def doublings() -> list[int]:
    return [size for size in (SMALLEST << step for step in range(9)) if size <= LARGEST]


def _curve(text: Text, name: str, sizes: list[int], model: Callable[[int], bpe.BpeModel]) -> Curve:
    held_out = text.measured
    tokens = [held_out.by_group(tokens_of(model(size), held_out)) for size in sizes]
    return Curve(name, np.array(sizes, np.int64), np.array(tokens), held_out.by_group(held_out.sizes), held_out.counts)


def tokens_of(model: bpe.BpeModel, text: Text) -> NDArray[np.int64]:
    """Tokens of every document."""
    return np.diff(bpe.BpeTokenizer(model).encode_batch(text.documents).offsets)

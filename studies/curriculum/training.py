"""Steps on random windows of one text, as a vocabulary cuts it, and the groups that a network finds there."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curriculum.tiers import Tier
from curriculum.vocabulary import Grown
from pyharness import kernels
from pyharness.features.curriculum.groups import GroupCounter
from pyharness.types import InputError
from small_model import networks
from small_model.networks import Recipe

SCORED_AT_ONCE = 32  # windows
PUBLISHED_EPSILON = 0.3


@dataclass(frozen=True)
class Cut:
    """A text in the tokens of a vocabulary."""

    vocabulary: Grown
    text: str

    @cached_property
    def ids(self) -> NDArray[np.int64]:
        """All tokens, int64 [tokens]."""
        return self.vocabulary.encode_all([self.text]).astype(np.int64)

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """Characters of every token of the vocabulary."""
        return np.array([len(string) for string in self.vocabulary.strings])

    def windows(self, count: int, length: int, chance: np.random.Generator) -> NDArray[np.int64]:
        """Windows at random places, [count, length].

        Raises:
            InputError: the text is shorter than a window.
        """
        if len(self.ids) < length:
            raise InputError(f"the text has {len(self.ids):,} tokens, and a window {length:,}: give more text")
        starts = chance.integers(0, len(self.ids) - length + 1, count)
        return self.ids[starts[:, None] + np.arange(length)]


def train(
    network: Any, cut: Cut, tier: Tier, steps: int, chance: np.random.Generator, recipe: Recipe | None = None,
    watch: Callable[[int], None] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Take so many steps; returns what was read, and how long it took."""
    read = {"tokens": 0, "characters": 0}

    def batches() -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        for _ in range(steps):
            rows = cut.windows(tier.shape.batch, tier.shape.context + 1, chance)
            read["tokens"] += rows[:, 1:].size
            read["characters"] += int(cut.lengths[rows[:, 1:]].sum())
            yield rows[:, :-1], rows[:, 1:]

    start = time.perf_counter()
    networks.learn(network, batches(), steps, recipe or tier.recipe, watch)
    return {"steps": steps, **read, "seconds": round(time.perf_counter() - start, 2)}


def found_groups(
    network: Any, cut: Cut, tier: Tier, chance: np.random.Generator
) -> tuple[GroupCounter, dict[str, Any]]:
    """Groups in windows of the text, and what was seen there; entropies are means, in nats.

    The first token of a window, of which nothing is predicted, is left out, as in the released code.
    """
    found, published = GroupCounter(tier.epsilon, row_quantile=tier.row_quantile), GroupCounter(PUBLISHED_EPSILON)
    total, easy, count = 0.0, 0, 0
    rows = cut.windows(tier.sampled, tier.shape.context, chance)
    for ids, signal in _entropies(network, rows, tier.device):
        offsets = np.arange(0, signal.size + 1, signal.shape[1], dtype=np.int64)
        for counter in (found, published):
            counter.add(ids[:, 1:].astype(np.uint32).ravel(), signal.ravel(), offsets)
        total, easy, count = (
            total + float(signal.sum()),
            easy + int((signal < PUBLISHED_EPSILON).sum()),
            count + signal.size,
        )
    return found, {
        "groups": found.total, "distinct": found.distinct, "distinct_published": published.distinct,
        "entropy": total / count, "easy": easy / count,
    }  # fmt: skip


def _entropies(
    network: Any, rows: NDArray[np.int64], device: str
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64]]]:
    """Windows, and the entropies of the predictions of all their tokens but the first."""
    import torch

    network.eval()
    for start in range(0, len(rows), SCORED_AT_ONCE):
        part = torch.from_numpy(rows[start : start + SCORED_AT_ONCE]).to(device)
        with torch.no_grad():
            logits = network(input_ids=part, use_cache=False).logits[:, :-1].flatten(0, 1)
        entropy = kernels.entropy(logits, threads=1 if device == "cpu" else None).entropy
        yield rows[start : start + SCORED_AT_ONCE], entropy.reshape(len(part), -1).double().cpu().numpy()
    network.train()

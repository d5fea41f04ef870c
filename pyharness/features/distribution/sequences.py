"""Counts of token sequences: types in windows, successors of a token, characters that tokens cut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyharness import kernels
from pyharness.metrics.counting.state_arrays import compact, taken
from pyharness.tokenizers.segmenting import place_tokens
from pyharness.types import InputError, State, Tokens, Vocabulary, offsets_of

Integers = NDArray[np.int64]
WIDTHS = (2, 3, 4)  # bytes of a character of UTF-8 that can be cut
LEAST_SUCCESSORS = 3  # of a token, as TokEval counts
MOST_SUCCESSORS = 1 << 24  # different pairs in a state that is read


def window_types(tokens: Tokens, window: int) -> tuple[Integers, Integers]:
    """Count types in every window of ``window`` consecutive tokens of each text.

    A token counts in the windows that hold it and not its previous occurrence.

    Returns:
        The sum over windows of the types in them, and the number of windows: int64 [texts] each.

    >>> from pyharness.types import Tokens
    >>> [sums.tolist() for sums in window_types(Tokens.from_lists([[1, 1, 2], [5]]), 2)]
    [[3, 0], [2, 0]]
    """
    lengths = np.diff(tokens.offsets)
    text = np.repeat(np.arange(len(lengths)), lengths)
    place = np.arange(len(tokens.ids)) - tokens.offsets[:-1][text]
    order = np.lexsort((place, tokens.ids, text))
    same = (tokens.ids[order][1:] == tokens.ids[order][:-1]) & (text[order][1:] == text[order][:-1])
    previous = np.full(len(order), -1, np.int64)
    previous[order[1:][same]] = place[order[:-1][same]]
    last = lengths[text] - window  # where the last window starts
    first = np.maximum(np.maximum(previous, place - window) + 1, 0)
    held = np.maximum(np.minimum(place, last) - first + 1, 0)
    sums = np.zeros(len(lengths), np.int64)
    np.add.at(sums, text, held)
    return sums, np.maximum(lengths - window + 1, 0)


def cut_characters(tokens: Tokens, texts: Sequence[str], vocabulary: Vocabulary) -> tuple[Integers, Integers]:
    """Count characters by width in bytes, and those of them inside which a token ends.

    Returns:
        int64 [texts, WIDTHS] each; 0 for texts that their tokens do not spell.
    """
    documents = [text.encode() for text in texts]
    stops, leads = place_tokens(tokens, documents, vocabulary)
    bases = offsets_of(np.array([len(one) for one in documents], np.int64))
    data = np.frombuffer(b"".join(documents), np.uint8)
    text = np.repeat(np.arange(len(texts)), np.diff(tokens.offsets))
    inside = (leads[text] >= 0) & (stops > 0) & (stops < np.diff(bases)[text])
    ends = (bases[text] + stops)[inside]
    starts = np.flatnonzero((data & 0xC0) != 0x80)
    cut = np.unique(np.searchsorted(starts, ends[(data[ends] & 0xC0) == 0x80], "right") - 1)
    of_text = np.searchsorted(bases, starts, "right") - 1
    width = np.diff(starts, append=len(data))
    kept = leads[of_text] >= 0
    return _by_width(of_text[kept], width[kept], len(texts)), _by_width(of_text[cut], width[cut], len(texts))


def _by_width(text: Integers, width: Integers, texts: int) -> Integers:
    counts = np.zeros((texts, len(WIDTHS)), np.int64)
    for column, wanted in enumerate(WIDTHS):
        counts[:, column] = np.bincount(text[width == wanted], minlength=texts)
    return counts


@dataclass(frozen=True, slots=True)
class Successors:
    """How often each pair occurs, token by token: ``counts`` of the pairs, ``kinds`` of successors of each token."""

    counts: Integers  # [pairs], those of a token together
    kinds: Integers  # [tokens that have a successor]

    @classmethod
    def of(cls, tokens: Tokens, threads: int = 1) -> Successors:
        """Count the pairs of texts; none crosses a text."""
        pairs = kernels.pair_histogram(tokens.ids, tokens.offsets, threads=threads)
        order = np.argsort(pairs.left, kind="stable")
        _, kinds = np.unique(pairs.left[order], return_counts=True)
        return cls(pairs.count[order].astype(np.int64), kinds.astype(np.int64))

    def efficiency(self) -> float | None:
        """Return the mean of H / log2 of the kinds of successors, over tokens by their occurrences; None without one.

        Tokens with fewer than ``LEAST_SUCCESSORS`` occurrences do not count; one kind of successor counts as 0. Source:
        Poelman et al. 2025 (EMNLP), as TokEval computes it.
        """
        starts = np.cumsum(self.kinds) - self.kinds
        if not len(starts):
            return None
        counts = self.counts.astype(np.float64)
        totals = np.add.reduceat(counts, starts)
        entropy = np.log2(totals) - np.add.reduceat(counts * np.log2(counts), starts) / totals
        weights = np.where(totals >= LEAST_SUCCESSORS, totals, 0.0)
        largest = np.log2(np.maximum(self.kinds, 2))
        return float((weights * entropy / largest).sum() / weights.sum()) if weights.any() else None

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return arrays to keep with a record."""
        return {"successor counts": compact(self.counts), "successor kinds": compact(self.kinds)}

    @classmethod
    def of_arrays(cls, arrays: State) -> Successors:
        """Invert ``arrays``; raise ``InputError`` for arrays that contradict each other."""
        counts, kinds = (taken(arrays, f"successor {name}").astype(np.int64) for name in ("counts", "kinds"))
        few = len(counts) <= MOST_SUCCESSORS and len(kinds) <= len(counts)
        if not few or (counts < 1).any() or (kinds < 1).any() or int(kinds.sum()) != len(counts):
            raise InputError("counts of successors contradict each other")
        return cls(counts, kinds)

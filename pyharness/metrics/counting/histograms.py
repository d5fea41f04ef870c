"""Histograms of a text's tokens: by rank of their frequency, and by length. Integers, from the state of a pass.

Bins are the same for every tokenizer: ranks by octaves, 1, 2, 4, 8, 16, ...; lengths by half octaves, 0, 1, 2, 3, 4, 6,
8, 12, 16, ...
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyharness.metrics.counting.state import Counts
from pyharness.types import Histogram

RANKS, LENGTHS = "token_ranks", "token_lengths"  # the histograms, by name
TEXT, TYPES, VOCABULARY = "text", "types", "vocabulary"  # counts of tokens, distinct ids, vocabulary entries


def histograms(counts: Counts) -> dict[str, Histogram]:
    """Return the histograms of a text's tokens: none without tokens, and no lengths if the vocabulary is hidden."""
    if not counts.histogram.any():
        return {}
    lengths = by_length(counts)
    return {RANKS: by_rank(counts), **({} if lengths is None else {LENGTHS: lengths})}


def as_details(known: Mapping[str, Histogram]) -> dict[str, Any]:
    """Return histograms as the JSON values in the details of a case."""
    return {
        name: {"edges": list(one.edges), "counts": {what: list(values) for what, values in one.counts.items()}}
        for name, one in known.items()
    }


def by_rank(counts: Counts) -> Histogram:
    """Count tokens and types by rank: the commonest id has rank 1. The order of equal counts does not change the sums.

    ``text`` counts tokens, ``types`` their ids: as many as the bin has ranks, except in the last bin. There must be a
    token.
    """
    descending = np.sort(counts.histogram[counts.histogram > 0])[::-1]
    edges = _edges(1, len(descending), lambda edge: edge)
    starts = np.array(edges[:-1]) - 1
    types = np.minimum(np.array(edges[1:]) - 1, len(descending)) - starts
    return Histogram(edges, _integers({TEXT: np.add.reduceat(descending, starts), TYPES: types}))


def by_length(counts: Counts) -> Histogram | None:
    """Count tokens of the text and entries of the vocabulary by bytes; return None if the vocabulary is hidden.

    ``vocabulary`` counts the ids of V; ``text`` counts tokens of every kind.
    """
    lengths = counts.facts.lengths
    if lengths is None:
        return None
    edges = _edges(0, int(lengths.max(initial=0)), lambda edge: 1 << max(edge.bit_length() - 2, 0))
    bins = np.searchsorted(edges, lengths, side="right") - 1
    text = np.zeros(len(edges) - 1, np.uint64)
    np.add.at(text, bins, counts.histogram)
    vocabulary = np.bincount(bins[counts.facts.counted], minlength=len(text))
    return Histogram(edges, _integers({TEXT: text, VOCABULARY: vocabulary}))


def _edges(first: int, last: int, width: Callable[[int], int]) -> tuple[int, ...]:
    """Return edges of bins that hold ``first`` to ``last``; the width of each follows from its lower edge."""
    edges = [first]
    while (edge := edges[-1]) <= last:
        edges.append(edge + width(edge))
    return tuple(edges)


def _integers(counts: Mapping[str, NDArray[np.uint64] | NDArray[np.int64]]) -> dict[str, tuple[int, ...]]:
    return {name: tuple(values.tolist()) for name, values in counts.items()}

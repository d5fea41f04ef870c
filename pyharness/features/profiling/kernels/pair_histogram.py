"""Profile of ``kernels.pair_histogram``: counts of adjacent pairs of ids, of real or synthetic text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyharness import corpora, kernels, tokenizers
from pyharness.corpora.streaming import batches
from pyharness.features.profiling.arrays import SEED, array_library, on_device, on_host, placed, uniform_of
from pyharness.features.profiling.kernels.pair_peers import cuda_peers, numpy_peers, polars_peers
from pyharness.features.profiling.types import Axis, Floor, Peer, Problem, Profile, Task, TextSource
from pyharness.types import Ids, InputError, Offsets, Tally, Unsupported

EXCERPT = 100_000  # tokens, counted one by one in Python
BATCH = 1 << 24  # tokens drawn, or characters of text encoded, at a time
BYTES_PER_PAIR = 16  # left, right, and a 64-bit count
PHRASE = 8  # ids
PHRASES = 1 << 20  # different ones
# Zipf's law in Mandelbrot's flattened form, 1 / (rank + shift). These shifts make 0.20 and 0.08 of the pairs of 5 and
# 60 million tokens distinct (V = 50257). In real text (English, code, many languages; cl100k_base) it is 0.17 and 0.09.
# Of 5 million independent draws, which repeat no phrases, it is 0.51.
ID_SHIFT, PHRASE_SHIFT = 5.0, 300.0


SEGMENTS, WEIGHTS, HOST = "segments", "weights", "host"  # variants
DOCUMENT, PIECE = 500, 5  # mean tokens of synthetic segments: documents, and pieces with weights


def floor(problem: Problem) -> Floor:
    """Return the floor: read every token once; only the result gives the size of the histogram to write."""
    tokens = problem.shape[0]
    return Floor(4 * tokens, 0, 0, tokens)


def needs(problem: Problem) -> int:
    """Return the bytes of tokens and of two 64-bit keys per pair: for sorting, and the largest possible result.

    Drawing the tokens needs a batch of indices and draws, and a distribution over the ids with two intermediates.
    Weighted segments are drawn by twice as many numbers as there are.
    """
    tokens, vocabulary = problem.shape
    drawing = 3 * 8 * (min(BATCH, tokens) + vocabulary + (0 if problem.text else PHRASES))
    segments = {SEGMENTS: 2 * 8 * tokens // DOCUMENT, WEIGHTS: 4 * 8 * tokens // PIECE}.get(problem.variant, 0)
    return (4 + 2 * 8) * tokens + drawing + segments


@dataclass(frozen=True, slots=True)
class PairInput:
    """What is counted; offsets [segments + 1] and weights [segments] are the host's, or None."""

    tokens: Any
    offsets: Offsets | None = None
    weights: NDArray[np.int64] | None = None

    def first(self, tokens: int) -> PairInput:
        """Return the first tokens, of which the last segment may be a part."""
        if self.offsets is None:
            return PairInput(self.tokens[:tokens])
        tokens = min(tokens, len(self.tokens))
        whole = int(np.searchsorted(self.offsets, tokens, "left"))
        offsets = np.append(self.offsets[:whole], np.int64(tokens))
        return PairInput(self.tokens[:tokens], offsets, None if self.weights is None else self.weights[:whole])

    def pairs(self) -> int:
        """Return the number of pairs, each as often as its segment's weight."""
        if self.offsets is None:
            return len(self.tokens) - 1
        pairs = np.maximum(np.diff(self.offsets) - 1, 0)
        return int((pairs if self.weights is None else pairs * self.weights).sum())

    def segment_bytes(self) -> int:
        """Return the bytes of offsets and weights."""
        return sum(array.nbytes for array in (self.offsets, self.weights) if array is not None)


def prepare(problem: Problem) -> Task:
    """Draw or encode the tokens and name the contenders."""
    problem, given, data = _given(problem)
    on_cuda = problem.device == "cuda"
    where = "cuda" if problem.variant == HOST else None
    tokens, library = given.tokens, array_library(problem.device)
    offsets, weights = (
        None if column is None else on_device(column, library, problem.device)
        for column in (given.offsets, given.weights)
    )

    def count(part: PairInput) -> kernels.PairHistogram:
        return kernels.pair_histogram(
            part.tokens, offsets=part.offsets, weights=part.weights, threads=problem.threads, device=where
        )

    def check(result: kernels.PairHistogram) -> str | None:
        if (total := int(on_host(result.count).sum())) != given.pairs():
            return f"counts add up to {total}, not to the {given.pairs()} pairs there are"
        return _excerpt_differs(given.first(EXCERPT), count)

    if problem.variant == HOST:
        peers: tuple[Peer, ...] = ()
    elif on_cuda:
        peers = cuda_peers(tokens, problem.shape[1], offsets, weights)
    else:
        peers = () if problem.variant else (*numpy_peers(tokens), *polars_peers(tokens, problem.threads))
    return Task(
        problem,
        data,
        lambda: count(PairInput(tokens, offsets, weights)),
        check,
        peers,
        lambda result: replace(
            floor(problem), bytes=floor(problem).bytes + given.segment_bytes() + BYTES_PER_PAIR * len(result)
        ),
    )


def _given(problem: Problem) -> tuple[Problem, PairInput, str]:
    """Return the problem with its shape, what is counted, and a description of it."""
    library, text, variant = array_library(problem.device), problem.text, problem.variant
    if variant == HOST and (problem.device == "cpu" or library.__name__ == "torch"):
        raise Unsupported("tokens in host memory are a variant for CUDA, and need cupy there")
    if text is None:
        with placed(library, problem.device):
            tokens = phrases(problem.shape[0], problem.shape[1], library)
        data = f"synthetic, no text: phrases of {PHRASE} ids; ids and phrases recur by Zipf's law"
        offsets = synthetic_offsets(len(tokens), PIECE if variant == WEIGHTS else DOCUMENT)
    else:
        ids, offsets, vocabulary = encoded(text, problem.threads)
        tokens = on_device(ids, library, problem.device)
        problem = replace(problem, shape=(len(ids), vocabulary))
        data = f"{text.corpus} as {text.tokenizer} encodes it, documents end to end"
    if variant == HOST:
        return problem, PairInput(on_host(tokens)), f"{data}; in host memory"
    if not variant:
        return problem, PairInput(tokens), data
    data += f"; {len(offsets) - 1:,} segments"
    if variant == SEGMENTS:
        return problem, PairInput(tokens, offsets), data
    weights = np.random.default_rng(SEED).zipf(1.5, len(offsets) - 1).clip(max=1 << 20)
    return problem, PairInput(tokens, offsets, weights), f"{data} with weights by Zipf's law"


def synthetic_offsets(tokens: int, mean: int) -> Offsets:
    """Return int64 [segments + 1] of segments of 1 to ``2 * mean - 1`` tokens, the last one cut off."""
    lengths = np.random.default_rng(SEED).integers(1, 2 * mean, 2 * tokens // mean + 1)
    ends = np.cumsum(lengths)
    return np.concatenate([[0], ends[: np.searchsorted(ends, tokens)], [tokens]]).astype(np.int64)


def _excerpt_differs(part: PairInput, count: Callable[[PairInput], kernels.PairHistogram]) -> str | None:
    histogram, ids = count(part), on_host(part.tokens).tolist()
    columns = (on_host(column).tolist() for column in (histogram.left, histogram.right, histogram.count))
    ours = [((left, right), count) for left, right, count in zip(*columns, strict=True)]
    ends = [0, len(ids)] if part.offsets is None else part.offsets.tolist()
    weights = [1] * (len(ends) - 1) if part.weights is None else part.weights.tolist()
    counts: Counter[tuple[int, int]] = Counter()
    for (begin, end), weight in zip(pairwise(ends), weights, strict=True):
        for pair in pairwise(ids[begin:end]):
            counts[pair] += weight
    expected = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    if ours == expected:
        return None
    at = next(row for row, pair in enumerate([*expected, None]) if row >= len(ours) or ours[row] != pair)
    return f"row {at} of the first {len(ids):,} tokens differs from collections.Counter"


def phrases(tokens: int, vocabulary: int, library: Any = np) -> Any:
    """Draw uint32 [tokens] that repeat pairs about as often as text, by numpy, cupy or torch.

    Phrases are windows on one long row of ids. The ids of the row and the phrases both follow Zipf's law: frequent
    pairs are within frequent phrases, and rare ones are where two phrases meet.
    """
    uniform = uniform_of(library)
    row = _zipf(uniform, PHRASES + PHRASE, vocabulary, ID_SHIFT, library)
    # torch has hardly any operations for unsigned integers: it keeps the same bits as signed ones.
    drawn = library.empty(tokens, dtype=library.int32)
    for at in range(0, tokens, BATCH):
        part = drawn[at : at + BATCH]
        starts = _zipf(uniform, -(-len(part) // PHRASE), PHRASES, PHRASE_SHIFT, library)
        part[:] = row[starts[:, None] + library.arange(PHRASE)].reshape(-1)[: len(part)]
    return drawn.view(library.uint32)


def _zipf(uniform: Callable[[int], Any], count: int, size: int, shift: float, library: Any) -> Any:
    """Draw int64 [count] from 0..size - 1, rank k with a probability proportional to 1 / (k + shift)."""
    cumulative = (1.0 / (library.arange(size, dtype=library.float64) + shift)).cumsum(0)
    cumulative = cumulative / cumulative[-1]
    return library.searchsorted(cumulative, uniform(count), side="right")


def encoded(text: TextSource, threads: int) -> tuple[Ids, Offsets, int]:
    """Return the ids of a whole corpus, int64 [documents + 1] and the size of their vocabulary."""
    tokenizer = tokenizers.load(text.tokenizer)
    documents = corpora.open_corpus(text.corpus).documents(Tally())
    parts = [tokenizer.encode_batch(batch, threads) for batch in batches(documents, size=BATCH)]
    ids = np.concatenate([np.empty(0, np.uint32), *(part.ids for part in parts)])
    lengths = [np.diff(part.offsets) for part in parts]
    offsets = np.cumsum(np.concatenate([np.zeros(1, np.int64), *lengths]))
    if len(ids) < 2:
        raise InputError(f"corpus {text.corpus!r} has {len(ids)} tokens; a pair needs two")
    return ids, offsets, tokenizer.id_limit


PROFILES = (
    Profile(
        "pair_histogram",
        "counts of adjacent pairs of ids",
        axes=(Axis("TOKENS", least=2), Axis("V", most=1 << 32)),
        dtypes=("uint32",),
        default_dtypes=("uint32",),
        shapes={"cpu": ((5_000_000, 50257),), "cuda": ((100_000_000, 131072), (1_000_000_000, 131072))},
        floor=floor,
        needs=needs,
        prepare=prepare,
        peers=("numpy.unique", "polars", "unordered", "CUB", "cupy sort", "cupy.unique", "our sort"),
        reads_text=True,
        variants=(SEGMENTS, WEIGHTS, HOST),
    ),
)

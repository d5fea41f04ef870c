"""Profile of ``kernels.pair_histogram``: counts of adjacent pairs of ids, of real or synthetic text."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from pyharness import corpora, kernels, tokenizers
from pyharness.corpora.streaming import batches
from pyharness.features.profiling.arrays import SEED, array_library, on_host
from pyharness.features.profiling.kernels.pair_peers import cuda_peers, numpy_peers, polars_peers
from pyharness.features.profiling.types import Axis, Floor, Problem, Profile, Task, TextSource
from pyharness.types import Ids, InputError, Tally

EXCERPT = 100_000  # tokens, counted one by one in Python
BATCH = 1 << 24  # tokens drawn, or characters of text encoded, at a time
BYTES_PER_PAIR = 16  # left, right, and a 64-bit count
PHRASE = 8  # ids
PHRASES = 1 << 20  # different ones
# Zipf's law in Mandelbrot's flattened form, 1 / (rank + shift). These shifts make 0.20 and 0.08 of the pairs of 5 and
# 60 million tokens distinct (V = 50257). In real text (English, code, many languages; cl100k_base) it is 0.17 and 0.09.
# Of 5 million independent draws, which repeat no phrases, it is 0.51.
ID_SHIFT, PHRASE_SHIFT = 5.0, 300.0


def floor(problem: Problem) -> Floor:
    """Return the floor: read every token once; only the result gives the size of the histogram to write."""
    tokens = problem.shape[0]
    return Floor(4 * tokens, 0, 0, tokens)


def needs(problem: Problem) -> int:
    """Return the bytes of tokens and of two 64-bit keys per pair: for sorting, and the largest possible result.

    Drawing the tokens needs a batch of indices and draws, and a distribution over the ids with two intermediates.
    """
    tokens, vocabulary = problem.shape
    return (4 + 2 * 8) * tokens + 3 * 8 * (min(BATCH, tokens) + vocabulary + (0 if problem.text else PHRASES))


def prepare(problem: Problem) -> Task:
    """Draw or encode the tokens and name the contenders."""
    library, text = array_library(problem.device), problem.text
    if text is None:
        tokens = phrases(problem.shape[0], problem.shape[1], library)
        data = f"synthetic, no text: phrases of {PHRASE} ids; ids and phrases recur by Zipf's law"
    else:
        ids, vocabulary = encoded(text, problem.threads)
        tokens = library.asarray(ids)
        problem = replace(problem, shape=(len(ids), vocabulary))
        data = f"{text.corpus} as {text.tokenizer} encodes it, documents end to end"

    def check(result: kernels.PairHistogram) -> str | None:
        if (total := int(result.count.sum())) != len(tokens) - 1:
            return f"counts add up to {total}, not to the {len(tokens) - 1} pairs there are"
        return _excerpt_differs(tokens[:EXCERPT], problem.threads)

    on_cuda = problem.device == "cuda"
    return Task(
        problem,
        data,
        lambda: kernels.pair_histogram(tokens, threads=problem.threads),
        check,
        cuda_peers(tokens, problem.shape[1])
        if on_cuda
        else (*numpy_peers(tokens), *polars_peers(tokens, problem.threads)),
        lambda result: replace(floor(problem), bytes=floor(problem).bytes + BYTES_PER_PAIR * len(result)),
    )


def _excerpt_differs(tokens: Any, threads: int) -> str | None:
    histogram = kernels.pair_histogram(tokens, threads=threads)
    columns = (on_host(column).tolist() for column in (histogram.left, histogram.right, histogram.count))
    ours = [((left, right), count) for left, right, count in zip(*columns, strict=True)]
    counts = Counter(pairwise(on_host(tokens).tolist()))
    expected = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    if ours == expected:
        return None
    at = next(row for row, pair in enumerate([*expected, None]) if row >= len(ours) or ours[row] != pair)
    return f"row {at} of the first {len(tokens):,} tokens differs from collections.Counter"


def phrases(tokens: int, vocabulary: int, library: Any = np) -> Any:
    """Draw uint32 [tokens] that repeat pairs about as often as text, by numpy or cupy.

    Phrases are windows on one long row of ids. The ids of the row and the phrases both follow Zipf's law: frequent
    pairs are within frequent phrases, and rare ones are where two phrases meet.
    """
    generator = library.random.default_rng(SEED)
    row = _zipf(generator, PHRASES + PHRASE, vocabulary, ID_SHIFT, library).astype(library.uint32)
    drawn = library.empty(tokens, library.uint32)
    for at in range(0, tokens, BATCH):
        part = drawn[at : at + BATCH]
        starts = _zipf(generator, -(-len(part) // PHRASE), PHRASES, PHRASE_SHIFT, library)
        part[:] = row[starts[:, None] + library.arange(PHRASE)].reshape(-1)[: len(part)]
    return drawn


def _zipf(generator: Any, count: int, size: int, shift: float, library: Any) -> Any:
    """Draw int64 [count] from 0..size - 1, rank k with a probability proportional to 1 / (k + shift)."""
    cumulative = library.cumsum(1.0 / (library.arange(size) + shift))
    cumulative /= cumulative[-1]
    return library.searchsorted(cumulative, generator.random(count), side="right")


def encoded(text: TextSource, threads: int) -> tuple[Ids, int]:
    """Return the ids of a whole corpus and the size of their vocabulary."""
    tokenizer = tokenizers.load(text.tokenizer)
    documents = corpora.open_corpus(text.corpus).documents(Tally())
    parts = [tokenizer.encode_batch(batch, threads).ids for batch in batches(documents, size=BATCH)]
    ids = np.concatenate([np.empty(0, np.uint32), *parts])
    if len(ids) < 2:
        raise InputError(f"corpus {text.corpus!r} has {len(ids)} tokens; a pair needs two")
    return ids, tokenizer.id_limit


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
        peers=("numpy.unique", "polars", "cupy.unique", "CUB sort", "our sort"),
        reads_text=True,
    ),
)

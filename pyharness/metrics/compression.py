"""Compression: bytes and characters per token, and tokens per word."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from pyharness.kernels import TextColumn
from pyharness.metrics.counting.state import Batch, CorpusMetric, Counter, Counts
from pyharness.statistics import jackknife
from pyharness.statistics.jackknife import Undefined
from pyharness.types import Format, Measurement, Metric

# A macro average is a sum of floor(2^40 * bytes / tokens), kept as its lower 32 bits and the rest: integers merge
# exactly.
FIXED_POINT_BITS = 40
HALF = 32
LOWER = (1 << HALF) - 1


def _column(index: int) -> Callable[[Batch], NDArray[np.int64]]:
    return lambda batch: np.ascontiguousarray(batch.statistics[:, index])


def _fixed_point_halves(batch: Batch) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return floor(2^40 * bytes / tokens) per text, its upper bits and its lower 32; 0 for a text without tokens."""
    sizes = batch.statistics[:, TextColumn.BYTES]
    if sizes.max(initial=0) < 1 << (63 - FIXED_POINT_BITS):
        ratios = np.where(batch.lengths > 0, (sizes << FIXED_POINT_BITS) // np.maximum(batch.lengths, 1), 0)
        return ratios >> HALF, ratios & LOWER
    # A document of 8 MiB or more does not fit 64 bits: Python's integers do.
    pairs = zip(sizes.tolist(), batch.lengths.tolist(), strict=True)
    whole = [(size << FIXED_POINT_BITS) // length if length else 0 for size, length in pairs]
    return np.array([ratio >> HALF for ratio in whole], np.int64), np.array([r & LOWER for r in whole], np.int64)


def _need_tokens(counts: Counts) -> int:
    if counts["tokens"] == 0:
        raise Undefined("no tokens were produced")
    return counts["tokens"]


def bytes_per_token(counts: Counts) -> float:
    """Return B / N over all documents: bytes of the original text per token."""
    return counts["bytes"] / _need_tokens(counts)


def bytes_per_token_macro(counts: Counts) -> float:
    """Return the mean of B_d / N_d over texts with tokens: documents, or the pieces of cut ones."""
    _need_tokens(counts)
    scaled = (counts["ratio_high"] << HALF) + counts["ratio_low"]
    return scaled / (counts["pieces"] - counts["pieces_without_tokens"]) / float(1 << FIXED_POINT_BITS)


def chars_per_token(counts: Counts) -> float:
    """Return C / N over all documents."""
    return counts["characters"] / _need_tokens(counts)


def tokens_per_word(counts: Counts) -> float:
    """Return N / W: fertility; words are UAX #29 segments with a letter or number."""
    if 2 * counts["unsegmented"] > counts["letters"]:
        raise Undefined("the text is mostly in a script written without spaces, where UAX #29 does not find words")
    if counts["words"] == 0:
        raise Undefined("the text has no words")
    return _need_tokens(counts) / counts["words"]


def tokens_per_whitespace_word(counts: Counts) -> float:
    """Return N / W with the words of ``str.split()``: the definition of published figures."""
    if 2 * counts["unsegmented"] > counts["letters"]:
        raise Undefined("the text is mostly in a script written without spaces")
    if counts["whitespace_words"] == 0:
        raise Undefined("the text has no words")
    return _need_tokens(counts) / counts["whitespace_words"]


def normalized_sequence_length(
    mine: Sequence[int], theirs: Sequence[int], documents: Sequence[int], reference: str, sizes: Sequence[int]
) -> Measurement:
    """Return N / N of the reference on the same text, from both rows' tokens, uncut documents and bytes by group."""

    def of(groups: jackknife.Groups) -> float:
        total, base = (sum(compress(tokens, groups)) for tokens in (mine, theirs))
        if not base or not total:
            raise Undefined("no tokens were produced" if base else "the reference produced no tokens")
        return total / base

    return jackknife.estimate("normalized_sequence_length", documents, of, reference, sizes)


COUNTERS = (
    # Documents before any cut: intervals count these. Pieces are the texts that are encoded.
    Counter("documents", lambda batch: batch.opens.astype(np.int64)),
    Counter("pieces", lambda batch: np.ones(len(batch.texts), np.int64)),
    Counter("pieces_without_tokens", lambda batch: (batch.lengths == 0).astype(np.int64)),
    # These names are keys of state files: no member of TextColumn is ever renamed.
    *(Counter(column.name.lower(), _column(column)) for column in TextColumn),
    Counter("tokens", lambda batch: batch.lengths),
    Counter("ratio_high", lambda batch: _fixed_point_halves(batch)[0]),
    Counter("ratio_low", lambda batch: _fixed_point_halves(batch)[1]),
)

METRICS = (
    CorpusMetric(
        Metric(
            "bytes_per_token", "byte/token", "higher", "bytes of text per token, ratio of sums",
            primary=True, counts_tokens=True,
        ),
        bytes_per_token,
    ),
    CorpusMetric(
        Metric(
            "bytes_per_token_macro", "byte/token", "higher", "mean over documents (or their pieces) of bytes per token",
            counts_tokens=True,
        ),
        bytes_per_token_macro,
        of_documents=True,
    ),
    CorpusMetric(
        Metric(
            "chars_per_token", "character/token", "higher", "code points per token, ratio of sums", counts_tokens=True
        ),
        chars_per_token,
    ),
    CorpusMetric(
        Metric(
            "tokens_per_word", "token/word", "lower", "fertility: tokens per UAX #29 word",
            primary=True, counts_tokens=True,
        ),
        tokens_per_word,
    ),
    CorpusMetric(
        Metric(
            "tokens_per_whitespace_word", "token/word", "lower", "tokens per word of str.split()", counts_tokens=True
        ),
        tokens_per_whitespace_word,
    ),
)  # fmt: skip

REPORTED = (
    Metric("continued_word_share", "share", "lower", "words that tokens cut, as they stand in a sample of the text"),
    Metric(
        "normalized_sequence_length",
        "ratio",
        "lower",
        "tokens relative to the reference tokenizer's",
        format=Format("{:.3f}"),
    ),
)

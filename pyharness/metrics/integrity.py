"""Integrity: unknown tokens, byte fallback and split characters."""

from __future__ import annotations

from itertools import compress

import numpy as np
from numpy.typing import NDArray

from pyharness import kernels
from pyharness.metrics.counting.state import Batch, CorpusMetric, Counter, Counts
from pyharness.statistics.jackknife import Undefined
from pyharness.types import COUNT, Metric, TokenKind, Vocabulary


def unknown_rate(counts: Counts) -> float:
    """Return unknown-token occurrences / N."""
    unknown = counts.facts.by_kind.get(TokenKind.UNKNOWN)
    if counts["tokens"] == 0:
        raise Undefined("no tokens were produced")
    if unknown is None:
        if counts.facts.vocabulary is None:
            raise Undefined("this engine does not expose its vocabulary")
        return 0.0
    return int(counts.histogram[unknown].sum()) / counts["tokens"]


def byte_fallback_rate(counts: Counts) -> float:
    """Return tokens of the 256 byte-fallback pieces / N."""
    fallback = counts.facts.by_kind.get(TokenKind.BYTE_FALLBACK)
    if fallback is None and counts.facts.vocabulary is None:
        raise Undefined("this engine does not expose its vocabulary")
    if fallback is None:
        raise Undefined("no byte-fallback pieces: in byte-level BPE a byte is an ordinary token")
    if counts["tokens"] == 0:
        raise Undefined("no tokens were produced")
    return int(counts.histogram[fallback].sum()) / counts["tokens"]


def character_split_share(counts: Counts) -> float:
    """Return code points of the text whose bytes are in more than one token / C."""
    if counts.facts.vocabulary is None:
        raise Undefined("this engine does not expose the bytes of its tokens")
    if counts.facts.lossy:
        raise Undefined("a lossy tokenizer's tokens do not spell the text")
    if counts["characters"] == 0:
        raise Undefined("the text is empty")
    return counts["split_characters"] / counts["characters"]


def _split_characters(batch: Batch) -> NDArray[np.int64]:
    flags = batch.facts.utf8_flags
    if flags is None:
        return np.zeros(len(batch.texts), np.int64)
    return kernels.character_splits(batch.tokens.ids, batch.tokens.offsets, flags)


def invalid_utf8_vocabulary(vocabulary: Vocabulary) -> int:
    """Count the entries of V whose bytes are not valid UTF-8."""
    tokens = compress(vocabulary.strings(), vocabulary.counted.tolist())
    return sum(token.decode(errors="ignore").encode() != token for token in tokens)


COUNTERS = (Counter("split_characters", _split_characters),)

METRICS = (
    CorpusMetric(Metric("unknown_rate", "share", "lower", "unknown tokens per token"), unknown_rate),
    CorpusMetric(Metric("byte_fallback_rate", "share", "lower", "byte-fallback tokens per token"), byte_fallback_rate),
    CorpusMetric(
        Metric("character_split_share", "share", "lower", "code points torn between tokens"),
        character_split_share,
        "a few documents may have all of the torn characters: replicates held 26 to 78 %",
    ),
)

REPORTED = (
    Metric(
        "round_trip_share",
        "share",
        "higher",
        "documents that decode to the text, as the tokenizer's class allows",
        exact=True,
    ),
    Metric("exact_round_trip_share", "share", "higher", "documents that decode to the very same bytes", exact=True),
    Metric("checked_documents", "document", "none", "documents whose round trip was checked", format=COUNT),
    Metric("identical_documents", "document", "none", "documents whose ids another row confirms", format=COUNT),
    Metric(
        "mapped_documents",
        "document",
        "none",
        "documents with strings that an engine maps on purpose, whose ids are not compared",
        format=COUNT,
    ),
    Metric("idempotent_share", "share", "higher", "documents whose decoded text encodes to the same ids", exact=True),
    Metric("invalid_utf8_vocabulary", "share", "none", "vocabulary entries that are not valid UTF-8"),
)

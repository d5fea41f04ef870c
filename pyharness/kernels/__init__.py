"""Counts over corpora and entropies of logits: the Python interface of the native kernels.

Arrays where a kernel runs, and of a dtype that it reads, are passed without a copy.
"""

from pyharness.kernels.entropy import EntropyOutputs, entropy
from pyharness.kernels.entropy_states import entropy_finish, entropy_merge, entropy_states
from pyharness.kernels.linear_entropy import linear_entropy
from pyharness.kernels.pair_histogram import DigestedIds, PairHistogram, id_digests, pair_histogram, token_frequency
from pyharness.kernels.text import TextColumn, character_splits, segment_ends, text_statistics, utf8_flags

__all__ = [
    "DigestedIds", "EntropyOutputs", "PairHistogram", "TextColumn", "character_splits", "entropy", "entropy_finish",
    "entropy_merge", "entropy_states", "id_digests", "linear_entropy", "pair_histogram", "segment_ends",
    "text_statistics", "token_frequency", "utf8_flags",
]  # fmt: skip

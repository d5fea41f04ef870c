"""Counts over corpora and entropies of logits: the Python face of the native kernels.

Arrays go in and come out without a copy.
"""

from pyharness.kernels.entropy.entropy import entropy
from pyharness.kernels.entropy.linear_entropy import linear_entropy
from pyharness.kernels.entropy.outputs import EntropyOutputs
from pyharness.kernels.entropy.states import entropy_finish, entropy_merge, entropy_states
from pyharness.kernels.pairs.id_digests import DigestedIds, id_digests
from pyharness.kernels.pairs.pair_histogram import PairHistogram, pair_histogram
from pyharness.kernels.pairs.token_frequency import token_frequency
from pyharness.kernels.text.character_splits import character_splits, utf8_flags
from pyharness.kernels.text.segment_ends import segment_ends
from pyharness.kernels.text.text_statistics import TextColumn, text_statistics

__all__ = [
    "DigestedIds",
    "EntropyOutputs",
    "PairHistogram",
    "TextColumn",
    "character_splits",
    "entropy",
    "entropy_finish",
    "entropy_merge",
    "entropy_states",
    "id_digests",
    "linear_entropy",
    "pair_histogram",
    "segment_ends",
    "text_statistics",
    "token_frequency",
    "utf8_flags",
]

"""Counting work over whole corpora: the Python face of the native core. Arrays go in and come out without a copy."""

from pyharness.kernels.character_splits import character_splits, utf8_flags
from pyharness.kernels.entropy import entropy
from pyharness.kernels.entropy_outputs import EntropyOutputs
from pyharness.kernels.entropy_states import entropy_finish, entropy_merge, entropy_states
from pyharness.kernels.linear_entropy import linear_entropy
from pyharness.kernels.pair_histogram import PairHistogram, pair_histogram
from pyharness.kernels.text_statistics import TextColumn, text_statistics
from pyharness.kernels.token_frequency import token_frequency

__all__ = [
    "EntropyOutputs",
    "PairHistogram",
    "TextColumn",
    "character_splits",
    "entropy",
    "entropy_finish",
    "entropy_merge",
    "entropy_states",
    "linear_entropy",
    "pair_histogram",
    "text_statistics",
    "token_frequency",
    "utf8_flags",
]

"""Byte-pair encoding by the rules of a :class:`pyharness.types.MergeModel`: encoding, merge graph, reachability."""

from pyharness.bpe.encoder import Encoder
from pyharness.bpe.merge_graph import MergeGraph, merge_graph
from pyharness.bpe.self_tokenization import NEVER, SelfTokenization, Verdict, self_tokenization
from pyharness.bpe.split_patterns import SPLIT_PATTERNS, SplitPattern
from pyharness.bpe.splitter import Pieces, TextSplitter
from pyharness.bpe.trainer import ScaffoldEvent, TrainedBpe, WeightedPieces, train

__all__ = [
    "NEVER",
    "SPLIT_PATTERNS",
    "Encoder",
    "MergeGraph",
    "Pieces",
    "ScaffoldEvent",
    "SelfTokenization",
    "SplitPattern",
    "TextSplitter",
    "TrainedBpe",
    "Verdict",
    "WeightedPieces",
    "merge_graph",
    "self_tokenization",
    "train",
]

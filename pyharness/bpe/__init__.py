"""Byte-pair encoding: splitting of texts, training, encoding by the rules of a model, merge graph, reachability."""

from pyharness.bpe.encoder import Encoder
from pyharness.bpe.merge_graph import MergeGraph, merge_graph
from pyharness.bpe.piece_counter import PieceCounter
from pyharness.bpe.self_tokenization import NEVER, SelfTokenization, Verdict, self_tokenization
from pyharness.bpe.splitter import Pieces, TextSplitter
from pyharness.bpe.trainer import ScaffoldEvent, TrainedBpe, WeightedPieces, train
from pyharness.vocabularies.split_patterns import SPLIT_PATTERNS, SplitPattern

__all__ = [
    "NEVER",
    "SPLIT_PATTERNS",
    "Encoder",
    "MergeGraph",
    "PieceCounter",
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

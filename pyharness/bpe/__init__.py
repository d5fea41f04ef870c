"""Byte-pair encoding: splitting of texts, training, encoding by the rules of a model, merge graph, reachability."""

from pyharness.bpe.encoder import Encoder
from pyharness.bpe.exporting import export_model
from pyharness.bpe.importing import import_model
from pyharness.bpe.merge_graph import MergeGraph, merge_graph
from pyharness.bpe.model import BpeModel
from pyharness.bpe.model_file import load, save
from pyharness.bpe.piece_counter import PieceCounter
from pyharness.bpe.self_tokenization import NEVER, SelfTokenization, Verdict, self_tokenization
from pyharness.bpe.splitter import Pieces, TextSplitter
from pyharness.bpe.text_encoder import TextEncoder
from pyharness.bpe.tokenizer import BpeTokenizer
from pyharness.bpe.trained_model import model_of_training
from pyharness.bpe.trainer import ScaffoldEvent, TrainedBpe, WeightedPieces, train
from pyharness.vocabularies.split_patterns import SPLIT_PATTERNS, SplitPattern

__all__ = [
    "NEVER",
    "SPLIT_PATTERNS",
    "BpeModel",
    "BpeTokenizer",
    "Encoder",
    "MergeGraph",
    "PieceCounter",
    "Pieces",
    "ScaffoldEvent",
    "SelfTokenization",
    "SplitPattern",
    "TextEncoder",
    "TextSplitter",
    "TrainedBpe",
    "Verdict",
    "WeightedPieces",
    "export_model",
    "import_model",
    "load",
    "merge_graph",
    "model_of_training",
    "save",
    "self_tokenization",
    "train",
]

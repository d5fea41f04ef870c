"""Byte-pair encoding: splitting of texts, training, encoding by the rules of a model, merge graph, reachability."""

from pyharness.bpe.encoding.encoders import BpeEncoder, TextEncoder
from pyharness.bpe.encoding.tokenizer import BpeTokenizer
from pyharness.bpe.formats.exports import export_model
from pyharness.bpe.formats.imports import import_model
from pyharness.bpe.formats.own_file import load, save
from pyharness.bpe.model.model import BpeModel
from pyharness.bpe.model.reachability import NEVER, MergeGraph, ModelVerdict, merge_graph, self_tokenization
from pyharness.bpe.model.text_splitter import Pieces, TextSplitter
from pyharness.bpe.training.piece_counter import PieceCounter
from pyharness.bpe.training.trained_model import model_of_training
from pyharness.bpe.training.trainer import TrainedBpe, WeightedPieces, train
from pyharness.vocabularies.patterns.split_patterns import SPLIT_PATTERNS

__all__ = [
    "NEVER", "SPLIT_PATTERNS", "BpeEncoder", "BpeModel", "BpeTokenizer", "MergeGraph", "ModelVerdict", "PieceCounter",
    "Pieces", "TextEncoder", "TextSplitter", "TrainedBpe", "WeightedPieces", "export_model", "import_model", "load",
    "merge_graph", "model_of_training", "save", "self_tokenization", "train",
]  # fmt: skip

"""Byte-pair encoding by the rules of a :class:`pyharness.types.MergeModel`: encoding, merge graph, reachability."""

from pyharness.bpe.encoder import Encoder
from pyharness.bpe.merge_graph import MergeGraph, merge_graph
from pyharness.bpe.self_tokenization import NEVER, SelfTokenization, Verdict, self_tokenization

__all__ = ["NEVER", "Encoder", "MergeGraph", "SelfTokenization", "Verdict", "merge_graph", "self_tokenization"]

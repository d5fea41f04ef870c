"""Exact rank-order BPE: the lowest rank first, the leftmost position first."""

from __future__ import annotations

from pyharness import _core
from pyharness.types import Ids, MergeModel, Offsets, Tokens


class BpeEncoder:
    """Encodes pieces that are given as base symbols. No pre-tokenizer, no whole-piece shortcut, no cache.

    Building it makes the look-up table of the model; the model's arrays are kept and must not be changed meanwhile.
    A rule that occurs twice has the rank of its first row. In the ranks form symbols are byte strings; of ids with
    equal bytes a merge gives the one with the lowest rank.

    >>> trained = train(WeightedPieces.of_bytes({b"hug": 5, b"pug": 3}), 259)
    >>> encoder = BpeEncoder(model_of_training(trained, "gpt2").merges)
    >>> encoder.encode(np.array([*b"hugs"], np.uint32)).tolist()  # base symbols are bytes here
    [257, 115]

    Raises:
        ValueError: the model's arrays do not fit each other, or an id is out of range.
        TypeError: an array has another dtype.

    Source: docs/algorithms.md "Byte-pair encoding".
    """

    def __init__(self, model: MergeModel) -> None:
        self._encoder = _core.BpeEncoder(model)

    def encode(self, base: Ids) -> Ids:
        """Encode one piece: uint32 [symbols] -> uint32 [tokens]."""
        return self._encoder.encode(base)

    def encode_batch(self, base: Ids, base_offsets: Offsets, threads: int = 1) -> Tokens:
        """Encode pieces; piece ``d`` is ``base[base_offsets[d]:base_offsets[d + 1]]``."""
        return Tokens(*self._encoder.encode_batch(base, base_offsets, threads))

"""How often a model's tokens occur in a text, by its merges alone."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pyharness import _core
from pyharness.bpe.encoding.tokenizer import BpeTokenizer
from pyharness.bpe.model.model import BpeModel


class TokenCounter:
    """Counts the tokens of texts that come in batches, with the shortcut for whole pieces off.

    Special tokens that a text spells are one each. None is put around a text, as a post-processor does.

    >>> trained = train(WeightedPieces.of_bytes({b"hug": 5, b"pug": 3}), 259)
    >>> counter = TokenCounter(model_of_training(trained, "gpt2", special=["<|end|>"]))
    >>> counter.add(["hug", "pughug<|end|>"])
    >>> counter.counts[256:].tolist()
    [0, 2, 1, 1]
    """

    def __init__(self, model: BpeModel) -> None:
        self._tokenizer = BpeTokenizer(dataclasses.replace(model, whole_pieces=False))
        self.counts: NDArray[np.uint64] = np.zeros(model.id_limit, np.uint64)

    def add(self, texts: Sequence[str | bytes], threads: int = 1) -> None:
        """Count the tokens of some texts.

        Raises:
            InputError, ValueError, TypeError: as :meth:`BpeTokenizer.encode_batch`.
        """
        tokens = self._tokenizer.encode_batch(texts, threads, allowed_special="all")
        groups = np.zeros(len(tokens), np.uint8)
        _core.token_frequency(tokens.ids, tokens.offsets, groups, self.counts[np.newaxis])

"""How often a model's tokens occur in a text."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pyharness import _core
from pyharness.bpe.encoding.tokenizer import BpeTokenizer
from pyharness.bpe.model.model import BpeModel


class TokenCounter:
    """Counts the tokens of texts that come in batches, as the model encodes them.

    Special tokens that a text spells are one each. None is put around a text, as a post-processor does.
    ``whole_pieces`` says whether a piece that is a token is looked up before anything is merged; None: as the model
    has it.

    >>> trained = train(WeightedPieces.of_bytes({b"hug": 5, b"pug": 3}), 259)
    >>> counter = TokenCounter(model_of_training(trained, "gpt2", special=["<|end|>"]))
    >>> counter.add(["hug", "pughug<|end|>"])
    >>> counter.counts[256:].tolist()
    [0, 2, 1, 1]
    """

    def __init__(self, model: BpeModel, *, whole_pieces: bool | None = None) -> None:
        whole = model.whole_pieces if whole_pieces is None else whole_pieces
        self._tokenizer = BpeTokenizer(dataclasses.replace(model, whole_pieces=whole))
        self.counts: NDArray[np.uint64] = np.zeros(model.id_limit, np.uint64)

    def add(self, texts: Sequence[str | bytes], threads: int = 1) -> None:
        """Count the tokens of some texts.

        Raises:
            InputError, ValueError, TypeError: as :meth:`BpeTokenizer.encode_batch`.
        """
        tokens = self._tokenizer.encode_batch(texts, threads, allowed_special="all")
        groups = np.zeros(len(tokens), np.uint8)
        _core.token_frequency(tokens.ids, tokens.offsets, groups, self.counts[np.newaxis])

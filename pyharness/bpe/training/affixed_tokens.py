"""Tokens of a training whose symbols carry a prefix or a suffix: their text, and the symbols they are made of."""

from __future__ import annotations

import numpy as np

from pyharness.bpe.training.trainer import TrainedBpe
from pyharness.types import MergeModel, Vocabulary
from pyharness.vocabularies.files.merge_model import symbol_model


class AffixedTokens:
    """``bare``: base symbols without prefix and suffix. ``alphabet``: all base symbols as they are written.

    ``texts``: the text that each token stands for.
    """

    def __init__(self, trained: TrainedBpe) -> None:
        size = trained.alphabet_size
        bare = range(size) if trained.bare is None else trained.bare.tolist()
        self._trained = trained
        self._symbols = [[symbol] for symbol in range(size)]
        for left, right, result in trained.rules.tolist():
            if result == len(self._symbols):  # or else there is such a token already
                self._symbols.append(self._symbols[left] + self._symbols[right])
        self.bare = [trained[symbol] for symbol in np.unique(bare).tolist()]
        self.alphabet = {trained[symbol]: symbol for symbol in range(size)}
        self.texts = [b"".join(trained[bare[symbol]] for symbol in symbols) for symbols in self._symbols]

    def merge_model(self, vocabulary: Vocabulary) -> MergeModel:
        """Rules form. Strings have the prefix and not the suffix, as those of a tokenizer.json."""
        suffix = self._trained.suffix.encode()
        strings = [
            self._trained[token].removesuffix(suffix if self._is_last(symbols[-1]) else b"")
            for token, symbols in enumerate(self._symbols)
        ]
        more = len(vocabulary) - len(strings)
        strings += [vocabulary[token] for token in range(len(strings), len(vocabulary))]
        return symbol_model(strings, [*self._symbols, *([[]] * more)], vocabulary.kinds, rules=self._trained.rules)

    def _is_last(self, symbol: int) -> bool:
        return len(self._trained[symbol]) >= len(self.texts[symbol]) + len(self._trained.suffix.encode())

"""Tokens whose ids may be reused: the base must not emit them for any text of the corpus."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pyharness.bpe.encoding.tokenizer import BpeTokenizer
from pyharness.bpe.model.model import BpeModel
from pyharness.features.adaptation.bpe.placement import place
from pyharness.types import Ids, TokenKind


def reserved(model: BpeModel, pattern: str | None) -> dict[int, str]:
    """Return ids and contents of the added and unused tokens that match ``pattern`` and whose ids may be reused.

    Raises:
        InputError: the expression is invalid, or no token matches.
    """
    added, kinds = {token.id: token.content for token in model.added}, model.vocabulary.kinds
    tokens = [token for token in _free(model, pattern).tolist() if token in added or kinds[token] != TokenKind.ABSENT]
    return {token: added.get(token) or model.vocabulary[token].decode(errors="replace") for token in tokens}


def _free(model: BpeModel, pattern: str | None) -> Ids:
    if pattern is None:
        return np.empty(0, np.uint32)
    ids = place(model, model.id_limit, reuse=pattern).ids
    return ids[ids < model.id_limit]


class Emitted:
    """Check that finds ids to reuse among the base's ids of texts, special tokens included."""

    def __init__(self, model: BpeModel, pattern: str | None) -> None:
        """Find the ids.

        Raises:
            InputError: as :func:`reserved`.
        """
        self._model, self._pattern = model, pattern
        self._free = _free(model, pattern)
        self._tokenizer = BpeTokenizer(model) if len(self._free) else None

    def checked(self, add: Callable[[list[str], int], None]) -> Callable[[list[str], int], None]:
        """Wrap ``add`` so that it raises ``InputError`` for batches of texts in which one of the ids occurs."""
        tokenizer = self._tokenizer
        if tokenizer is None:
            return add

        def add_checked(texts: list[str], threads: int) -> None:
            ids = tokenizer.encode_batch(texts, threads, allowed_special="all").ids
            if np.isin(self._free, ids).any():
                place(self._model, self._model.id_limit, reuse=self._pattern, emitted=ids)  # raises, and names one
            add(texts, threads)

        return add_checked

"""Texts to ids for every kind of BPE model: characters, affixes, fallback, unknown symbols, dropout, longest match."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

import numpy as np

from pyharness import _core
from pyharness.bpe.analysis.unused_pieces import expansion_of_unused
from pyharness.bpe.encoding.model_encoder import Places
from pyharness.bpe.model.model import BpeModel
from pyharness.bpe.splitting.text_splitter import Pieces, TextSplitter
from pyharness.types import Ids, Tokens

Method: TypeAlias = Literal["merge", "longest_match"]


class SymbolEncoder:
    """Spells each piece in the symbols of a model and merges them.

    Several times slower than :class:`pyharness.bpe.TextEncoder`, whose ids it gives for what both can run.

    Args:
        model: of any kind. Its arrays are kept and must not be changed meanwhile.
        splitter: what splits the texts of :meth:`encode_batch`; ``None``: a text is one piece.
        method: ``merge`` or ``longest_match``, see :class:`pyharness.bpe.BpeTokenizer`.
        dropout: probability with which a candidate merge is discarded.
        seed: of the draws.

    Raises:
        ValueError: the model's arrays do not fit each other, or an id is out of range.

    Source: docs/algorithms.md "Byte-pair encoding" and "BPE-dropout".
    """

    def __init__(
        self,
        model: BpeModel,
        splitter: TextSplitter | None,
        *,
        method: Method = "merge",
        dropout: float = 0.0,
        seed: int = 0,
    ) -> None:
        self._splitter = None if splitter is None or splitter.rules == "none" else splitter
        self._dropout, self._seed = dropout, seed
        self._core = _core.SymbolEncoder(
            model.merges,
            characters=model.symbols == "characters",
            alphabet=list(model.alphabet.items()),
            prefix=model.prefix.encode(),
            suffix=model.suffix.encode(),
            fallback=np.array(model.fallback, np.int64).astype(np.uint32),  # -1 becomes 2**32 - 1
            unknown=model.unknown,
            fuse_unknown=model.fuse_unknown,
            whole_pieces=model.whole_pieces,
            longest_match=method == "longest_match",
            expansion=model.expansion or expansion_of_unused(model),
        )

    @property
    def shortcut(self) -> Callable[[str | bytes], Ids]:
        """The quickest function that encodes one text: uint32 [tokens]."""
        return self._encode

    def encode_batch(self, texts: Sequence[str | bytes], threads: int = 1, *, places: Places | None = None) -> Tokens:
        """Split texts and encode them; ``threads`` share the texts.

        Raises:
            InputError, ValueError, TypeError: as :meth:`pyharness.bpe.TextSplitter.split_batch`.
        """
        pieces = None if self._splitter is None else self._splitter.split_batch(texts, threads)
        return self._tokens(texts, pieces, threads, places)

    def encode_pieces(
        self, texts: Sequence[str | bytes], pieces: Pieces, threads: int = 1, *, places: Places | None = None
    ) -> Tokens:
        """Encode texts that were split elsewhere.

        Raises:
            ValueError: the pieces are not those of the texts; ``threads`` is out of range.
            TypeError: a text is neither ``str`` nor ``bytes``; an array has another dtype.
        """
        return self._tokens(texts, pieces, threads, places)

    def _encode(self, text: str | bytes) -> Ids:
        return self.encode_batch([text]).ids

    def _tokens(
        self, texts: Sequence[str | bytes], pieces: Pieces | None, threads: int, places: Places | None
    ) -> Tokens:
        edges = None if pieces is None else (pieces.ends, pieces.offsets)
        if not self._dropout:
            return Tokens(*self._core.encode_batch(texts, edges, threads))
        if places is None:
            places = Places(np.arange(len(texts), dtype=np.uint64), np.zeros(len(texts), np.uint64))
        drawn = self._dropout, self._seed, places.documents, places.positions
        return Tokens(*self._core.sample_batch(texts, edges, *drawn, threads))

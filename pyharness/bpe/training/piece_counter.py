"""Counts of the pieces of a corpus: the input of a BPE training."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from pyharness import _core
from pyharness.bpe.model.text_splitter import TextSplitter, native_errors
from pyharness.bpe.training.trainer import WeightedPieces
from pyharness.types import InputError


class PieceCounter:
    """Counter of the distinct pieces of texts that come in batches.

    Neither batches nor threads change the result. Memory grows with the distinct pieces, up to ``max_bytes``, never
    with the text.

    >>> counter = PieceCounter(TextSplitter("gpt2"))
    >>> counter.add(["a hug, a hug", " a pug"])
    >>> pieces = counter.pieces()
    >>> bytes(pieces.symbols.tolist()), pieces.weights.tolist()  # a, hug, a comma, a with its space, pug
    (b'a hug, a pug', [1, 2, 1, 2, 1])

    Args:
        splitter: how texts are cut; the pieces are counted as UTF-8 bytes.
        max_bytes: limit of the memory of the counts, beyond which counting is refused.

    Raises:
        InputError: ``max_bytes`` is below 1.
    """

    def __init__(self, splitter: TextSplitter, max_bytes: int = 4 << 30) -> None:
        if max_bytes < 1:
            raise InputError(f"max_bytes is {max_bytes}; it must be at least 1")
        self._splitter, self._max_bytes = splitter, max_bytes
        self._native = None if splitter.native is None else _core.PieceCounter(splitter.native, max_bytes)
        self._counts: Counter[bytes] = Counter()  # for an expression that runs in `regex`
        self._counted_bytes = 0

    def add(self, texts: Sequence[str | bytes], threads: int = 1) -> None:
        """Count the pieces of some texts.

        Raises:
            InputError: the distinct pieces take more than ``max_bytes``, after which a new counter is needed; or as
                :meth:`TextSplitter.split_batch`.
            ValueError: a text has lone surrogates; ``threads`` is out of range.
            TypeError: a text is neither ``str`` nor ``bytes``.
        """
        if self._native is None:
            self._add_slowly(texts, threads)
            return
        with native_errors():
            self._native.add(texts, threads)

    def _add_slowly(self, texts: Sequence[str | bytes], threads: int) -> None:
        self._check_memory()
        pieces = self._splitter.split_batch(texts, threads)
        for index, text in enumerate(texts):
            data = text.encode() if isinstance(text, str) else text
            for start, end in pairwise([0, *pieces.of(index).tolist()]):
                self._counts[piece := data[start:end]] += 1
                if self._counts[piece] == 1:
                    self._counted_bytes += len(piece) + 100  # about the size of a bytes object, an int and their entry
                    self._check_memory()

    def _check_memory(self) -> None:
        if self._counted_bytes > self._max_bytes:
            raise InputError(
                f"the distinct pieces take more than {self._max_bytes} bytes: train on less text, or on a pattern with "
                "shorter pieces"
            )

    def pieces(self) -> WeightedPieces:
        """Return the counted pieces over the 256 bytes, in the order of first occurrence.

        Raises:
            ValueError: counting has failed before.
        """
        if self._native is None:
            self._check_memory()
            return WeightedPieces.of_bytes(self._counts)
        data, offsets, counts = self._native.pieces()
        alphabet = np.arange(257, dtype=np.int64)
        return WeightedPieces(data.astype(np.uint32), offsets, counts, alphabet[:256].astype(np.uint8), alphabet)

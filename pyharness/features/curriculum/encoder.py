"""The encoder of the vocabulary curriculum, over symbols."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pyharness import _core
from pyharness.types import Ids, InputError, Offsets, Tokens, offsets_of


class FixpointEncoder:
    """Joins the neighbours of a text while their strings join to a string of the vocabulary.

    From left to right, a token takes in what follows, one token at a time, while everything in between is a string of
    the vocabulary, too; then the scan goes on from the token before it. In what is left no two neighbours join. That is
    neither the longest match nor BPE. Time grows with the text, memory with the bytes of all strings.

    Source: docs/algorithms.md "Vocabulary curriculum".

    Args:
        strings: id -> bytes, none empty, all different.
    """

    def __init__(self, strings: Sequence[bytes]) -> None:
        data = np.frombuffer(b"".join(strings), np.uint8)
        self._native = _core.FixpointEncoder(data, offsets_of([len(string) for string in strings]))

    def encode(self, symbols: NDArray[np.uint8] | Ids, offsets: Offsets, threads: int = 1) -> Tokens:
        """Encode documents; the result does not depend on threads, nor on what else is in the batch.

        Args:
            symbols: uint8 or uint32 [symbols], ids of strings, all documents end to end. Other ids join with nothing.
            offsets: int64 [documents + 1].
            threads: 1..1024.

        Raises:
            InputError: offsets do not fit.
            TypeError: an array has another dtype.
        """
        try:
            return Tokens(*self._native.encode(symbols, offsets, threads))
        except ValueError as error:
            raise InputError(str(error)) from None

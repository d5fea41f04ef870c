"""Construction of ``MergeModel`` tables: the rules of a BPE tokenizer in its own symbols."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from pyharness.types import MergeModel, TokenKind, Vocabulary, offsets_of


def byte_level_model(
    vocabulary: Vocabulary,
    bytes_to_id: NDArray[np.uint32],
    *,
    rules: NDArray[np.uint32] | None = None,
    ranks: NDArray[np.uint32] | None = None,
) -> MergeModel:
    """Build a model whose strings are the tokens' bytes, each byte one base symbol, by one table look-up.

    A byte without a token must not occur in a token. (Files of 2022 lack the 13 bytes that never occur in UTF-8.)
    """
    lengths = np.diff(vocabulary.offsets)
    return MergeModel(
        data=vocabulary.data,
        offsets=vocabulary.offsets,
        base=bytes_to_id[vocabulary.data],
        base_offsets=vocabulary.offsets,
        tested=(vocabulary.kinds == TokenKind.NORMAL) & (lengths > 0),
        atomic=np.isin(np.arange(len(vocabulary), dtype=np.uint32), bytes_to_id),
        rules=rules,
        ranks=ranks,
    )


def symbol_model(
    strings: Sequence[bytes],
    base: Sequence[Sequence[int]],
    kinds: NDArray[np.uint8],
    *,
    rules: NDArray[np.uint32] | None = None,
    ranks: NDArray[np.uint32] | None = None,
) -> MergeModel:
    """Build a model from given strings and base symbols per token (characters, characters with a suffix)."""
    lengths = np.array([len(string) for string in strings], np.int64)
    counts = np.array([len(symbols) for symbols in base], np.int64)
    flat = np.fromiter((symbol for symbols in base for symbol in symbols), np.uint32, int(counts.sum()))
    atomic = np.zeros(len(base), np.bool_)
    atomic[flat] = True  # the symbols that tokens start from need no rule
    return MergeModel(
        data=np.frombuffer(b"".join(strings), np.uint8),
        offsets=offsets_of(lengths),
        base=flat,
        base_offsets=offsets_of(counts),
        tested=(kinds == TokenKind.NORMAL) & (lengths > 0),
        atomic=atomic,
        rules=rules,
        ranks=ranks,
    )


def character_symbols(
    symbol: Callable[[str], int | None], fallback: Sequence[int], unknown: int
) -> Callable[[Iterable[str]], list[int]]:
    """Return the function from a piece to its base symbols, one per character (with its affixes, if any).

    A character that is no symbol becomes the fallback pieces of its bytes (-1: none), or the unknown token.
    """

    def symbols(piece: Iterable[str]) -> list[int]:
        ids: list[int] = []
        for character in piece:
            token = symbol(character)
            pieces = [fallback[byte] for byte in character.encode()] if fallback and token is None else [-1]
            if token is not None:
                ids.append(token)
            elif -1 in pieces:
                ids.append(unknown)
            else:
                ids.extend(pieces)
        return ids

    return symbols

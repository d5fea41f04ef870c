"""Which tokens two tokenizers have in common."""

from __future__ import annotations

from collections import defaultdict
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pyharness.bpe import BpeModel
from pyharness.types import TokenKind

_Key: TypeAlias = tuple[int, bytes]


def matches(old: BpeModel, new: BpeModel) -> NDArray[np.int64]:
    """Old id of every new token that the old tokenizer has, too; -1 of the others: int64 [new ids].

    Added and special tokens are the same by their content, whatever their flags; the unknown token by being it; the
    others by kind and string. The string is that of the model (``▁the``) where both are of one sort, and otherwise
    what the token adds to a text. Of several, the one with the same id is meant, or else the first.
    """
    in_symbols = alike(old, new)
    ids = defaultdict(list)
    for token, key in enumerate(_keys(old, in_symbols)):
        ids[key].append(token)
    found = np.full(new.id_limit, -1, np.int64)
    for token, key in enumerate(_keys(new, in_symbols)):
        if key is not None and (same := ids.get(key)):
            found[token] = token if token in same else same[0]
    return found


def alike(old: BpeModel, new: BpeModel) -> bool:
    """Whether the symbols of both models are of one sort, so that strings of one mean the same in the other."""
    return (old.symbols, old.prefix, old.suffix, _spaces(old)) == (new.symbols, new.prefix, new.suffix, _spaces(new))


def _spaces(model: BpeModel) -> bool:
    """Whether a model over characters writes spaces as ▁."""
    return "▁".encode() in model.alphabet and b" " not in model.alphabet


def _keys(model: BpeModel, in_symbols: bool) -> list[_Key | None]:
    contents = {token.id: token.content.encode() for token in model.added}
    kinds, strings = model.vocabulary.kinds.tolist(), model.merges.strings() if in_symbols else []

    def key(token: int) -> _Key | None:
        if kinds[token] == TokenKind.ABSENT:
            return None
        if kinds[token] == TokenKind.UNKNOWN:
            return TokenKind.UNKNOWN, b""
        if token in contents:
            return TokenKind.SPECIAL, contents[token]
        string = strings[token] if in_symbols else model.vocabulary[token]
        return kinds[token], string

    return [key(token) for token in range(len(kinds))]

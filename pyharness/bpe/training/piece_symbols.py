"""Symbols that spell the pieces of a corpus: characters, a part of them, and forms with a prefix or a suffix."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from pyharness.bpe.training.trainer import WeightedPieces
from pyharness.types import InputError, Offsets, cut, offsets_of


def of_characters(pieces: WeightedPieces, initial: str = "") -> WeightedPieces:
    """Convert pieces over bytes to pieces over characters; the alphabet, with ``initial``, is in code point order.

    Raises:
        InputError: the pieces are not UTF-8.
    """
    data = pieces.symbols.astype(np.uint8)
    joined, edges = data.tobytes(), pieces.offsets.tolist()
    try:
        text = "".join([joined[start:end].decode() for start, end in pairwise(edges)])
    except UnicodeDecodeError as error:
        raise InputError(
            f"the text is not UTF-8 ({error.reason}), and symbols 'characters' need characters; train on bytes"
        ) from None
    starts = offsets_of((data & 0xC0) != 0x80)
    points = np.frombuffer(text.encode("utf-32-le"), "<u4")
    alphabet = np.union1d(points, np.array([ord(character) for character in initial], np.uint32))
    encoded = [chr(point).encode() for point in alphabet]
    return WeightedPieces(
        np.searchsorted(alphabet, points).astype(np.uint32), starts[pieces.offsets], pieces.weights,
        np.frombuffer(b"".join(encoded), np.uint8), _offsets(encoded),
    )  # fmt: skip


def in_forms(
    pieces: WeightedPieces,
    *,
    prefix: str = "",
    suffix: str = "",
    limit: int | None = None,
    initial: str = "",
    every_form: bool = False,
) -> WeightedPieces:
    """Convert pieces to symbols with affixes: a prefix on all but the first, a suffix on the last; keep common symbols.

    The bare symbols stay in front, used or not; the forms that occur follow, with ``every_form`` all. Forms with the
    same spelling are one symbol. The neighbours of a symbol that is left out become adjacent, and keep their forms.
    ``tokenizers`` does so, too, but numbers forms, and chooses between equally frequent symbols, by the order of a hash
    map.

    Args:
        pieces: over bare symbols.
        prefix: of the symbols that do not start a piece.
        suffix: of the symbols that end a piece.
        limit: bare symbols to keep: those of ``initial``, then the most frequent ones, then the first ones.
        initial: the characters that ``limit`` keeps first.
        every_form: whether unknown text must have symbols, too.

    Source: ``compute_alphabet`` and ``tokenize_words`` in tokenizers ``models/bpe/trainer.rs``.
    """
    marks = _marks(pieces, prefix, suffix)
    if limit is not None:
        kept = _most_frequent(pieces, limit, initial)
        marks = marks[kept[pieces.symbols]]
        pieces = _without(pieces, kept)
    if not prefix and not suffix:
        return pieces
    bare = _strings(pieces)
    forms = marks * len(bare) + pieces.symbols
    used = np.arange(4 * len(bare)) if every_form else np.unique(forms)
    numbers = {data: number for number, data in enumerate(bare)}
    owners, table = list(range(len(bare))), np.zeros(4 * len(bare), np.uint32)
    for form in used.tolist():
        mark, symbol = divmod(form, len(bare))
        string = (prefix.encode() if mark & 1 else b"") + bare[symbol] + (suffix.encode() if mark & 2 else b"")
        if string not in numbers:
            numbers[string] = len(owners)
            owners.append(symbol)
        table[form] = numbers[string]
    return dataclasses.replace(
        pieces, symbols=table[forms], data=np.frombuffer(b"".join(numbers), np.uint8), data_offsets=_offsets(numbers),
        prefix=prefix, suffix=suffix, bare=np.array(owners, np.uint32),
    )  # fmt: skip


def _marks(pieces: WeightedPieces, prefix: str, suffix: str) -> NDArray[np.int64]:
    """Return int64 [symbols]: 0 without affixes, 1 with the prefix, 2 with the suffix, 3 with both."""
    starts, ends = pieces.offsets[:-1], pieces.offsets[1:]
    full = ends > starts
    marks = np.full(len(pieces.symbols), 1 if prefix else 0, np.int64)
    marks[starts[full]] = 0
    marks[ends[full] - 1] |= 2 if suffix else 0
    return marks


def _most_frequent(pieces: WeightedPieces, limit: int, initial: str) -> NDArray[np.bool_]:
    """Return which base symbols are kept: bool [base symbols]."""
    strings = _strings(pieces)
    counts = np.zeros(len(strings), np.uint64)
    np.add.at(counts, pieces.symbols, np.repeat(pieces.weights, np.diff(pieces.offsets)))
    first = {character.encode() for character in initial}
    order = sorted(range(len(strings)), key=lambda symbol: (strings[symbol] not in first, -int(counts[symbol]), symbol))
    kept = np.zeros(len(strings), np.bool_)
    kept[order[:limit]] = True
    return kept


def _without(pieces: WeightedPieces, kept: NDArray[np.bool_]) -> WeightedPieces:
    """Return pieces without the base symbols that are not kept."""
    stays = kept[pieces.symbols]
    places = offsets_of(stays)
    strings = [string for string, stay in zip(_strings(pieces), kept.tolist(), strict=True) if stay]
    numbers = np.cumsum(kept) - 1
    return dataclasses.replace(
        pieces, symbols=numbers[pieces.symbols[stays]].astype(np.uint32), offsets=places[pieces.offsets],
        data=np.frombuffer(b"".join(strings), np.uint8), data_offsets=_offsets(strings),
    )  # fmt: skip


def _strings(pieces: WeightedPieces) -> list[bytes]:
    return cut(pieces.data.tobytes(), pieces.data_offsets)


def _offsets(strings: Iterable[bytes]) -> Offsets:
    return offsets_of([len(string) for string in strings])

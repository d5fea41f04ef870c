"""SentencePiece's rules for trained pieces, read from a model file.

Source: ``TrainerSpec`` of sentencepiece_model.proto, ``IsValidSentencePiece`` of trainer_interface.cc (0.2).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pyharness.types import Ids, InputError
from pyharness.vocabularies.patterns.code_points import table
from pyharness.vocabularies.sentencepiece_file import fields

_FIELDS = {21: "by_script", 22: "by_whitespace", 23: "by_number", 24: "whitespace_last", 25: "digits_alone",
           26: "whitespace_only", 20: "longest"}  # fmt: skip
_INHERITED, _HAN = 0, 1  # numbers of scripts; others are larger
_AS_HAN = ("hiragana", "katakana")
_LONG_VOWEL = 0x30FC
_DIGITS = (0x30, 0x3A, 0xFF10, 0xFF1A)  # of ASCII and full-width; SentencePiece treats others as letters


@dataclass(frozen=True, slots=True)
class PieceRules:
    """Fields of ``TrainerSpec``, with SentencePiece's defaults. White space is ``▁``."""

    by_script: bool = True  # split_by_unicode_script: no two scripts in a piece; Kana are Han
    by_number: bool = True  # split_by_number: digits have a script (Common); otherwise they go with any
    by_whitespace: bool = True  # split_by_whitespace: white space only at the beginning of a piece
    digits_alone: bool = False  # split_digits: a digit is a piece of its own
    whitespace_last: bool = False  # treat_whitespace_as_suffix: only at the end of a piece
    whitespace_only: bool = False  # allow_whitespace_only_pieces: runs of it may be pieces
    longest: int = 16  # max_sentencepiece_length, in characters


def read_piece_rules(data: bytes, label: str) -> PieceRules:
    """Read the rules for the pieces of a model file; absent fields have their defaults.

    Raises:
        InputError: the file is damaged, or its greatest length of a piece is below 1.
    """
    members: dict[str, int | bytes] = {}
    for number, value in fields(data, label):
        if number == 2 and isinstance(value, bytes):
            members |= {_FIELDS[field]: content for field, content in fields(value, label) if field in _FIELDS}
    longest = members.pop("longest", 16)
    if not isinstance(longest, int) or not 1 <= longest < 1 << 31:
        raise InputError(f"{label}: max_sentencepiece_length is {longest!r}; it is at least 1")
    return PieceRules(**{name: bool(value) for name, value in members.items()}, longest=longest)


def character_classes(characters: Iterable[str]) -> tuple[Ids, Ids, NDArray[np.bool_]]:
    """Return the code points of characters, ascending, with the number of each one's script, and whether it is a digit.

    Script 0 is Inherited, 1 is Han, Hiragana and Katakana. Digits are ASCII or full-width. The scripts are those of
    Unicode 16.0; SentencePiece may have older ones.
    """
    points = np.unique(np.array([ord(character) for character in characters], np.uint32))
    scripts = np.full(len(points), _HAN + 1, np.uint32)  # characters without a script share one number
    for number, edges in enumerate(_scripts(), _HAN + 2):
        scripts[_inside(points, edges)] = number
    for name in ("han", *_AS_HAN):
        scripts[_inside(points, table().sets["sc", name])] = _HAN
    scripts[points == _LONG_VOWEL] = _HAN
    scripts[_inside(points, table().sets["sc", "inherited"])] = _INHERITED
    return points, scripts, _inside(points, _DIGITS)


def _scripts() -> Iterator[tuple[int, ...]]:
    yield from dict.fromkeys(edges for (kind, _), edges in table().sets.items() if kind == "sc")


def _inside(points: Ids, edges: tuple[int, ...]) -> NDArray[np.bool_]:
    return np.asarray(np.searchsorted(np.array(edges), points, side="right") % 2 == 1)

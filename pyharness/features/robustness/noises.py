"""Kinds of noise: each changes some places of a text, drawn by a seed.

Look-alikes are the pairs of UTS #39 (intentional.txt of Unicode 17) whose first character is an ASCII letter.
Zero-width and bidirectional characters are of Unicode's tables: format characters that are ignored by default, and
those with the property Bidi_Control. NFD is the canonical decomposition, the one kind without draws.

>>> spoiled("case", "one two three " * 3, bytes(16)) != "one two three " * 3
True
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pyharness.types import Digest

HOMOGLYPHS = dict(zip("ABCEHIJKMNOPSTXYZacdehijopsxy", "ΑΒСΕΗΙЈΚΜΝΟΡЅΤΧΥΖасԁеһіϳοрѕху", strict=True))
ZERO_WIDTH = "\u200b\u200c\u200d\u2060\ufeff"
BIDI_CONTROLS = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
# What recognition of print confuses: letters of like shape, and pairs of letters that look like one.
CONFUSED = {
    "rn": "m", "m": "rn", "cl": "d", "d": "cl", "vv": "w", "w": "vv", "l": "1", "1": "l", "I": "l", "O": "0", "0": "O",
    "S": "5", "5": "S", "B": "8", "8": "B", "e": "c", "h": "b",
}  # fmt: skip
NFD = "nfd"
_LETTER = r"[^\W\d_]"
_PER_CHARACTER, _PER_WORD = 50, 10  # one in so many places changes


@dataclass(frozen=True, slots=True)
class DrawnNoise:
    """Places where a noise may change a text, how many of them change one, and what stands there instead."""

    places: re.Pattern[str]
    one_in: int
    change: Callable[[str, int], str]  # text of a place, and a draw of 0 and more


def _typo(pair: str, draw: int) -> str:
    """Swap two letters, drop the first, or double it."""
    return (pair[::-1], pair[1], pair[0] + pair)[draw % 3]


def _other_case(word: str, draw: int) -> str:
    del draw
    return word.upper() if word != word.upper() else word.lower()


_DRAWN: Mapping[str, DrawnNoise] = {
    "homoglyphs": DrawnNoise(
        re.compile(f"[{''.join(HOMOGLYPHS)}]"), _PER_CHARACTER, lambda letter, _: HOMOGLYPHS[letter]
    ),
    "zero-width": DrawnNoise(
        re.compile(f"{_LETTER}(?={_LETTER})"),
        _PER_CHARACTER,
        lambda letter, draw: letter + ZERO_WIDTH[draw % len(ZERO_WIDTH)],
    ),
    "bidi": DrawnNoise(
        re.compile(r"\w+"), _PER_WORD, lambda word, draw: BIDI_CONTROLS[draw % len(BIDI_CONTROLS)] + word
    ),
    "typos": DrawnNoise(re.compile(_LETTER * 2), _PER_CHARACTER // 2, _typo),
    "ocr": DrawnNoise(
        re.compile("|".join(sorted(CONFUSED, key=len, reverse=True))), _PER_CHARACTER, lambda text, _: CONFUSED[text]
    ),
    "case": DrawnNoise(re.compile(rf"\w*{_LETTER}\w*"), _PER_WORD, _other_case),
}
KINDS = ("homoglyphs", "zero-width", "bidi", NFD, "typos", "ocr", "case")


def spoiled(kind: str, text: str, seed: Digest) -> str:
    """Return a text with noise of a kind, the same on every machine and with every version of NumPy."""
    if kind == NFD:
        return unicodedata.normalize("NFD", text)
    noise = _DRAWN[kind]
    matches = list(noise.places.finditer(text))
    parts, copied = [], 0
    for match, draw in zip(matches, _draws(kind, seed, len(matches)).tolist(), strict=True):
        if draw % noise.one_in == 0:
            parts += [text[copied : match.start()], noise.change(match[0], draw // noise.one_in)]
            copied = match.end()
    return "".join((*parts, text[copied:]))


def _draws(kind: str, seed: Digest, count: int) -> NDArray[np.uint64]:
    key = [int.from_bytes(seed, "little"), KINDS.index(kind)]
    return np.asarray(np.random.PCG64(key).random_raw(count), np.uint64)

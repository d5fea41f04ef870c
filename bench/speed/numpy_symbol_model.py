"""A symbol model over bytes in NumPy, without a loop over symbols: what one would write without the native core.

N-grams are packed into 64 bits, sorted and counted; a level of contexts is estimated at once; symbols are scored by
binary searches, level by level. It takes memory in proportion to the text.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from pyharness.types import Offsets

Keys = NDArray[np.uint64]
Floats = NDArray[np.float64]
ALPHABET = 256


@dataclass
class Level:
    """N-grams of one length, in order, and the contexts that they begin with."""

    ngrams: Keys
    nll: Floats  # of the last byte of each
    counts: NDArray[np.int64]
    contexts: Keys
    entropy: Floats  # after each context
    unseen: Floats  # share of what the shorter context says that an unseen byte has


def packed(text: NDArray[np.uint8], offsets: Offsets, length: int) -> tuple[Keys, NDArray[np.bool_]]:
    """The last ``length`` bytes at every byte, and where a document has that many."""
    keys = text.astype(np.uint64)
    for back in range(1, length):
        keys[back:] |= text[:-back].astype(np.uint64) << np.uint64(8 * back)
    lengths = np.diff(offsets)
    place = np.arange(len(text)) - np.repeat(offsets[:-1], lengths)
    return keys, place >= length - 1


def train(text: NDArray[np.uint8], offsets: Offsets, order: int) -> list[Level]:
    levels: list[Level] = []
    for length in range(1, order + 1):
        keys, whole = packed(text, offsets, length)
        ngrams, counts = np.unique(keys[whole], return_counts=True)
        levels.append(estimated(ngrams, counts, length, levels))
    return levels


def estimated(ngrams: Keys, counts: NDArray[np.int64], length: int, levels: list[Level]) -> Level:
    contexts, starts, seen = np.unique(ngrams >> np.uint64(8), return_index=True, return_counts=True)
    total = np.add.reduceat(counts, starts) + seen
    of = np.repeat(np.arange(len(contexts)), seen)
    if levels:
        last = levels[-1]
        mask = np.uint64((1 << 8 * (length - 1)) - 1)
        shorter = np.exp(-last.nll[np.searchsorted(last.ngrams, ngrams & mask)])
        before = last.entropy[np.searchsorted(last.contexts, contexts & (mask >> np.uint64(8)))]
    else:
        shorter = np.full(len(ngrams), 1 / ALPHABET)
        before = np.full(1, np.log(ALPHABET))
    chances = (counts + seen[of] * shorter) / total[of]
    share = seen / total
    explicit = np.add.reduceat(-chances * np.log(chances), starts)
    rest = before + np.add.reduceat(shorter * np.log(shorter), starts)
    mass = np.maximum(1 - np.add.reduceat(shorter, starts), 0)
    entropy = explicit + np.where(seen == ALPHABET, 0, share * rest - share * np.log(share) * mass)
    return Level(ngrams, -np.log(chances), counts, contexts, entropy, share)


def found(values: Keys, wanted: Keys) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    at = np.minimum(np.searchsorted(values, wanted), len(values) - 1)
    return at, values[at] == wanted


def score(levels: list[Level], text: NDArray[np.uint8], offsets: Offsets) -> tuple[Floats, Floats]:
    """Entropy and negative log-likelihood of every byte, in nats."""
    entropy = np.full(len(text), levels[0].entropy[0])
    nll = np.full(len(text), np.log(ALPHABET))
    for length, level in enumerate(levels, start=1):
        keys, whole = packed(text, offsets, length)
        context, known = found(level.contexts, keys >> np.uint64(8))
        known &= whole
        entropy[known] = level.entropy[context[known]]
        nll[known] -= np.log(level.unseen[context[known]])
        ngram, seen = found(level.ngrams, keys)
        seen &= whole
        nll[seen] = level.nll[ngram[seen]]
    return entropy, nll


def arpa(levels: list[Level]) -> str:
    """The same model as a file of KenLM: a byte is a word of two hexadecimal digits."""
    lines = ["\\data\\", *(f"ngram {length}={_size(length, level)}" for length, level in enumerate(levels, 1)), ""]
    for length, (level, longer) in enumerate(pairwise([*levels, None]), start=1):
        assert level is not None
        lines += [f"\\{length}-grams:", *_entries(length, level, longer), ""]
    return "\n".join([*lines, "\\end\\", ""])


def _size(length: int, level: Level) -> int:
    return ALPHABET + 3 if length == 1 else len(level.ngrams)


def _entries(length: int, level: Level, longer: Level | None) -> list[str]:
    weights = np.zeros(len(level.ngrams))
    if longer is not None:
        at, is_context = found(longer.contexts, level.ngrams)
        weights[is_context] = np.log10(longer.unseen[at[is_context]])
    words = level.ngrams.astype(">u8").tobytes()
    chances = -level.nll / np.log(10)
    lines = []
    for index, (chance, weight) in enumerate(zip(chances.tolist(), weights.tolist(), strict=True)):
        ngram = words[8 * index + 8 - length : 8 * index + 8].hex(" ")
        lines.append(f"{chance:.9g}\t{ngram}\t{weight:.9g}" if longer is not None else f"{chance:.9g}\t{ngram}")
    if length == 1:
        unseen = np.log10(level.unseen[0] / ALPHABET)
        missing = sorted(set(range(ALPHABET)) - set(level.ngrams.tolist()))
        lines += [f"{unseen:.9g}\t{byte:02x}\t0" for byte in missing]
        lines += ["-99\t<unk>\t0", "-99\t<s>\t0", "-99\t</s>\t0"]
    return lines

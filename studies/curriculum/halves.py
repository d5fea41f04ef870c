"""Does it matter that a trainer's n-gram gives the signal of the very text that it was trained on?

    PYHARNESS_DATA=... PYTHONPATH=studies python -m curriculum.halves

Three rounds on 5 MB of English books, in documents of 20,000 characters: with one model of the whole text, as the
trainer has it, and with two, each trained on every other document, that give each other's signals.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from pyharness.corpora.texts import Text
from pyharness.features.curriculum.groups import GroupCounter, expand
from pyharness.features.curriculum.tokenizer import FixpointEncoder
from pyharness.features.segmentation.symbol_models import SymbolModel
from pyharness.types import Offsets, Tokens, offsets_of

BOOKS = "path:{data}/corpora/english/books.jsonl.xz"
CHARACTERS, LENGTH = 5_000_000, 20_000
ROUNDS, EPSILON, PER_ROUND, ORDER = 3, 0.3, 3000, 5


def documents(data: str) -> list[bytes]:
    """Pieces of the first books, up to the one that is the last to begin within the size."""
    pieces, size = list[bytes](), 0
    for text in Text.of((BOOKS.format(data=data),)).documents():
        pieces += [text[start : start + LENGTH].encode() for start in range(0, len(text), LENGTH)]
        size += len(text)
        if size > CHARACTERS:
            break
    return pieces


def part(tokens: Tokens, first: int) -> tuple[NDArray[np.uint32], Offsets]:
    """Every other document, from the first or second on."""
    chosen = [tokens.document(index) for index in range(first, len(tokens), 2)]
    return np.concatenate(chosen), offsets_of([len(one) for one in chosen])


def signals(
    tokens: Tokens, size: int, halves: bool
) -> Iterator[tuple[NDArray[np.uint32], NDArray[np.float64], Offsets]]:
    """Ids, entropies and offsets of all documents."""
    pairs = [(part(tokens, 0), part(tokens, 1)), (part(tokens, 1), part(tokens, 0))]
    for known, scored in pairs if halves else [((tokens.ids, tokens.offsets),) * 2]:
        scores = SymbolModel.train([known], size, ORDER).score(*scored)
        yield scored[0], scores.entropy, scored[1]


def grown(data: NDArray[np.uint8], offsets: Offsets, halves: bool) -> tuple[list[bytes], int]:
    """Strings after all rounds, and the tokens of the text."""
    strings = [bytes([byte]) for byte in range(256)]
    for _ in range(ROUNDS):
        counter = GroupCounter(EPSILON)
        tokens = FixpointEncoder(strings).encode(data, offsets)
        for ids, signal, ends in signals(tokens, len(strings), halves):
            counter.add(ids, signal, ends)
        strings += [addition.string for addition in expand(strings, counter.first(PER_ROUND))]
    return strings, len(FixpointEncoder(strings).encode(data, offsets).ids)


def main() -> None:
    """Print sizes, tokens, and how many of the first new strings are the same."""
    pieces = documents(os.environ["PYHARNESS_DATA"])
    data, offsets = np.frombuffer(b"".join(pieces), np.uint8), offsets_of([len(piece) for piece in pieces])
    (same, tokens), (other, others) = (grown(data, offsets, halves) for halves in (False, True))
    least = min(len(same), len(other))
    common = len(set(same[256:least]) & set(other[256:least]))
    sys.stdout.write(
        f"{len(pieces)} documents, {len(data):,} bytes\n"
        f"signals of the training text: {len(same):,} strings, {tokens:,} tokens\n"
        f"signals of other text: {len(other):,} strings, {others:,} tokens\n"
        f"of the first {least - 256:,} new strings {common:,} are in both\n"
    )


if __name__ == "__main__":
    main()

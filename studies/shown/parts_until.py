"""How often is a run in parts that stops early right, and what does it read?

    PYHARNESS_DATA=... python studies/shown/parts_until.py --draws 500

Parts are made of pieces of real text: books, and other kinds that are a small share of the whole. Runs of neighbouring
pieces are drawn with replacement, because documents of one file are alike. The pieces of a text are then *mixed* one by
one, or each kind lies in one *lump*, so that few parts are wholly foreign. Each line draws the order of the parts again
and again, and stops as ``pyharness run --until`` does. docs/parts.md has the figures.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pyharness import corpora, tokenizers
from pyharness.features.parts import looks
from pyharness.types import Tally

Counts = NDArray[np.int64]

ROWS = ("r50k_base", "cl100k_base", "o200k_base")  # the last one is the reference
KINDS = {
    "books": "english/books.jsonl.xz",
    "Hindi": "multilingual/hi",
    "Thai": "multilingual/th",
    "Chinese": "multilingual/zh",
    "code": "code",
}
PIECE = 1000  # characters
RUN = 32  # neighbouring pieces that are drawn together
PART_BYTES = 8_000
WIDTHS, PARTS, SHARES = (0.005, 0.02), (1000, 3000, 10_000), (0.001, 0.005, 0.01, 0.02, 0.05)


@dataclass(frozen=True)
class MadeText:
    """What a text is made of: the share of bytes of each kind."""

    name: str
    shares: Mapping[str, float]
    mixed: bool


def texts() -> Iterator[MadeText]:
    """Yield every text of the study."""
    yield MadeText("books", {"books": 1}, mixed=False)
    yield MadeText("books", {"books": 1}, mixed=True)
    thirds = {"books": 1 / 3, "Hindi": 1 / 9, "Thai": 1 / 9, "Chinese": 1 / 9, "code": 1 / 3}
    for mixed in (False, True):
        yield MadeText("books, languages, code", thirds, mixed)
        for kind in list(KINDS)[1:]:
            for share in SHARES:
                yield MadeText(f"books, {100 * share:g} % {kind}", {"books": 1 - share, kind: share}, mixed)


def counted(data: Path, name: str) -> Counts:
    """Return the bytes, and the tokens of each row, of the pieces of a kind of text, int64 [1 + rows, pieces]."""
    documents = corpora.open_corpus(f"path:{data}/corpora/{name}").documents(Tally())
    pieces = [one[start : start + PIECE] for one in documents for start in range(0, len(one), PIECE)]
    counts = [np.array([len(piece.encode()) for piece in pieces])]
    for row in ROWS:
        tokenizer = tokenizers.load(tokenizers.resolve(f"native+file:{data}/tokenizers/tiktoken/{row}.tiktoken"))
        batches = (pieces[start : start + 500] for start in range(0, len(pieces), 500))
        counts.append(np.concatenate([np.diff(tokenizer.encode_batch(batch).offsets) for batch in batches]))
    return np.array(counts, np.int64)


def drawn(pieces: Counts, size: float, generator: np.random.Generator) -> Counts:
    """Draw runs of neighbouring pieces with replacement, until they have ``size`` bytes; int64 [1 + rows, drawn]."""
    number = pieces.shape[1]
    runs = int(2 * size / (RUN * pieces[0].mean())) + 8
    places = (generator.integers(0, number, runs)[:, np.newaxis] + np.arange(RUN)).ravel() % number
    every = pieces[:, places]
    return every[:, : int(np.searchsorted(np.cumsum(every[0]), size)) + 1]


def made(text: MadeText, kinds: Mapping[str, Counts], parts: int) -> Counts:
    """Make a text and divide it into parts of equal ranges of bytes; return the tokens of rows, int64 [rows, parts]."""
    generator = np.random.default_rng(parts)
    size = parts * PART_BYTES
    every = [drawn(kinds[kind], size * share, generator) for kind, share in text.shares.items()]
    pieces = np.concatenate(every, axis=1)
    return divided(pieces[:, generator.permutation(pieces.shape[1])] if text.mixed else pieces, parts)


def divided(pieces: Counts, parts: int) -> Counts:
    """Add pieces up to parts of equal ranges of bytes, int64 [rows, parts]."""
    begins = np.cumsum(pieces[0]) - pieces[0]
    part = begins * parts // pieces[0].sum()
    return np.array([np.bincount(part, row, parts) for row in pieces[1:]], np.int64)


def stop(row: NDArray[np.float64], reference: NDArray[np.float64], width: float) -> tuple[float, bool]:
    """Return the share of parts that a run reads, and whether the ratio of the whole is as near as it says."""
    of = len(row)
    for size in looks.sizes(of):
        if looks.is_narrow(row[:size], reference[:size], of, width):
            ratio = reference[:size].sum() / row[:size].sum()
            return size / of, bool(abs(reference.sum() / row.sum() - ratio) <= width * ratio)
    return 1.0, True


def lines(kinds: Mapping[str, Counts], draws: int) -> Iterator[str]:
    """Yield a line for each pair of rows, text, number of parts and width."""
    yield "| row | text | | parts | width | stopped early | held | held of these | read |\n" + "| :-- " * 9 + "|"
    for count in PARTS:
        widths = [width for width in WIDTHS if looks.can_stop(count, width)]
        for text in texts():
            *rows, reference = made(text, kinds, count).astype(np.float64)
            for name, row in zip(ROWS, rows, strict=False):
                for width in widths:
                    about = f"| {name} | {text.name} | {'mixed' if text.mixed else 'lump'} | {count:,} | {width:.1%} "
                    yield about + _results(row, reference, width, draws)


def _results(row: NDArray[np.float64], reference: NDArray[np.float64], width: float, draws: int) -> str:
    generator = np.random.default_rng(1)
    orders = (generator.permutation(len(row)) for _ in range(draws))
    runs = [stop(row[order], reference[order], width) for order in orders]
    held = [held for share, held in runs if share < 1]
    wrong, read = held.count(False), np.mean([share for share, _ in runs])
    of_these = f"{1 - wrong / len(held):.1%}" if held else "-"
    return f"| {len(held)} of {draws} | {1 - wrong / draws:.1%} | {of_these} | {read:.0%} |"


def main(words: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=500)
    asked = parser.parse_args(words)
    data = Path(os.environ["PYHARNESS_DATA"])
    kinds = {kind: counted(data, name) for kind, name in KINDS.items()}
    for line in lines(kinds, asked.draws):
        print(line, flush=True)  # noqa: T201


if __name__ == "__main__":
    main()

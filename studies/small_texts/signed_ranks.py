"""How often signed ranks over a few documents err, and how often they decide: real documents, sides exchanged.

    PYHARNESS_DATA=... python studies/small_texts/signed_ranks.py --output signed_ranks.md

Two tokenizers, gpt2 and o200k_base, give every document of a pool two numbers of tokens, of which the second is brought
to the middle of the first: what is left is how the documents differ. Some documents are drawn, without replacement, and
the two sides of each change places by the toss of a coin, so that there is nothing to find. How often does the test
decide all the same? Cut into paragraphs that all share the coin of their document, the same test is asked what it says
where what it takes for documents is not independent. Beside it: how often it finds one per cent more tokens.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path[:0] = [str(Path(__file__).parents[1])]
from coverage import KINDS, ROWS, Kind, opened  # noqa: E402
from pyharness import tokenizers  # noqa: E402
from pyharness.statistics.signed_ranks import signed_ranks  # noqa: E402
from pyharness.types import Tally  # noqa: E402

SIZES = (6, 8, 12, 22, 50)
MOST_DOCUMENTS = 400  # of a pool
UNCUT = 1 << 30
Counts = NDArray[np.int64]  # [2, documents]


def counts_of(kind: Kind, data: str, most_bytes: int) -> tuple[Counts, list[Counts]]:
    """Tokens of every document by both rows, and of the paragraphs of each."""
    texts: list[str] = []
    for text in opened(kind, data, UNCUT, most_bytes).documents(Tally()):
        texts.append(text)
        if len(texts) == MOST_DOCUMENTS:
            break
    parts = [[part for part in text.split("\n") if part.strip()] for text in texts]
    whole, paragraphs = [], []
    for row in ROWS:
        tokenizer = tokenizers.load(row.format(data=data))
        whole.append(np.diff(tokenizer.encode_batch(texts).offsets))
        flat = np.diff(tokenizer.encode_batch([one for several in parts for one in several]).offsets)
        paragraphs.append(np.split(flat, np.cumsum([len(several) for several in parts])[:-1]))
    return np.array(whole), [np.array(pair) for pair in zip(*paragraphs, strict=True)]


def level(counts: Sequence[Counts], size: int, draws: int, generator: np.random.Generator) -> float:
    """Per cent of draws of so many documents, each with a coin for its sides, that are decided."""
    decided = 0
    for _ in range(draws):
        drawn = [counts[number] for number in generator.choice(len(counts), size, replace=False)]
        tossed = [one[::-1] if coin else one for one, coin in zip(drawn, generator.random(size) < 0.5, strict=True)]
        decided += signed_ranks(*np.concatenate(tossed, axis=1)).decides
    return 100 * decided / draws


def power(counts: Counts, size: int, draws: int, generator: np.random.Generator) -> float:
    """Per cent of draws of so many documents that are decided as they are."""
    drawn = (generator.choice(counts.shape[1], size, replace=False) for _ in range(draws))
    return 100 * sum(signed_ranks(*counts[:, one]).decides for one in drawn) / draws


def at_one_middle(counts: Counts, factor: float) -> Counts:
    """The second side as if it had about as many tokens as the first."""
    return np.array([counts[0], np.maximum(np.rint(counts[1] * factor), 0)]).astype(np.int64)


def rows_of(kind: Kind, data: str, draws: int, most_bytes: int) -> list[str]:
    """Lines of the table."""
    whole, parts = counts_of(kind, data, most_bytes)
    generator = np.random.default_rng(1)
    factor = float(np.exp(np.median(np.log(whole[0] / whole[1]))))
    documents = [one[:, None] for one in at_one_middle(whole, factor).T]
    paragraphs = [at_one_middle(one, factor) for one in parts]
    one_per_cent = at_one_middle(whole, 1.01 * factor)
    sizes = [size for size in SIZES if size <= whole.shape[1]]
    values: dict[str, list[Any]] = {
        "documents": [level(documents, size, draws, generator) for size in sizes],
        "paragraphs with the coin of their document": [level(paragraphs, size, draws, generator) for size in sizes],
        "not exchanged, 1 % more tokens": [power(one_per_cent, size, draws, generator) for size in sizes],
    }
    return [
        f"| {kind.name} ({whole.shape[1]}) | {name} | {' | '.join(f'{value:.1f}' for value in found)} |"
        for name, found in values.items()
    ]


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--bytes", type=int, default=2_000_000, help="of a pool, at most")
    asked = parser.parse_args()
    data = os.environ.get("PYHARNESS_DATA")
    if data is None:
        sys.exit("set PYHARNESS_DATA to the folder of the corpora")
    lines = [f"| text (documents) | drawn: | {' | '.join(map(str, SIZES))} |", "| :-- | :-- |" + " --: |" * len(SIZES)]
    for kind in KINDS:
        lines += rows_of(kind, data, asked.draws, asked.bytes)
    text = "\n".join(lines) + "\n"
    if asked.output is None:
        sys.stdout.write(text)
    else:
        asked.output.write_text(text, "utf-8")


if __name__ == "__main__":
    main()

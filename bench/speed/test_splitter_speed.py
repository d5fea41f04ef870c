"""Speed of the text splitters: ``pytest bench/speed/test_splitter_speed.py -s``. Every benchmark asserts its result.

The pieces are those of tiktoken's own regular expression, and its time is taken in the same run. Nothing here asserts a
time, because machines differ and neighbours disturb: compare ratios.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import pytest
import tiktoken

from pyharness.bpe import SPLIT_PATTERNS, TextSplitter
from speed_fixtures import NEEDS_DATA, Benchmark, documents, median_of, median_seconds, report

CORPORA = {
    "english": ("english/books",),
    "code": ("code/python", "code/cpp", "code/javascript"),
    "multilingual": tuple(f"multilingual/{path}" for path in ("ru/dracor_plays", "zh/tang_song_poetry")),
}
CHARACTERS = 1_500_000  # of each file

pytestmark = NEEDS_DATA


@cache
def texts_of(corpus: str) -> list[str]:
    return [text for name in CORPORA[corpus] for text in documents(name, CHARACTERS)]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("corpus", CORPORA)
@pytest.mark.parametrize("name", ["gpt2", "cl100k", "o200k"])
def test_split(benchmark: Benchmark, name: str, corpus: str, threads: int) -> None:
    texts, splitter = texts_of(corpus), TextSplitter(name)
    pieces = benchmark(splitter.split_batch, texts, threads)

    data = [text.encode() for text in texts]
    cut = [
        [document[start:end] for start, end in pairwise([0, *pieces.of(index).tolist()])]
        for index, document in enumerate(data)
    ]
    vocabulary = {bytes([byte]): byte for byte in range(256)}
    for piece in (piece for document in cut for piece in document):
        vocabulary.setdefault(piece, len(vocabulary))
    # Every piece is one token: what is timed is the expression and one look-up for each.
    encoding = tiktoken.Encoding(
        "pieces", pat_str=SPLIT_PATTERNS[name].expressions[0], mergeable_ranks=vocabulary, special_tokens={}
    )
    assert [encoding.encode_ordinary(text) for text in texts] == [[vocabulary[p] for p in parts] for parts in cut]

    if seconds := median_of(benchmark):
        size = sum(map(len, data))
        peer = median_seconds(lambda: [encoding.encode_ordinary(text) for text in texts])
        report(
            benchmark,
            f"{name}, {corpus}, {threads} thread(s): {size / seconds / 1e6:.0f} MB/s with the ends in an array, "
            f"{peer / seconds:.1f}x tiktoken's expression and look-ups on one thread",
        )

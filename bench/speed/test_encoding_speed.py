"""Speed of the text encoder: ``pytest bench/speed/test_encoding_speed.py -s``. Every benchmark asserts its result.

The suite ``encoding`` has the table with all peers; here one number each beside tiktoken, in the same run. Nothing here
asserts a time, because machines differ and neighbours disturb: compare ratios.
"""

from __future__ import annotations

import random
from bisect import bisect_left
from functools import cache
from itertools import accumulate
from typing import Any

import pytest
import tiktoken

from pyharness.bpe import SPLIT_PATTERNS, TextEncoder
from pyharness.types import MergeModel
from pyharness.vocabularies.rank_file import RankVocabulary, merge_model, read_ranks
from speed_fixtures import NEEDS_DATA, Benchmark, documents, median_of, median_seconds, rank_file, report

PATTERNS = {"r50k_base": "gpt2", "cl100k_base": "cl100k", "o200k_base": "o200k"}
CORPORA = {
    "english": ("english/books",),
    "code": tuple(f"code/{name}" for name in ("c", "cpp", "go", "java", "javascript", "python", "rust", "typescript")),
    "multilingual": (
        "multilingual/ar/nahda_books",
        "multilingual/de/eltec_novels",
        "multilingual/et/riigiteataja_laws",
        "multilingual/fi/gnome_help",
        "multilingual/hi/classic_novels",
        "multilingual/ja/aozora",
        "multilingual/ko/nsmc_reviews",
        "multilingual/ru/dracor_plays",
        "multilingual/th/thaigov_news",
        "multilingual/zh/tang_song_poetry",
    ),
}
CHARACTERS = 4_000_000  # of each corpus, an equal share of each of its files

pytestmark = NEEDS_DATA


@cache
def corpus_halves(corpus: str) -> tuple[list[str], list[str]]:
    """Shuffled documents, cut where about half of the characters are."""
    files = CORPORA[corpus]
    texts = [text for file in files for text in documents(file, CHARACTERS // len(files))]
    random.Random(1).shuffle(texts)
    ends = list(accumulate(map(len, texts)))
    middle = bisect_left(ends, ends[-1] / 2) + 1
    return texts[:middle], texts[middle:]


def read_model(name: str) -> MergeModel:
    return merge_model(RankVocabulary(read_ranks(rank_file(name).read_bytes(), name), {}, ""))


@cache
def tiktoken_encoding(name: str) -> tiktoken.Encoding:
    ranks = read_ranks(rank_file(name).read_bytes(), name)
    expression = SPLIT_PATTERNS[PATTERNS[name]].expressions[0]
    return tiktoken.Encoding(name, pat_str=expression, mergeable_ranks=ranks, special_tokens={})


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("corpus", CORPORA)
@pytest.mark.parametrize("name", PATTERNS)
def test_steady(benchmark: Benchmark, name: str, corpus: str, threads: int) -> None:
    """The second half of a corpus, by an encoder that has seen only the first."""
    first, second = corpus_halves(corpus)
    model = read_model(name)

    def warm() -> tuple[tuple[TextEncoder], dict[str, Any]]:
        encoder = TextEncoder(model, PATTERNS[name], whole_pieces=True)
        encoder.encode_batch(first, threads)
        return (encoder,), {}

    tokens = benchmark.pedantic(lambda encoder: encoder.encode_batch(second, threads), setup=warm, rounds=5)

    encoding = tiktoken_encoding(name)
    expected = [encoding.encode_ordinary(text) for text in second]
    assert [tokens.document(index).tolist() for index in range(len(tokens))] == expected
    if seconds := median_of(benchmark):
        size = sum(len(text.encode()) for text in second)
        peer = median_seconds(lambda: [encoding.encode_ordinary(text) for text in second])
        report(
            benchmark,
            f"{name}, {corpus}, {threads} thread(s): {size / seconds / 1e6:.0f} MB/s of new text, "
            f"{peer / seconds:.1f}x tiktoken on one thread",
        )

"""Speed of the text encoder: ``pytest bench/speed/test_encoding_speed.py -s``. Every benchmark asserts its result.

``bench/encoding_table.py`` has the table with all peers; here one number each beside tiktoken, in the same run. Nothing
here asserts a time, because machines differ and neighbours disturb: compare ratios.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
import tiktoken
from encoding_engines import PATTERNS, read_model
from encoding_table import CORPORA, documents, halves

from pyharness.bpe import SPLIT_PATTERNS, TextEncoder
from pyharness.vocabularies.ranks.rank_file import read_ranks
from speed_fixtures import DATA, NEEDS_DATA, Benchmark, median_of, median_seconds, rank_file, report

BYTES = 4_000_000  # of each corpus

pytestmark = NEEDS_DATA


@cache
def corpus_halves(corpus: str) -> tuple[list[str], list[str]]:
    return halves(documents(DATA, corpus, BYTES))


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
    model = read_model(rank_file(name))

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

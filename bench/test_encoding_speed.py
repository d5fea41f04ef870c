"""Speed of the text encoder: ``pytest bench/test_encoding_speed.py -s``. Every benchmark asserts its result.

``bench/encoding_table.py`` has the table with all peers; here one number each beside tiktoken, in the same run. Nothing
here asserts a time, because machines differ and neighbours disturb: compare ratios.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import pytest
import tiktoken
from encoding_engines import PATTERNS, read_model
from encoding_table import CORPORA, documents, halves

from pyharness.bpe import SPLIT_PATTERNS, TextEncoder
from pyharness.vocabularies.rank_file import read_ranks

DATA = os.environ.get("PYHARNESS_DATA")
BYTES = 4_000_000  # of each corpus

pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif(DATA is None, reason="PYHARNESS_DATA is not set: it names real corpora and tokenizers"),
]


class Benchmark(Protocol):
    """The part of pytest-benchmark's fixture that is used here."""

    extra_info: dict[str, Any]
    stats: Any

    def pedantic(self, function: Callable[..., Any], **arguments: Any) -> Any: ...


@cache
def corpus_halves(corpus: str) -> tuple[list[str], list[str]]:
    return halves(documents(Path(DATA or ""), corpus, BYTES))


def rank_file(name: str) -> Path:
    return Path(DATA or "") / "tokenizers" / "tiktoken" / f"{name}.tiktoken"


@cache
def tiktoken_encoding(name: str) -> tiktoken.Encoding:
    ranks = read_ranks(rank_file(name).read_bytes(), name)
    expression = SPLIT_PATTERNS[PATTERNS[name]].expressions[0]
    return tiktoken.Encoding(name, pat_str=expression, mergeable_ranks=ranks, special_tokens={})


def median_seconds(function: Callable[[], object], rounds: int = 3) -> float:
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


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
    if not benchmark.stats:
        return
    size = sum(len(text.encode()) for text in second)
    seconds = float(benchmark.stats.stats.median)
    peer = median_seconds(lambda: [encoding.encode_ordinary(text) for text in second])
    note = (
        f"{name}, {corpus}, {threads} thread(s): {size / seconds / 1e6:.0f} MB/s of new text, "
        f"{peer / seconds:.1f}x tiktoken on one thread"
    )
    benchmark.extra_info["note"] = note
    print(f"\n{note}")  # noqa: T201

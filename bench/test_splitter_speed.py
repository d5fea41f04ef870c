"""Speed of the text splitters: ``pytest bench/test_splitter_speed.py -s``. Every benchmark asserts its result.

The pieces are those of tiktoken's own regular expression, and its time is taken in the same run. Nothing here asserts a
time, because machines differ and neighbours disturb: compare ratios.
"""

from __future__ import annotations

import json
import lzma
import os
import statistics
import time
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

import pytest
import tiktoken

from pyharness.bpe import SPLIT_PATTERNS, TextSplitter

DATA = os.environ.get("PYHARNESS_DATA")
CORPORA = {
    "english": ("english/books",),
    "code": ("code/python", "code/cpp", "code/javascript"),
    "multilingual": tuple(f"multilingual/{path}" for path in ("ru/dracor_plays", "zh/tang_song_poetry")),
}
CHARACTERS = 1_500_000  # of each file

pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif(DATA is None, reason="PYHARNESS_DATA is not set: it names real corpora and tokenizers"),
]


class Benchmark(Protocol):
    """The part of pytest-benchmark's fixture that is used here."""

    extra_info: dict[str, Any]
    stats: Any

    def __call__(self, function: Callable[..., Any], *arguments: Any) -> Any: ...


@cache
def documents(corpus: str) -> list[str]:
    texts: list[str] = []
    for name in CORPORA[corpus]:
        size = 0
        with lzma.open(Path(DATA or "") / "corpora" / f"{name}.jsonl.xz", "rt", encoding="utf-8") as lines:
            for line in lines:
                texts.append(json.loads(line)["text"][: CHARACTERS - size])
                size += len(texts[-1])
                if size >= CHARACTERS:
                    break
    return texts


def median_seconds(function: Callable[[], object], rounds: int = 3) -> float:
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("corpus", CORPORA)
@pytest.mark.parametrize("name", ["gpt2", "cl100k", "o200k"])
def test_split(benchmark: Benchmark, name: str, corpus: str, threads: int) -> None:
    texts, splitter = documents(corpus), TextSplitter(name)
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

    if not benchmark.stats:
        return
    size = sum(map(len, data))
    seconds = float(benchmark.stats.stats.median)
    peer = median_seconds(lambda: [encoding.encode_ordinary(text) for text in texts])
    note = (
        f"{name}, {corpus}, {threads} thread(s): {size / seconds / 1e6:.0f} MB/s with the ends in an array, "
        f"{peer / seconds:.1f}x tiktoken's expression and look-ups on one thread"
    )
    benchmark.extra_info["note"] = note
    print(f"\n{note}")  # noqa: T201

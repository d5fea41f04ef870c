"""Speed of the native core: ``pytest bench/test_core_speed.py``. Every benchmark asserts its result.

Real data is used when PYHARNESS_DATA names it. Ratios are taken side by side in one run and printed with ``-s``.
Nothing here asserts a time, because machines differ and neighbours disturb.
"""

from __future__ import annotations

import base64
import json
import lzma
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import pytest

from oracles import bpe as oracle
from pyharness.bpe import Verdict, self_tokenization
from pyharness.kernels import TextColumn, text_statistics
from pyharness.types import MergeModel

DATA = os.environ.get("PYHARNESS_DATA")
THREADS = (1, 2)
needs_data = pytest.mark.skipif(DATA is None, reason="PYHARNESS_DATA is not set: it names real corpora and tokenizers")


class Benchmark(Protocol):
    """The part of pytest-benchmark's fixture that is used here."""

    extra_info: dict[str, Any]
    stats: Any

    def __call__(self, function: Callable[..., Any], *arguments: Any) -> Any: ...


def report(benchmark: Benchmark, line: str) -> None:
    benchmark.extra_info["note"] = line
    print(f"\n{line}")  # noqa: T201


def median_of(benchmark: Benchmark) -> float | None:
    """Median of the benchmark; None with --benchmark-disable."""
    return float(benchmark.stats.stats.median) if benchmark.stats else None


# ------------------------------------------------------------------------------------------ self-tokenization


@pytest.fixture(scope="module")
def o200k() -> MergeModel:
    path = Path(DATA or "") / "tokenizers" / "tiktoken" / "o200k_base.tiktoken"
    rows = (line.split() for line in path.read_bytes().splitlines())
    tokens = {int(rank): base64.b64decode(data) for data, rank in rows}
    return oracle.model(tokens, ranks={token: token for token in tokens})


@needs_data
@pytest.mark.data
@pytest.mark.parametrize("threads", THREADS)
def test_self_tokenization_of_o200k(benchmark: Benchmark, o200k: MergeModel, threads: int) -> None:
    result = benchmark(self_tokenization, o200k, threads)
    assert result.failed.size == 0
    assert (result.verdict == Verdict.REACHABLE).sum() == 199_998
    if seconds := median_of(benchmark):
        report(benchmark, f"STT layers 1 and 2, o200k, {threads} thread(s): {1e3 * seconds:.1f} ms")


# ------------------------------------------------------------------------------------------ text statistics


def read(path: str) -> list[str]:
    with lzma.open(Path(DATA or "") / "corpora" / path, "rt", encoding="utf-8") as lines:
        return [json.loads(line)["text"] for line in lines]


@needs_data
@pytest.mark.data
@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize(
    "path",
    ["english/books", "code/python", "multilingual/ru/dracor_plays", "multilingual/zh/tang_song_poetry"],
)
def test_text_statistics(benchmark: Benchmark, path: str, threads: int) -> None:
    texts = read(f"{path}.jsonl.xz")
    table = benchmark(text_statistics, texts, threads)
    assert table[:, TextColumn.BYTES].tolist() == [len(text.encode()) for text in texts]
    assert table[:, TextColumn.CHARACTERS].tolist() == list(map(len, texts))
    assert table[:, TextColumn.WHITESPACE_WORDS].tolist() == [len(text.split()) for text in texts]
    if seconds := median_of(benchmark):
        speed = table[:, TextColumn.BYTES].sum() / seconds / 1e6
        report(benchmark, f"text_statistics, {path}, {threads} thread(s): {speed:.0f} MB/s")

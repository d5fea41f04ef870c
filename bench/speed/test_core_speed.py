"""Speed of the native core: ``pytest bench/speed/test_core_speed.py``. Every benchmark asserts its result.

Real data is used when PYHARNESS_DATA names it. Ratios are taken side by side in one run and printed with ``-s``.
Nothing here asserts a time, because machines differ and neighbours disturb.
"""

from __future__ import annotations

import base64

import pytest

from oracles import bpe as oracle
from pyharness.bpe import ModelVerdict, self_tokenization
from pyharness.kernels import TextColumn, text_statistics
from pyharness.types import MergeModel
from speed_fixtures import NEEDS_DATA, Benchmark, documents, median_of, rank_file, report

THREADS = (1, 2)
pytestmark = NEEDS_DATA


# ------------------------------------------------------------------------------------------ self-tokenization


@pytest.fixture(scope="module")
def o200k() -> MergeModel:
    rows = (line.split() for line in rank_file("o200k_base").read_bytes().splitlines())
    tokens = {int(rank): base64.b64decode(data) for data, rank in rows}
    return oracle.model(tokens, ranks={token: token for token in tokens})


@pytest.mark.parametrize("threads", THREADS)
def test_self_tokenization_of_o200k(benchmark: Benchmark, o200k: MergeModel, threads: int) -> None:
    result = benchmark(self_tokenization, o200k, threads)
    assert result.failed.size == 0
    assert (result.verdict == ModelVerdict.REACHABLE).sum() == 199_998
    if seconds := median_of(benchmark):
        report(benchmark, f"STT layers 1 and 2, o200k, {threads} thread(s): {1e3 * seconds:.1f} ms")


# ------------------------------------------------------------------------------------------ text statistics


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize(
    "path",
    ["english/books", "code/python", "multilingual/ru/dracor_plays", "multilingual/zh/tang_song_poetry"],
)
def test_text_statistics(benchmark: Benchmark, path: str, threads: int) -> None:
    texts = list(documents(path))
    table = benchmark(text_statistics, texts, threads)
    assert table[:, TextColumn.BYTES].tolist() == [len(text.encode()) for text in texts]
    assert table[:, TextColumn.CHARACTERS].tolist() == list(map(len, texts))
    assert table[:, TextColumn.WHITESPACE_WORDS].tolist() == [len(text.split()) for text in texts]
    if seconds := median_of(benchmark):
        speed = table[:, TextColumn.BYTES].sum() / seconds / 1e6
        report(benchmark, f"text_statistics, {path}, {threads} thread(s): {speed:.0f} MB/s")

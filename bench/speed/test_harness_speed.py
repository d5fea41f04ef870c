"""What the harness itself costs: importing it, and a whole pass beside a user's script that only encodes and counts.

Run with ``pytest bench``. Ratios are of calls side by side in one run (A B A B); every call's result is checked.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pyharness import corpora, tokenizers
from pyharness.benchmarks.compression import CorpusPass
from pyharness.types import Tally
from speed_fixtures import Benchmark, median_of

ROUNDS = 7


def seconds(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def test_import(benchmark: Benchmark) -> None:
    def importing() -> bytes:
        script = "import pyharness; print(pyharness.run.__name__)"
        return subprocess.run([sys.executable, "-P", "-c", script], check=True, capture_output=True).stdout

    bare = statistics.median(
        seconds(lambda: subprocess.run([sys.executable, "-P", "-c", ""], check=True)) for _ in range(9)
    )
    assert benchmark.pedantic(importing, rounds=9) == b"run\n"
    if median := median_of(benchmark):
        benchmark.extra_info["seconds net of the interpreter"] = median - bare


@pytest.mark.parametrize("row", ["mistral:tekken", "raw_bytes"])
def test_a_pass_against_a_script_that_only_counts(benchmark: Benchmark, row: str, tmp_path: Path) -> None:
    tokenizer = tokenizers.load(row)
    documents = list(corpora.open_corpus("installed:python-docs?max_bytes=2MB").documents(Tally()))
    path = tmp_path / "text.txt"
    path.write_text("\n".join(documents), encoding="utf-8")
    corpus = corpora.open_corpus(f"path:{path}?split=line")
    texts = list(corpus.documents(Tally()))

    def script() -> np.ndarray:
        return np.bincount(tokenizer.encode_batch(texts).ids, minlength=tokenizer.id_limit)

    def whole_pass() -> np.ndarray:
        return CorpusPass.start(tokenizer).read(corpus).state.total().histogram

    assert np.array_equal(script(), whole_pass())
    pairs = [(seconds(script), seconds(whole_pass)) for _ in range(ROUNDS)]
    benchmark.extra_info["pass / script"] = statistics.median(whole / bare for bare, whole in pairs)
    assert np.array_equal(benchmark.pedantic(whole_pass, rounds=3), script())

"""What the speed tests share: real text, the type of pytest-benchmark's fixture, and how a result is said."""

from __future__ import annotations

import json
import lzma
import os
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest

DATA = Path(os.environ.get("PYHARNESS_DATA", ""))
NEEDS_DATA = [
    pytest.mark.data,
    pytest.mark.skipif(
        "PYHARNESS_DATA" not in os.environ, reason="PYHARNESS_DATA is not set: it names real corpora and tokenizers"
    ),
]


class Benchmark(Protocol):
    """The part of pytest-benchmark's fixture that is used here."""

    extra_info: dict[str, Any]
    stats: Any

    def __call__(self, function: Callable[..., Any], *arguments: Any) -> Any: ...

    def pedantic(self, function: Callable[..., Any], **arguments: Any) -> Any: ...


def median_of(benchmark: Benchmark) -> float | None:
    """Median seconds of the benchmark; None with --benchmark-disable."""
    return float(benchmark.stats.stats.median) if benchmark.stats else None


def report(benchmark: Benchmark, line: str) -> None:
    """Keep a line with the benchmark's record, and show it with ``-s``."""
    benchmark.extra_info["note"] = line
    print(f"\n{line}")  # noqa: T201


def median_seconds(function: Callable[[], object], rounds: int = 3) -> float:
    """Seconds of a peer that is timed beside a benchmark, in the same test."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def rank_file(name: str) -> Path:
    """Path of one of OpenAI's rank files."""
    return DATA / "tokenizers" / "tiktoken" / f"{name}.tiktoken"


def documents(corpus: str, characters: int | None = None) -> Iterator[str]:
    """Documents of a corpus file, such as ``english/books``; the last one is cut where ``characters`` are full."""
    left = characters
    with lzma.open(DATA / "corpora" / f"{corpus}.jsonl.xz", "rt", encoding="utf-8") as lines:
        for line in lines:
            text: str = json.loads(line)["text"][:left]
            yield text
            if left is not None:
                left -= len(text)
                if left <= 0:
                    return

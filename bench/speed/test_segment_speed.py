"""Speed of UAX #29 segments: ``pytest bench/speed/test_segment_speed.py -s``. Peers take turns with ours.

icu4py and uniseg are no part of the development environment: ``pip install icu4py uniseg`` first; without them their
tests are skipped. Nothing here asserts a time, because machines differ and neighbours disturb; every test asserts that
both cut the text alike: at the same places as ``regex``, and nearly so where others follow the standard and regex does
not (``csrc/core/text/word_boundary.hpp``).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

import numpy as np
import pytest

from oracles.segments.words import BOUNDARY
from pyharness.features.segmentation.text_bytes import bytes_of_characters
from pyharness.kernels import segment_ends
from speed_fixtures import NEEDS_DATA, Benchmark, documents, report

ROUNDS = 5
CORPORA = ("english/books", "code/python", "multilingual/ru/dracor_plays", "multilingual/zh/tang_song_poetry")
Cut = Callable[[str], list[int]]  # a text to the ends of its segments, in characters

pytestmark = [*NEEDS_DATA, pytest.mark.timeout(900)]


def beside(benchmark: Benchmark, corpus: str, characters: int, name: str, cut: Cut) -> float:
    """Say both speeds; return the share of their ends among ours, or of ours among theirs, whichever is less."""
    texts = list(documents(corpus, characters))
    size = sum(len(text.encode()) for text in texts)

    def both() -> tuple[float, float]:
        start = time.process_time()
        segment_ends(texts)
        between = time.process_time()
        for text in texts:
            cut(text)
        return between - start, time.process_time() - between

    times = np.array([both() for _ in range(ROUNDS + 1)])[1:]  # the first warms up
    ratios, speeds = times[:, 1] / times[:, 0], size / np.median(times, axis=0) / 1e6
    found = benchmark.pedantic(segment_ends, args=(texts,), rounds=1)
    report(
        benchmark,
        f"{corpus}: ours {speeds[0]:.0f} MB/s, {name} {speeds[1]:.2g} MB/s, ratio {np.median(ratios):.1f} "
        f"[{ratios.min():.1f}, {ratios.max():.1f}]; processor time, {ROUNDS} rounds, load {os.getloadavg()[0]:.1f}",
    )
    theirs = [bytes_of_characters(text, cut(text)) for text in texts]
    shared = sum(len(np.intersect1d(ends, found.document(at))) for at, ends in enumerate(theirs))
    return shared / max(len(found.ends), sum(map(len, theirs)))


@pytest.mark.parametrize("corpus", CORPORA)
def test_beside_regex(benchmark: Benchmark, corpus: str) -> None:
    def cut(text: str) -> list[int]:
        return [found.end() for found in BOUNDARY.finditer(text)][1:]  # the first is at 0

    assert beside(benchmark, corpus, 3_000_000, "regex", cut) == 1


@pytest.mark.parametrize("corpus", CORPORA[:3])  # Chinese is cut by a dictionary there
def test_beside_icu(benchmark: Benchmark, corpus: str) -> None:
    icu = pytest.importorskip("icu4py.breakers")

    def cut(text: str) -> list[int]:
        return [stop for _, stop in icu.WordBreaker(text, "en_US").segments()]

    assert beside(benchmark, corpus, 3_000_000, "ICU", cut) > 0.99


@pytest.mark.parametrize("corpus", CORPORA)
def test_beside_uniseg(benchmark: Benchmark, corpus: str) -> None:
    uniseg = pytest.importorskip("uniseg.wordbreak")

    def cut(text: str) -> list[int]:
        return list(uniseg.word_boundaries(text))[1:]

    assert beside(benchmark, corpus, 30_000, "uniseg", cut) > 0.99


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("corpus", CORPORA)
def test_threads(benchmark: Benchmark, corpus: str, threads: int) -> None:
    texts = list(documents(corpus))
    found = benchmark(segment_ends, texts, threads)
    assert found.fault(np.array([len(text.encode()) for text in texts], np.int64)) is None

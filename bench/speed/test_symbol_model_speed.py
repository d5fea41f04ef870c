"""Speed of symbol models over bytes: ``pytest bench/speed/test_symbol_model_speed.py -s``. Peers take turns with ours.

KenLM and NLTK are no part of the development environment: ``pip install kenlm nltk`` first; without them their tests
are skipped. Nothing here asserts a time, because machines differ and neighbours disturb; every test asserts that both
say the same of the text.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from functools import cache, partial
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import numpy_symbol_model as by_numpy
from pyharness.features.segmentation.symbol_models import SymbolModel
from pyharness.types import Offsets, offsets_of
from speed_fixtures import NEEDS_DATA, Benchmark, documents, report

SIZE = 20_000_000  # bytes
SMALL = 200_000  # for NLTK
ROUNDS = 3
ORDER = 5

pytestmark = [*NEEDS_DATA, pytest.mark.timeout(3600)]  # NumPy takes its time


@cache
def books(size: int) -> tuple[NDArray[np.uint8], Offsets]:
    """English books, the last one cut."""
    texts, left = [], size
    for text in documents("english/books", size):
        texts.append(text.encode()[:left])
        left -= len(texts[-1])
    return np.frombuffer(b"".join(texts), np.uint8), offsets_of([len(text) for text in texts])


def trained(size: int, threads: int, order: int = ORDER) -> SymbolModel:
    return SymbolModel.train([books(size)], 256, order, threads)


def seconds(function: Callable[[], object]) -> tuple[float, float]:
    """Processor time and wall time."""
    start = time.process_time(), time.perf_counter()
    function()
    return time.process_time() - start[0], time.perf_counter() - start[1]


def spread(values: NDArray[np.float64], form: str = ".1f") -> str:
    return f"{np.median(values):{form}} [{values.min():{form}}, {values.max():{form}}]"


def beside(benchmark: Benchmark, what: str, ours: Callable[[], object], theirs: Callable[[], object]) -> None:
    """Say their processor time over ours, in turns."""
    times = np.array([[seconds(ours)[0], seconds(theirs)[0]] for _ in range(ROUNDS + 1)])[1:]  # the first warms up
    benchmark.pedantic(ours, rounds=1)
    ratios = times[:, 1] / times[:, 0]
    report(
        benchmark,
        f"{what}: ours {spread(times[:, 0], '.3f')} s, theirs {spread(times[:, 1], '.3f')} s, "
        f"ratio {spread(ratios)}; processor time, {ROUNDS} rounds, load {os.getloadavg()[0]:.1f}",
    )


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("order", [1, 3, 5])
def test_20_megabytes(benchmark: Benchmark, order: int, threads: int) -> None:
    text, offsets = books(SIZE)
    model = trained(SIZE, threads, order)
    times = np.array([
        [*seconds(lambda: trained(SIZE, threads, order)), *seconds(lambda: model.score(text, offsets, threads))]
        for _ in range(5)
    ])  # fmt: skip
    scores = benchmark.pedantic(lambda: model.score(text, offsets, threads), rounds=1)
    assert len(scores.nll) == len(text)
    names = ("training, processor", "training, wall", "scoring, processor", "scoring, wall")
    said = "; ".join(f"{name} {spread(times[:, at], '.2f')} s" for at, name in enumerate(names))
    report(benchmark, f"order {order}, {threads} threads, {len(text) / 1e6:.1f} MB: {said}")


def test_training_beside_numpy(benchmark: Benchmark) -> None:
    levels = by_numpy.train(*books(SIZE), ORDER)
    assert trained(SIZE, 1).distinct_ngrams == tuple(len(level.ngrams) for level in levels)
    beside(benchmark, "training, NumPy", lambda: trained(SIZE, 1), lambda: by_numpy.train(*books(SIZE), ORDER))


def test_scoring_beside_numpy(benchmark: Benchmark) -> None:
    levels, model = by_numpy.train(*books(SIZE), ORDER), trained(SIZE, 1)
    entropy, nll = by_numpy.score(levels, *books(SIZE))
    scores = model.score(*books(SIZE))
    np.testing.assert_allclose(scores.entropy, entropy, atol=1e-9)
    np.testing.assert_allclose(scores.nll, nll, atol=1e-9)
    ours, theirs = partial(model.score, *books(SIZE)), partial(by_numpy.score, levels, *books(SIZE))
    beside(benchmark, "scoring, NumPy", ours, theirs)


def test_scoring_beside_kenlm(benchmark: Benchmark, tmp_path: Path) -> None:
    """KenLM reads the same model and says the probability of a document alone: no entropy, nothing symbol by symbol."""
    kenlm = pytest.importorskip("kenlm")
    text, offsets = books(SIZE)
    (tmp_path / "model.arpa").write_text(by_numpy.arpa(by_numpy.train(text, offsets, ORDER)))
    theirs = kenlm.Model(str(tmp_path / "model.arpa"))
    spelled = [text[start:stop].tobytes().hex(" ") for start, stop in pairwise(offsets)]
    model = trained(SIZE, 1)

    def score() -> list[float]:
        return [theirs.score(document, bos=False, eos=False) for document in spelled]

    nll = np.add.reduceat(model.score(text, offsets).nll, offsets[:-1])
    np.testing.assert_allclose(nll, -np.array(score()) * np.log(10), rtol=1e-4)  # float32 there
    beside(benchmark, "scoring, KenLM", partial(model.score, text, offsets), score)


def test_beside_nltk(benchmark: Benchmark) -> None:
    """NLTK ends at frequencies instead of the uniform distribution, which moves what it says a little."""
    nltk = pytest.importorskip("nltk.lm")
    text = [f"{byte:02x}" for byte in books(SMALL)[0].tolist()]
    part = text[: SMALL // 100]
    ids, offsets = books(SMALL)[0], np.array([0, SMALL])

    def theirs() -> float:
        model = nltk.WittenBellInterpolated(ORDER)
        ngrams = [[tuple(text[i - n : i]) for i in range(n, len(text) + 1)] for n in range(1, ORDER + 1)]
        model.fit(ngrams, vocabulary_text=text)
        places = range(ORDER, len(part))
        return -math.fsum(model.logscore(text[i], tuple(text[i - ORDER + 1 : i])) for i in places) / len(places)

    def ours() -> float:
        model = SymbolModel.train([(ids, offsets)], 256, ORDER, 1)
        return float(model.score(ids[: len(part)], np.array([0, len(part)])).nll[ORDER:].mean() / math.log(2))

    assert ours() == pytest.approx(theirs(), abs=0.01)  # bits
    beside(benchmark, f"training on {SMALL / 1e3:.0f} kB and scoring 1 % of it, NLTK", ours, theirs)

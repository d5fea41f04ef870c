"""Pair histograms on a CPU beside numpy and polars: ``pytest bench/speed/kernels -s -k pair`` prints ratios.

Results are asserted before anything is timed. Peers get packed 64-bit keys, ready made, and need not order rows by
count; ours starts from ids. With PYHARNESS_DATA the ids are those of all its text, some 56 million.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from pyharness import corpora, tokenizers
from pyharness.features.profiling.cpu import Cpu
from pyharness.kernels import PairHistogram, pair_histogram
from pyharness.types import Ids, Tally

DATA = os.environ.get("PYHARNESS_DATA")
NEEDS_DATA = (pytest.mark.data, pytest.mark.skipif(DATA is None, reason="PYHARNESS_DATA does not name real corpora"))
ROUNDS = 7
# Found and not imported: ``Cpu`` sets its threads first. And before all the text is read for nothing.
pytestmark = pytest.mark.skipif(find_spec("polars") is None, reason="polars, a peer, is not installed")
Keys = NDArray[np.uint64]


def skewed() -> Ids:
    """Ids with the skew of text but none of its order: 4,000,000 tokens of a vocabulary of 200,000."""
    generator = np.random.default_rng(1)
    return np.minimum(generator.zipf(1.2, 4_000_000), 199_999).astype(np.uint32)


def documents(folder: Path) -> Iterator[str]:
    """English, code, text of many languages, and translations side by side."""
    aligned = {"libreoffice_help.jsonl.xz", "xquad.jsonl.xz"}
    for kind in ("english", "code", "multilingual", "parallel"):
        for file in sorted((folder / kind).rglob("*.xz")):
            family = "parallel" if file.name in aligned else "path"
            yield from corpora.open_corpus(f"{family}:{file}").documents(Tally())


def text() -> Ids:
    """Real ids, no document twice."""
    data = Path(DATA or "")
    tokenizer = tokenizers.load(f"file:{data}/tokenizers/tiktoken/cl100k_base.tiktoken")
    return tokenizer.encode_batch(list(dict.fromkeys(documents(data / "corpora"))), 2).ids


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(skewed, id="skewed"),
        pytest.param(lambda: skewed() + np.uint32(1 << 20), id="skewed-wide"),
        pytest.param(text, id="text", marks=NEEDS_DATA),
    ],
)
def ids(request: pytest.FixtureRequest) -> Ids:
    drawn: Ids = request.param()
    return drawn


@pytest.fixture(scope="module")
def keys(ids: Ids) -> Keys:
    return ids[:-1].astype(np.uint64) << np.uint64(32) | ids[1:]


def numpy_unique(keys: Keys) -> Callable[[], Any]:
    return lambda: np.unique(keys, return_counts=True)


def polars_group_by(keys: Keys) -> Callable[[], Any]:
    """On as many threads as POLARS_MAX_THREADS says, which ``Cpu`` sets before polars is loaded."""
    import polars as pl

    frame = pl.DataFrame({"pair": keys})
    return lambda: frame.group_by("pair").len()


def packed(left: NDArray[np.uint32], right: NDArray[np.uint32]) -> Keys:
    return left.astype(np.uint64) << np.uint64(32) | right


def assert_equals_numpy(histogram: PairHistogram, keys: Keys) -> None:
    pairs, counts = np.unique(keys, return_counts=True)
    order = np.lexsort((pairs, -counts))
    assert np.array_equal(packed(histogram.left, histogram.right), pairs[order])
    assert np.array_equal(histogram.count, counts[order])


def times_as_long(clock: Cpu, other: Callable[[], Any], ours: Callable[[], Any]) -> float:
    """Median of interleaved pairs of calls; before each timed call goes an untimed one."""
    pairs = [(clock.time(other, "warm").seconds, clock.time(ours, "warm").seconds) for _ in range(ROUNDS)]
    return statistics.median(theirs / own for theirs, own in pairs)


@pytest.mark.parametrize("threads", [1, 2])
def test_pair_histogram(benchmark: Any, ids: Ids, keys: Keys, threads: int) -> None:
    clock = Cpu(2)
    contenders = {"numpy.unique": numpy_unique(keys), "polars, 2 threads": polars_group_by(keys)}

    def ours() -> PairHistogram:
        return pair_histogram(ids, threads=threads)

    assert_equals_numpy(benchmark(ours), keys)
    if threads > 1:
        contenders["one thread"] = lambda: pair_histogram(ids, threads=1)
    for name, call in contenders.items() if benchmark.enabled else ():
        ratio = times_as_long(clock, call, ours)
        benchmark.extra_info[f"{name} / ours"] = ratio
        print(f"\n{len(ids):,} ids, {threads} thread(s): {name} takes {ratio:.2f}x as long")  # noqa: T201

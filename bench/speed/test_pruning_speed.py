"""Speed of leaf pruning: ``pytest bench/speed/test_pruning_speed.py -s``. Every benchmark asserts its result.

Nothing here asserts a time, because machines differ and neighbours disturb.
"""

from __future__ import annotations

import heapq
import random
import statistics
import time
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from oracles import pruning as oracle
from oracles.bpe import NEVER
from pyharness.bpe import BpeModel, WeightedPieces, import_model, model_of_training, train
from pyharness.features.adaptation.bpe.pruning import leaf_order, parts, removable
from speed_fixtures import DATA, NEEDS_DATA, Benchmark, median_of, median_seconds, report

pytestmark = NEEDS_DATA
Counts = np.ndarray[tuple[int], np.dtype[np.uint64]]


@cache
def deepseek() -> tuple[BpeModel, Counts]:
    """A model of 128,000 tokens, and counts that fall as those of words do."""
    model = import_model((DATA / "tokenizers" / "deepseek_v3" / "tokenizer.json").read_bytes())
    return model, (np.random.default_rng(0).pareto(0.6, model.id_limit) * 3).astype(np.uint64)


def in_python(of: list[list[int]], counts: list[int], can_go: list[bool]) -> list[int]:
    """The same with a heap of Python, of parts that are known."""
    uses = [0] * len(of)
    for part in (part for pair in of for part in pair if part != NEVER):
        uses[part] += 1
    leaves = [(counts[token], -token) for token, can in enumerate(can_go) if can and not uses[token]]
    heapq.heapify(leaves)
    order = []
    while leaves:
        token = -heapq.heappop(leaves)[1]
        order.append(token)
        for part in (part for part in of[token] if part != NEVER):
            uses[part] -= 1
            counts[part] += counts[token]
        for part in {part for part in of[token] if part != NEVER and not uses[part] and can_go[part]}:
            heapq.heappush(leaves, (counts[part], -part))
    return order


def processor_seconds(function: Callable[[], object]) -> float:
    """Median of five: what neighbours do not change, as they do wall time."""
    times = []
    for _ in range(5):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return statistics.median(times)


@pytest.mark.parametrize("threads", [1, 2])
def test_leaf_order_of_deepseek(benchmark: Benchmark, threads: int) -> None:
    model, counts = deepseek()
    order = benchmark(leaf_order, model, counts, threads)
    of, can_go = parts(model).tolist(), removable(model).tolist()
    assert len(order) == sum(can_go) == 127_741
    assert order.tolist() == in_python(of, counts.tolist(), can_go)
    if seconds := median_of(benchmark):
        slow = processor_seconds(lambda: in_python(of, counts.tolist(), can_go))
        ours = processor_seconds(lambda: leaf_order(model, counts, threads))
        report(
            benchmark,
            f"leaf order of 128k, {threads} thread(s): {1e3 * seconds:.0f} ms, processor time "
            f"{1e3 * ours:.0f} ms, parts and all; a heap of Python, of known parts, {1e3 * slow:.0f} ms",
        )


def test_leaf_order_and_the_oracle(benchmark: Benchmark) -> None:
    generator = random.Random(0)
    words = {bytes(generator.choices(b"abcdefgh", k=generator.randint(2, 9))): 1 for _ in range(4000)}
    trained = train(WeightedPieces.of_bytes(words), 656)
    model = model_of_training(trained, "none")
    counts = np.array([generator.randint(0, 50) for _ in range(model.id_limit)], np.uint64)
    rules = [(int(left), int(right), int(result)) for left, right, result in trained.rules.tolist()]

    def slow() -> list[int]:
        paths = {token: oracle.rule_path(list(model.vocabulary[token]), rules) for token in range(model.id_limit)}
        return oracle.leaf_order(paths, dict(enumerate(counts.tolist())), range(256, model.id_limit))

    assert benchmark(leaf_order, model, counts).tolist() == slow()
    if seconds := median_of(benchmark):
        ratio = median_seconds(slow, 1) / seconds
        report(benchmark, f"leaf order of 656: {1e3 * seconds:.2f} ms; the oracle takes {ratio:,.0f} times as long")

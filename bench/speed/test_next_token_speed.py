"""Speed of predictions by a plain head and a capped one: ``pytest bench/speed/test_next_token_speed.py -s``.

``linear_entropy`` on the scored hidden states, or the network's own head over chunks of them, takes turns with the
network as a whole, which stores all logits of a batch. Of models that are made up here. Nothing here asserts a time,
because machines differ and neighbours disturb; the test asserts that both say the same, and that less memory is taken.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import language_models as tiny
from pyharness.features.language_models import loader, windows
from pyharness.features.language_models.causal import CausalModel, Head
from pyharness.features.language_models.next_token_entropy import MOST_LOGITS
from pyharness.features.language_models.windows import Layout
from speed_fixtures import Benchmark, report

ROUNDS = 3
COLUMNS = 32_768
CONTEXT = 256
TOKENS = 4096
BATCH = 4096

pytest.importorskip("torch", reason="needs the extra torch")
pytest.importorskip("transformers", reason="needs the extra hub")


@pytest.fixture(params=["llama", "gemma2"])
def model(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[CausalModel]:
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    changes: dict[str, Any] = {"hidden_size": 64, "max_position_embeddings": CONTEXT, "initializer_range": 0.02}
    tiny.build(tmp_path, request.param, tokenizer=False, vocab_size=COLUMNS, **changes)
    yield loader.load(str(tmp_path), "cpu", "float32")
    torch.set_num_threads(before)


def scores(model: CausalModel, sequence: np.ndarray[tuple[int], np.dtype[np.int64]]) -> list[float]:
    """NLL of every token, in the batches that the benchmark makes."""
    most = min(BATCH, MOST_LOGITS // COLUMNS) if model.head == "whole" else BATCH
    sliding = windows.sliding_windows([len(sequence)], CONTEXT, CONTEXT // 2)
    batches = windows.batches(sliding, most)
    return [nll for batch in batches for nll in model.score(Layout.of([sequence], batch), COLUMNS)[1].tolist()]


def test_chunks_of_hidden_states_beside_all_logits(benchmark: Benchmark, model: CausalModel) -> None:
    ours: Head = model.head
    ways = {way: replace(model, head=way) for way in (ours, "whole")}
    assert len(ways) == 2
    sequence, times, found = np.random.default_rng(3).integers(0, COLUMNS, TOKENS), [], {}
    for _ in range(ROUNDS):
        start = [time.process_time()]
        for way, one in ways.items():
            found[way] = scores(one, sequence)
            start.append(time.process_time())
        times.append(np.diff(start))
    np.testing.assert_allclose(found[ours], found["whole"], atol=1e-5)
    assert np.mean(found[ours]) == pytest.approx(np.mean(found["whole"]), abs=1e-6)
    batch, most = list(sequence[: 4 * CONTEXT].reshape(4, CONTEXT)), 4 * CONTEXT
    (one_batch,) = windows.batches(windows.sliding_windows(map(len, batch), CONTEXT, CONTEXT), most)
    layout = Layout.of(batch, one_batch)
    taken = {way: tiny.largest_tensor(partial(one.score, layout, COLUMNS)) >> 20 for way, one in ways.items()}
    assert taken[ours] < taken["whole"]
    benchmark.pedantic(scores, args=(model, sequence), rounds=1)
    seconds = np.median(times, axis=0)
    share = [own / theirs for own, theirs in times]
    report(
        benchmark,
        f"{TOKENS} tokens, {COLUMNS} logits: {ours} {seconds[0]:.2f} s, whole {seconds[1]:.2f} s of processor time, "
        f"share {np.median(share):.2f} [{min(share):.2f}, {max(share):.2f}]; largest tensor for {most} tokens "
        f"{taken[ours]} and {taken['whole']} MiB; load {os.getloadavg()[0]:.1f}",
    )

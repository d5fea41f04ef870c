"""Pair histograms of torch tensors, of ids that are none, of chunks that arrive late, and of real text."""

from __future__ import annotations

import json
import lzma
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from backends import Backend, backend, module
from pair_counts import WIDE, every_backend, every_method, reference, rows, small, tensor, where
from pyharness import tokenizers
from pyharness.kernels import PairHistogram, device_pairs, pair_histogram
from pyharness.kernels.place import Place
from pyharness.types import Tokens

__all__ = ["backend", "small"]  # the fixtures


@every_backend
@pytest.mark.parametrize("dtype", ["uint32", "int32", "int64"])
def test_torch_tensors(backend: Backend, dtype: str, small: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted where they are, and answered in kind."""
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(device_pairs, "MOST_POSITIONS", 5)
    ids = tensor(backend, [1, 2, 1, 2, 3, 1, 2, 9, 9], dtype)
    histogram: Any = pair_histogram(ids, **where(backend))
    assert isinstance(histogram.count, torch.Tensor)
    assert histogram.count.device == ids.device
    host = PairHistogram(*(column.cpu().numpy() for column in (histogram.left, histogram.right, histogram.count)))
    assert rows(host) == reference([ids.tolist()])
    offsets, weights = tensor(backend, [0, 2, 2, 9], "int64"), tensor(backend, [2, 5, 1], "int64")
    for where_from in ((offsets, weights), (np.array([0, 2, 2, 9]), np.array([2, 5, 1], np.uint64))):
        weighted: Any = pair_histogram(ids, *where_from, **where(backend))
        assert weighted.count.tolist() == [4, 1, 1, 1, 1]  # (1, 2): once in a segment of weight 2, twice in one of 1


@every_backend
@pytest.mark.parametrize(("dtype", "value"), [("int32", -1), ("int64", -5), ("int64", 2**32)])
def test_ids_that_are_none(backend: Backend, dtype: str, value: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_pairs, "MOST_POSITIONS", 3)
    for position in (0, 7, 11):
        ids = [1] * 12
        ids[position] = value
        with pytest.raises(ValueError, match=rf"tokens\[{position}\] = {value}\b"):
            pair_histogram(tensor(backend, ids, dtype), **where(backend))
    with pytest.raises(ValueError, match=r"tokens\[0\]"):
        pair_histogram(tensor(backend, [value], dtype), **where(backend))


class LateStream:
    """A stream that does nothing before somebody waits for it: the latest that cupy's may do it."""

    def __init__(self, *_: Any, **__: Any) -> None:
        self.pending: list[tuple[NDArray[Any], NDArray[Any]]] = []

    def record(self) -> LateEvent:
        event = LateEvent()
        event.record(self)
        return event

    def wait_event(self, event: LateEvent) -> None:
        event.synchronize()

    def synchronize(self) -> None:
        while self.pending:
            target, source = self.pending.pop(0)
            target[...] = source


class LateEvent:
    def __init__(self, **_: Any) -> None:
        self.stream: LateStream | None = None
        self.earlier = 0

    def record(self, stream: LateStream) -> None:
        self.stream, self.earlier = stream, len(stream.pending)

    def synchronize(self) -> None:
        while self.stream is not None and self.earlier and self.stream.pending:
            target, source = self.stream.pending.pop(0)
            target[...] = source
            self.earlier -= 1


class LateArray(np.ndarray[Any, Any]):
    def set(self, source: NDArray[Any], stream: LateStream) -> None:
        stream.pending.append((self, source))


def test_chunks_arrive_before_they_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The double buffering of CUDA, over streams whose copies happen as late as they may."""
    module("_emulated")
    cuda = SimpleNamespace(Stream=LateStream, ExternalStream=LateStream, Event=LateEvent)
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=cuda))
    monkeypatch.setitem(sys.modules, "cupyx", SimpleNamespace(empty_pinned=np.empty))
    monkeypatch.setattr(device_pairs, "uploads_for", device_pairs.PinnedUploads)
    empty = Place.empty
    monkeypatch.setattr(Place, "empty", lambda *arguments: empty(*arguments).view(LateArray))
    documents = np.array_split(np.random.default_rng(3).integers(0, 9, 500), 60)
    tokens = Tokens.from_lists([document.tolist() for document in documents])
    weights = np.arange(len(documents), dtype=np.uint64)
    for chunk in (1, 7, 64, 499, 10_000):
        monkeypatch.setattr(device_pairs, "MOST_POSITIONS", chunk)
        answer = pair_histogram(tokens.ids, tokens.offsets, weights, device="emulated")
        assert rows(answer) == reference([document.tolist() for document in documents], weights.tolist())


@pytest.fixture(scope="module")
def english() -> Tokens:
    folder = os.environ.get("PYHARNESS_DATA")
    if not folder:
        pytest.skip("PYHARNESS_DATA is not set: it names a folder of real corpora and tokenizer files")
    with lzma.open(Path(folder) / "corpora/english/wikitext2_valid.jsonl.xz", "rt") as lines:
        texts = [json.loads(line)["text"] for line in lines]
    ranks = Path(folder) / "tokenizers/tiktoken/r50k_base.tiktoken"
    return tokenizers.load(f"file:{ranks}?pattern=r50k_base").encode_batch(texts, 2)


@pytest.mark.data
@every_backend
@every_method
def test_real_text_against_numpy(
    backend: Backend, method: str, english: Tokens, monkeypatch: pytest.MonkeyPatch
) -> None:
    # An emulated thread costs what thousands of the device's do; the dense counter gets the low bits of the ids.
    end = 60_000 if backend.kind == "emulated" else len(english.ids)
    monkeypatch.setitem(device_pairs.TUNING, "dense_ids", 256)
    ids = english.ids[:end] & np.uint32(255 if method == "dense" else WIDE)
    offsets = np.append(english.offsets[english.offsets < end], end)
    keys = np.delete(ids[:-1].astype(np.uint64) << np.uint64(32) | ids[1:], offsets[1:-1] - 1)
    pairs, counts = np.unique(keys, return_counts=True)
    order = np.lexsort((pairs, -counts))
    answer = pair_histogram(ids, offsets, **where(backend, method))
    assert len(answer) == len(pairs) > 2_000
    assert (answer.left == pairs[order] >> np.uint64(32)).all()
    assert (answer.right == (pairs[order] & np.uint64(WIDE))).all()
    assert (answer.count == counts[order].astype(np.uint64)).all()


@pytest.mark.parametrize("size", [0, 1, 7, 5 * device_pairs.STAGED_AT_ONCE // 4 + 3])
def test_staging_copies_every_item_by_as_many_threads_as_pay(size: int) -> None:
    column, pinned = np.arange(size, dtype=np.uint32), np.zeros(size, np.uint32)
    with ThreadPoolExecutor(2) as pool:
        device_pairs.stage(pinned, column, pool)
    assert (pinned == column).all()

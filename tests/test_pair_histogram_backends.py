"""The pair histogram on the CPU, by the emulated kernels and on CUDA: one answer, to the last integer and in order."""

from __future__ import annotations

import json
import lzma
import os
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from backends import SEEDS, Backend, backend, module
from pyharness import tokenizers
from pyharness.kernels import PairHistogram, pair_chunks, pair_histogram, pair_histogram_device, pair_uploads
from pyharness.kernels.libraries import Device, library_of
from pyharness.kernels.place import stream_handle
from pyharness.types import InputError, Tokens

__all__ = ["backend"]  # the fixture

Row = tuple[int, int, int]
WIDE = 2**32 - 1
CUDA = pytest.param(Backend("cuda"), marks=pytest.mark.cuda)
EMULATED = [Backend("emulated", str(seed)) for seed in SEEDS]
METHODS = ("hash", "sort", "dense")
# A cache that evicts, a table that grows, rounds that end anywhere: what big corpora do, on small inputs.
SMALL = {"threads": 32, "cache_slots": 8, "table_slots": 2, "positions_per_round": 7, "dense_ids": 64}

every_backend = pytest.mark.parametrize(
    "backend", [Backend("core", "portable"), *EMULATED, CUDA], indirect=True, ids=str
)
kernels_only = pytest.mark.parametrize("backend", [*EMULATED, CUDA], indirect=True, ids=str)
one_seed = pytest.mark.parametrize("backend", [EMULATED[1], CUDA], indirect=True, ids=str)
every_method = pytest.mark.parametrize("method", METHODS)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SMALL.items():
        monkeypatch.setitem(pair_histogram_device.TUNING, name, value)


def reference(documents: list[list[int]], weights: list[int] | None = None) -> list[Row]:
    counts: Counter[tuple[int, int]] = Counter()
    for position, ids in enumerate(documents):
        for pair in pairwise(ids):
            counts[pair] += 1 if weights is None else weights[position]
    return sorted(((*pair, n) for pair, n in counts.items() if n), key=lambda row: (-row[2], row[0], row[1]))


def rows(histogram: PairHistogram) -> list[Row]:
    columns = (np.asarray(column.get() if hasattr(column, "get") else column)
               for column in (histogram.left, histogram.right, histogram.count))  # fmt: skip
    return list(zip(*(column.tolist() for column in columns), strict=True))


def where(backend: Backend, method: str = "hash") -> dict[str, Any]:
    return {} if backend.kind == "core" else {"device": backend.kind, "method": method}


def count(backend: Backend, ids: list[int], *more: Any, method: str = "hash") -> list[Row]:
    return rows(pair_histogram(np.array(ids, np.uint32), *more, **where(backend, method)))


# ---------------------------------------------------------------------------------------------- against Counter


def random_case(case: int) -> tuple[list[list[int]], list[int] | None, dict[str, int], int]:
    """Documents, weights, tuning and chunk size of a case."""
    generator = np.random.default_rng(case)
    size, limit = int(generator.choice([0, 1, 2, 40, 300, 1500])), int(generator.choice([1, 2, 9, 60]))
    ids = np.minimum(generator.zipf(1.4, size) - 1, limit - 1)
    cuts = np.sort(generator.integers(0, size + 1, int(generator.choice([0, 2, 60]))))
    documents = [part.tolist() for part in np.split(ids, cuts)]
    weights = generator.integers(0, generator.choice([2, 2**40]), len(documents)).tolist() if case % 2 else None
    tuning = {
        "threads": int(generator.choice([32, 96])),
        "cache_slots": int(generator.choice([8, 64])),
        "table_slots": int(generator.choice([2, 64, 4096])),
        "positions_per_round": int(generator.choice([50, 1 << 20])),
        "dense_ids": 60,
    }
    return documents, weights, tuning, int(generator.choice([37, 400, 1 << 20]))


@every_backend
@pytest.mark.parametrize("case", range(50))
def test_random_cases(backend: Backend, case: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """50 on the CPU and 50 per seed of the emulator, where cases take turns over the methods."""
    case += 50 * (0 if backend.kind != "emulated" else 1 + int(backend.variant))
    documents, weights, tuning, chunk = random_case(case)
    for name, value in tuning.items():
        monkeypatch.setitem(pair_histogram_device.TUNING, name, value)
    monkeypatch.setattr(pair_chunks, "MOST_POSITIONS", chunk)
    method = METHODS[case % 3]
    if method != "dense":  # spread the ids over all of their range
        documents = [[(n * 0x9E3779B1) & WIDE for n in document] for document in documents]
    tokens = Tokens.from_lists(documents)
    array = None if weights is None else np.array(weights, np.uint64)
    found = pair_histogram(tokens.ids, tokens.offsets, array, **where(backend, method))
    assert rows(found) == reference(documents, weights)
    assert [column.dtype.name for column in (found.left, found.right, found.count)] == ["uint32", "uint32", "uint64"]


segments = st.lists(
    st.lists(st.one_of(st.integers(0, 3), st.sampled_from([2**31, WIDE - 1, WIDE])), max_size=9), max_size=12
)


@one_seed
@pytest.mark.parametrize("method", ["hash", "sort"])
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(documents=segments, chunk=st.integers(1, 40), data=st.data())
def test_segments_and_weights(
    backend: Backend,
    method: str,
    small: None,
    monkeypatch: pytest.MonkeyPatch,
    documents: list[list[int]],
    chunk: int,
    data: st.DataObject,
) -> None:
    monkeypatch.setattr(pair_chunks, "MOST_POSITIONS", chunk)
    tokens = Tokens.from_lists(documents)
    here = where(backend, method)
    assert rows(pair_histogram(tokens.ids, **here)) == reference([tokens.ids.tolist()])
    assert rows(pair_histogram(tokens.ids, tokens.offsets, **here)) == reference(documents)
    weights = data.draw(st.lists(st.integers(0, 2**50), min_size=len(documents), max_size=len(documents)))
    weighted = pair_histogram(tokens.ids, tokens.offsets, np.array(weights, np.int64), **here)
    assert rows(weighted) == reference(documents, weights)


# ---------------------------------------------------------------------------------------------- edges of tables


@kernels_only
@every_method
def test_all_pairs_equal_and_all_different(backend: Backend, method: str, small: None) -> None:
    assert count(backend, [5] * 1000, method=method) == [(5, 5, 999)]
    # Every pair of 32 ids once, as a walk through the complete graph: more pairs than the cache and the table hold.
    walk = [node for gap in range(1, 32, 2) for node in ((step * gap) % 32 for step in range(32))]
    assert count(backend, walk, method=method) == reference([walk])


@kernels_only
@pytest.mark.parametrize("method", ["hash", "sort"])
def test_the_largest_and_the_smallest_id(backend: Backend, method: str, small: None) -> None:
    """A free slot is no pair: neither (0, 0) nor the pair of the two largest ids."""
    ids = [WIDE] * 70 + [0] * 65 + [WIDE, 0, WIDE, WIDE]
    assert count(backend, ids, method=method) == reference([ids])
    assert count(backend, [WIDE, WIDE], method=method) == [(WIDE, WIDE, 1)]
    assert count(backend, [0, 0], method=method) == [(0, 0, 1)]


@kernels_only
def test_a_table_grows_as_often_as_it_must(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also under many blocks that reserve at once, and where growth interrupts a chunk."""
    generator = np.random.default_rng(7)
    ids = generator.integers(0, 2**32, 4000, dtype=np.uint32)
    expected = reference([ids.tolist()])
    for slots in (1, 16, 1024):
        for name, value in {"threads": 32, "cache_slots": 16, "table_slots": slots}.items():
            monkeypatch.setitem(pair_histogram_device.TUNING, name, value)
        assert count(backend, ids.tolist()) == expected


@kernels_only
@every_method
def test_chunks_end_anywhere(backend: Backend, method: str, small: None, monkeypatch: pytest.MonkeyPatch) -> None:
    documents = [[1, 2, 1], [], [2], [1, 2, 2, 2, 3], [], []]
    tokens, weights = Tokens.from_lists(documents), [3, 9, 9, 2**40, 9, 9]
    for chunk in range(1, len(tokens.ids) + 2):
        monkeypatch.setattr(pair_chunks, "MOST_POSITIONS", chunk)
        found = pair_histogram(tokens.ids, tokens.offsets, np.array(weights, np.uint64), **where(backend, method))
        assert rows(found) == reference(documents, weights), f"chunks of {chunk}"


@every_backend
@every_method
def test_nothing_to_count(backend: Backend, method: str, small: None) -> None:
    for ids, offsets in (([], None), ([], [0]), ([], [0, 0]), ([7], None), ([7], [0, 1]), ([7, 8], [0, 0, 1, 2])):
        array = None if offsets is None else np.array(offsets)
        assert count(backend, ids, array, method=method) == []
    assert count(backend, [1, 2, 3], np.array([0, 3]), np.zeros(1, np.uint64), method=method) == []


@every_backend
@every_method
def test_weights_near_64_bits(backend: Backend, method: str, small: None) -> None:
    ids, offsets = [5, 6, 5, 6, 7], np.array([0, 2, 5])
    assert count(backend, ids, offsets, np.array([2**63, 1], np.uint64), method=method) == [
        (5, 6, 2**63 + 1),
        (6, 7, 1),
    ]
    largest = np.array([2**64 - 1], np.uint64)
    assert count(backend, [5, 6], None, largest, method=method) == [(5, 6, 2**64 - 1)]
    for weights in ([2**63, 2**63], [2**64 - 1, 1], [0, 2**63]):
        with pytest.raises(ValueError, match="does not fit 64 bits"):
            count(backend, ids, offsets, np.array(weights, np.uint64), method=method)


@every_method
def test_positions_beyond_32_bits(method: str) -> None:
    """The last chunk of a corpus that no test can hold: positions and offsets near 2^40."""
    emulated, far = module("_emulated"), 2**40
    ids, weights = np.array([1, 2, 1, 2, 2, 1, 2], np.uint32), np.array([7, 2, 2**33], np.uint64)
    counter = emulated.PairCounter(method, lambda size, _: np.empty(size, np.uint8), 0, SMALL)
    counter.add(ids, far, np.array([0, far - 5, far + 3, far + 7]), weights)
    size = counter.order()
    columns = [np.empty(size, dtype) for dtype in (np.uint32, np.uint32, np.uint64)]
    counter.write(*columns)
    assert rows(PairHistogram(*columns)) == reference([ids[:3].tolist(), ids[3:].tolist()], [2, 2**33])


# ---------------------------------------------------------------------------------------------- tensors


def tensor(backend: Backend, values: Any, dtype: str) -> Any:
    """A torch tensor where the backend works."""
    torch = pytest.importorskip("torch")
    found = torch.tensor(values, dtype=torch.int64).to(getattr(torch, dtype))
    return found.cuda() if backend.kind == "cuda" else found


@every_backend
@pytest.mark.parametrize("dtype", ["uint32", "int32", "int64"])
def test_torch_tensors(backend: Backend, dtype: str, small: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted where they are, and answered in kind."""
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(pair_chunks, "MOST_POSITIONS", 5)
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
    monkeypatch.setattr(pair_chunks, "MOST_POSITIONS", 3)
    for position in (0, 7, 11):
        ids = [1] * 12
        ids[position] = value
        with pytest.raises(ValueError, match=rf"tokens\[{position}\] = {value} is not an id"):
            pair_histogram(tensor(backend, ids, dtype), **where(backend))
    with pytest.raises(ValueError, match=r"tokens\[0\]"):
        pair_histogram(tensor(backend, [value], dtype), **where(backend))


# ---------------------------------------------------------------------------------------------- bad input


@every_backend
def test_what_does_not_fit_is_refused(backend: Backend) -> None:
    ids, here = np.zeros(4, np.uint32), where(backend)
    bad_offsets: list[tuple[list[int], str]] = [
        ([], "at least one"),
        ([1, 4], "start at 0"),
        ([0, 5], "must end at 4"),
        ([0, 3], "must end at 4"),
        ([0, 3, 2, 4], r"must not fall: offsets\[2\] = 2 after 3"),
        ([0, 5, 4], "must not fall"),
    ]
    for offsets, message in bad_offsets:
        with pytest.raises(ValueError, match=message):
            pair_histogram(ids, np.array(offsets, np.int64), **here)
    with pytest.raises(ValueError, match="weights must hold 1"):
        pair_histogram(ids, weights=np.ones(2, np.uint64), **here)
    with pytest.raises(ValueError, match="weights must hold 2"):
        pair_histogram(ids, np.array([0, 2, 4]), np.ones(1, np.uint64), **here)
    with pytest.raises(ValueError, match=r"negative: weights\[0\] = -1"):
        pair_histogram(ids, weights=np.array([-1]), **here)
    with pytest.raises(TypeError, match="uint32"):
        pair_histogram(ids.astype(np.int64), **here)
    with pytest.raises(TypeError, match="int64"):
        pair_histogram(ids, np.array([0, 4], np.int32), **here)
    with pytest.raises(TypeError, match="64"):
        pair_histogram(ids, weights=np.ones(1, np.float64), **here)
    with pytest.raises(ValueError, match="one dimension"):
        pair_histogram(ids.reshape(2, 2), **here)
    with pytest.raises(InputError, match="tokens must be an array"):
        pair_histogram([1, 2, 3], **here)


@kernels_only
def test_bad_tensors_are_refused(backend: Backend) -> None:
    ids, here = tensor(backend, [1, 2, 3, 4], "int32"), where(backend)
    bad_offsets: list[tuple[list[int], str]] = [
        ([1, 4], "start at 0"),
        ([0, 5], "must end at 4"),
        ([0, 3, 2, 4], r"must not fall: offsets\[2\] = 2 after 3"),
        ([0, -(2**63), 2**63 - 1, 4], "must not fall"),
    ]
    for offsets, message in bad_offsets:
        with pytest.raises(ValueError, match=message):
            pair_histogram(ids, tensor(backend, offsets, "int64"), **here)
    two = tensor(backend, [0, 2, 4], "int64")
    with pytest.raises(ValueError, match=r"negative: weights\[1\] = -1"):
        pair_histogram(ids, two, tensor(backend, [1, -1], "int64"), **here)
    with pytest.raises(ValueError, match="weights must hold 2"):
        pair_histogram(ids, two, tensor(backend, [1], "int64"), **here)
    with pytest.raises(ValueError, match="64 bits"):
        pair_histogram(ids, tensor(backend, [0, 4], "int64"), tensor(backend, [2**63 - 1], "int64"), **here)
    with pytest.raises(ValueError, match="contiguous"):
        pair_histogram(ids[::2], **here)
    with pytest.raises(TypeError, match="not int16"):
        pair_histogram(tensor(backend, [1, 2], "int16"), **here)
    torch = pytest.importorskip("torch")
    with pytest.raises(InputError, match="grad"):
        pair_histogram(torch.ones(3, requires_grad=True), **here)


@kernels_only
def test_sums_of_weights_near_64_bits(backend: Backend) -> None:
    """Of one thread, which takes every 4,096th segment here, and of several."""
    segments, largest = 5000, 2**63 - 1
    ids, offsets = tensor(backend, [1, 2] * segments, "int32"), tensor(backend, range(0, 2 * segments + 1, 2), "int64")
    for heavy, fits in (((0, 4096), True), ((0, 1), True), ((0, 4096, 9), False), ((0, 1, 4096), False)):
        weights = [0] * segments
        for segment in heavy:
            weights[segment] = largest
        there = tensor(backend, weights, "int64")
        if fits:
            histogram: Any = pair_histogram(ids, offsets, there, **where(backend))
            (total,) = histogram.count.cpu().numpy().tolist()
            assert total == 2 * largest
        else:
            with pytest.raises(ValueError, match="does not fit 64 bits"):
                pair_histogram(ids, offsets, there, **where(backend))


def test_a_stream_that_is_no_handle_is_refused() -> None:
    counter = module("_emulated").PairCounter("hash", lambda size, _: np.empty(size, np.uint8))
    with pytest.raises(ValueError, match="stream must be a CUDA handle, which -1 is not"):
        counter.order(-1)


@kernels_only
def test_dense_names_the_id_that_is_too_large(backend: Backend, small: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pair_chunks, "MOST_POSITIONS", 40)
    for position in (0, 50, 99):
        ids = [63] * 100
        ids[position] = 64
        with pytest.raises(ValueError, match=rf"tokens\[{position}\] = 64.*below 64; use method 'hash'"):
            count(backend, ids, method="dense")


def test_where_and_how() -> None:
    ids = np.zeros(4, np.uint32)
    with pytest.raises(InputError, match="unknown method 'hsah'; did you mean 'hash'"):
        pair_histogram(ids, method="hsah")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="method 'sort' is for CUDA"):
        pair_histogram(ids, method="sort")
    with pytest.raises(InputError, match="unknown device 'gpu'"):
        pair_histogram(ids, device="gpu")
    for device in ("cpu", "emulated"):
        if device == "emulated":
            module("_emulated")
        with pytest.raises(InputError, match="stream is for CUDA"):
            pair_histogram(ids, device=device, stream=1)
    cuda = Device(is_cuda=True, number=0)
    with pytest.raises(InputError, match="stream belongs to cuda:1"):
        stream_handle(SimpleNamespace(device_id=1, ptr=5), library_of(ids, pair_histogram_device.HOST), cuda)


def test_cuda_without_a_device_says_why() -> None:
    from pyharness.kernels.devices import CudaUnavailable, cuda_reason

    if cuda_reason() is None:
        pytest.skip("there is a CUDA device")
    with pytest.raises(CudaUnavailable, match="CUDA is not available"):
        pair_histogram(np.zeros(4, np.uint32), device="cuda")


def test_a_table_that_does_not_fit_says_what_it_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    module("_emulated")
    library = type(library_of(np.zeros(1), pair_histogram_device.HOST))
    empty = library.empty

    def limited(self: Any, shape: tuple[int, ...], dtype: str, device: Any) -> Any:
        if shape[0] > 1 << 16:
            raise MemoryError
        return empty(self, shape, dtype, device)

    monkeypatch.setattr(library, "empty", limited)
    with pytest.raises(
        MemoryError, match=r"needs [\d,]{6,} more bytes on cpu for the table of pairs, and [\d,]+ are free"
    ):
        pair_histogram(np.arange(20_000, dtype=np.uint32), device="emulated")


# ---------------------------------------------------------------------------------------------- uploads


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
    monkeypatch.setattr(pair_histogram_device, "uploads_for", pair_uploads.PinnedUploads)
    empty = pair_histogram_device.PairWorkspace.empty
    monkeypatch.setattr(
        pair_histogram_device.PairWorkspace, "empty", lambda *arguments: empty(*arguments).view(LateArray)
    )
    documents = np.array_split(np.random.default_rng(3).integers(0, 9, 500), 60)
    tokens = Tokens.from_lists([document.tolist() for document in documents])
    weights = np.arange(len(documents), dtype=np.uint64)
    for chunk in (1, 7, 64, 499, 10_000):
        monkeypatch.setattr(pair_chunks, "MOST_POSITIONS", chunk)
        found = pair_histogram(tokens.ids, tokens.offsets, weights, device="emulated")
        assert rows(found) == reference([document.tolist() for document in documents], weights.tolist())


# ---------------------------------------------------------------------------------------------- real text


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
    monkeypatch.setitem(pair_histogram_device.TUNING, "dense_ids", 256)
    ids = english.ids[:end] & np.uint32(255 if method == "dense" else WIDE)
    offsets = np.append(english.offsets[english.offsets < end], end)
    keys = np.delete(ids[:-1].astype(np.uint64) << np.uint64(32) | ids[1:], offsets[1:-1] - 1)
    pairs, counts = np.unique(keys, return_counts=True)
    order = np.lexsort((pairs, -counts))
    found = pair_histogram(ids, offsets, **where(backend, method))
    assert len(found) == len(pairs) > 2_000
    assert (found.left == pairs[order] >> np.uint64(32)).all()
    assert (found.right == (pairs[order] & np.uint64(WIDE))).all()
    assert (found.count == counts[order].astype(np.uint64)).all()

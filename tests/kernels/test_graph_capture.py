"""Streams that are captured into a graph: what a graph does again, and what is refused with the reason."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from backends import Backend, backend, module
from pyharness import _core
from pyharness.kernels import arrays, entropy, linear_entropy, pair_histogram, place
from pyharness.types import InputError

__all__ = ["backend"]  # the fixture

emulated_only = pytest.mark.parametrize("backend", [Backend("emulated", "1")], indirect=True, ids=str)
LOGITS = np.zeros((3, 40), np.float32)


@pytest.fixture
def capture() -> Iterator[Any]:
    """The emulator, capturing; wherever a test ends, it no longer is."""
    native = module("_emulated")
    native.begin_capture()
    yield native
    native.end_capture()
    native.set_entropy_tuning()


def drawn(seed: int, rows: int, columns: int) -> NDArray[np.float32]:
    return np.random.default_rng(seed).normal(0, 3, (rows, columns)).astype(np.float32)


@pytest.mark.parametrize("split", [None, "counted", "in a cluster"])
@pytest.mark.parametrize(("rows", "columns"), [(3, 700), (70, 7)])
def test_a_graph_does_it_again_with_what_the_memory_then_holds(
    capture: Any, rows: int, columns: int, split: str | None
) -> None:
    """Rows that several blocks share, too: a launch that is repeated has the name that it had."""
    if split:
        most = 0 if split == "counted" else 16
        capture.set_entropy_tuning(threads=64, blocks=40, loads_per_part=3, loads_of_short_rows=0, most_in_cluster=most)
    memory: list[NDArray[np.uint8]] = []  # that a graph works in is kept

    def allocate(size: int, purpose: str) -> NDArray[np.uint8]:
        memory.append(np.full(size, 0xFF, np.uint8))
        return memory[-1]

    logits, found = drawn(0, rows, columns), np.full(rows, np.nan, np.float32)
    capture.entropy(logits, entropy=found, allocate=allocate)
    assert np.isnan(found).all()
    assert bool(memory) == (split is not None and rows * columns > 1000)
    capture.end_capture()
    for seed in (0, 1, 2):
        logits[...] = drawn(seed, rows, columns)
        expected = np.empty(rows, np.float32)
        _core.entropy(logits, entropy=expected)
        capture.set_seed(seed)
        capture.replay()
        np.testing.assert_allclose(found, expected, atol=2e-6)


def test_the_emulator_refuses_to_wait_as_a_device_does(capture: Any) -> None:
    with pytest.raises(capture.EmulatorError, match="cannot be waited for"):
        capture.check_targets(np.zeros(3, np.int64), 40, allocate=lambda size, purpose: np.empty(size, np.uint8))


@emulated_only
@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: entropy(LOGITS, targets=np.zeros(3, np.int64), outputs=("nll",)), "targets"),
        (lambda: linear_entropy(LOGITS, np.ones((9, 40), np.float32)), "max_bytes"),
        (lambda: pair_histogram(np.arange(9, dtype=np.uint32), device="emulated"), "outside"),
    ],
)
def test_what_waits_for_the_device_is_refused(
    backend: Backend, capture: Any, call: Callable[[], Any], said: str
) -> None:
    with pytest.raises(InputError, match="captured") as refused:
        call()
    assert said in str(refused.value)
    capture.end_capture()
    call()


@emulated_only
def test_what_only_enqueues_work_is_not(backend: Backend, capture: Any) -> None:
    entropy(LOGITS)
    linear_entropy(LOGITS, np.ones((9, 40), np.float32), max_bytes=1 << 20)


@emulated_only
def test_a_library_that_hands_the_memory_out_again_is_refused(
    backend: Backend, capture: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As cupy's does."""
    assert not arrays._Cupy.keeps_memory_of_graphs
    monkeypatch.setattr(place, "library_of", lambda *_: SimpleNamespace(keeps_memory_of_graphs=False))
    with pytest.raises(InputError, match="torch"):
        entropy(LOGITS)


@pytest.mark.cuda
def test_a_graph_of_torch() -> None:
    """Few rows, whose blocks join; and a refusal does not end the capture."""
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("torch sees no GPU")
    logits = torch.randn(8, 100_000, device="cuda")
    entropy(logits)  # libraries are loaded outside of the capture
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found = entropy(logits).entropy
        with pytest.raises(InputError, match="outside"):
            pair_histogram(torch.arange(9, device="cuda", dtype=torch.int32))
    for _ in range(3):
        logits.normal_(0, 3)
        graph.replay()
        torch.testing.assert_close(found, entropy(logits).entropy, atol=2e-6, rtol=0)

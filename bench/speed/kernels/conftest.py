"""Where a kernel's benchmark runs, and how it is compared: in turn with its peer, round by round."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

import pytest

from pyharness.features.profiling.cpu import Cpu
from pyharness.kernels.devices import cuda_reason

ROUNDS = 7


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.cuda)])
def device(request: pytest.FixtureRequest) -> str:
    """Name of the device, for torch; skipped with the reason where there is none."""
    if request.param == "cuda" and (reason := cuda_reason()) is not None:
        pytest.skip(reason)
    return str(request.param)


@pytest.fixture
def torch(device: str) -> Any:
    """torch, on as many threads as ours uses, none of which spins."""
    Cpu(2)  # before torch is loaded
    library = pytest.importorskip("torch")
    library.set_num_threads(2)
    if device == "cuda" and not library.cuda.is_available():
        pytest.skip("this torch has no CUDA")
    return library


@pytest.fixture
def side_by_side(device: str, torch: Any, benchmark: Any) -> Callable[..., Any]:
    """Benchmark ``ours`` and give its result; record how many times as long peers take, by medians of paired calls."""
    clock = Cpu(2)

    def waiting(call: Callable[[], Any]) -> Callable[[], Any]:
        if device == "cpu":
            return call

        def called() -> Any:
            result = call()
            torch.cuda.synchronize()
            return result

        return called

    def compare(ours: Callable[[], Any], **peers: Callable[[], Any]) -> Any:
        for name, peer in peers.items() if benchmark.enabled else ():
            pairs = [
                (clock.time(waiting(peer), "warm").seconds, clock.time(waiting(ours), "warm").seconds)
                for _ in range(ROUNDS)
            ]
            ratio = statistics.median(theirs / own for theirs, own in pairs)
            benchmark.extra_info[f"{name} / ours"] = ratio
            print(f"\n{benchmark.name}: {name} takes {ratio:.2f} times as long as ours")  # noqa: T201
        return benchmark(waiting(ours))

    return compare

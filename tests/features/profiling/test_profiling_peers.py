"""What a GPU's peers compute, with arrays of the host and doubles of what is not installed."""

from __future__ import annotations

import re
import sys
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from backends import module
from pyharness import kernels
from pyharness.features.profiling.arrays import on_device
from pyharness.features.profiling.kernels import entropy, linear_peers, pair_histogram, pair_peers
from pyharness.features.profiling.types import Peer, Problem, profiles
from pyharness.kernels import pair_histogram as right_histogram
from pyharness.kernels import place
from pyharness.kernels.device_pairs import count_on_device
from pyharness.types import Unsupported


def named(peers: tuple[Peer, ...], name: str) -> Peer:
    return next(peer for peer in peers if peer.name == name)


@pytest.mark.parametrize(("vocabulary", "bytes_per_key"), [(300, 4), (1 << 16, 4), (1 << 17, 8)])
def test_packed_keys_are_as_narrow_as_the_ids_allow(vocabulary: int, bytes_per_key: int) -> None:
    tokens = np.random.default_rng(0).integers(0, vocabulary, 5000).astype(np.uint32)
    tokens[:4] = vocabulary - 1
    keys = pair_peers.packed_keys(tokens, vocabulary)
    assert keys.itemsize == bytes_per_key
    assert (pair_peers.unpacked_keys(keys, vocabulary) == pair_peers.pair_keys(tokens)).all()


ON_CUDA = ["unordered", "CUB", "cupy sort", "cupy.unique", "our sort"]


@pytest.fixture(params=["numpy", "torch"])
def emulated(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The library of a GPU's arrays, with the emulated kernels for arrays of the host; numpy stands for cupy."""
    native = module("_emulated")
    monkeypatch.setitem(place.MODULES, "cpu", lambda: native)
    monkeypatch.setattr(pair_peers, "count_on_device", on_emulator)
    monkeypatch.setattr(kernels, "pair_histogram", histogram_on_emulator)
    library = np if request.param == "numpy" else pytest.importorskip("torch")
    monkeypatch.setattr(pair_peers, "array_library", lambda kind: library)
    monkeypatch.setattr(pair_histogram, "array_library", lambda kind: library)
    monkeypatch.setattr(pair_histogram, "placed", lambda library, kind: nullcontext())
    monkeypatch.setattr(pair_histogram, "on_device", lambda array, library, kind: on_device(array, library, "cpu"))
    return library


def on_emulator(tokens: Any, offsets: Any, weights: Any, method: str, where: Any, stream: Any, **more: Any) -> Any:
    return count_on_device(tokens, offsets, weights, method, "emulated", stream, **more)


def histogram_on_emulator(
    tokens: Any, offsets: Any = None, weights: Any = None, threads: int = 1, **more: Any
) -> kernels.PairHistogram:
    return right_histogram(tokens, offsets, weights, threads, **{**more, "device": "emulated"})


@pytest.mark.parametrize("variant", ["", "segments", "weights", "host"])
def test_every_peer_of_a_gpu_counts_what_ours_does(
    emulated: Any, variant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pair_histogram, "EXCERPT", 300)
    monkeypatch.setattr(pair_histogram, "PHRASES", 64)  # so that few tokens repeat
    problem = Problem((2000, 70_001), "uint32", "cuda", 1, variant=variant)
    if variant == "host" and emulated is not np:
        with pytest.raises(Unsupported, match="cupy"):
            profiles()["pair_histogram"].prepare(problem)
        return
    task = profiles()["pair_histogram"].prepare(problem)
    ours = task.ours()
    assert task.check(ours) is None
    names = [peer.name for peer in task.peers]
    assert names == {"": ON_CUDA, "host": []}.get(variant, ["unordered", "our sort"])
    assert set(names) <= set(profiles()["pair_histogram"].peers)
    for peer in task.peers:
        if emulated is not np and peer.name.startswith("cupy"):
            with pytest.raises(Unsupported, match="cupy"):
                peer.build()
        else:
            assert peer.differs(peer.build()(), ours) is None, peer.name
    floor = task.floor(ours)
    segments = 0 if variant in ("", "host") else int(re.search(r"; ([\d,]+) ", task.data)[1].replace(",", ""))  # type: ignore[index]
    arrays = {"segments": 8 * (segments + 1), "weights": 8 * (2 * segments + 1)}.get(variant, 0)
    assert floor.bytes == 4 * 2000 + arrays + 16 * len(ours)
    assert "in host memory" in task.data if variant == "host" else "host" not in task.data


@pytest.mark.parametrize("variant", ["segments", "weights"])
def test_a_wrong_boundary_or_weight_is_seen(variant: str) -> None:
    task = profiles()["pair_histogram"].prepare(Problem((5000, 70), "uint32", "cpu", 1, variant=variant))
    ours = task.ours()
    assert task.check(ours) is None
    ours.count[0] += 1
    assert re.search(r" \d+, .*\d+ pairs", str(task.check(ours)))


@pytest.mark.parametrize(("tokens", "mean"), [(2, 5), (1000, 5), (12_345, 500)])
def test_synthetic_segments_end_where_the_tokens_do(tokens: int, mean: int) -> None:
    offsets = pair_histogram.synthetic_offsets(tokens, mean)
    assert offsets.dtype == np.int64
    assert (offsets[0], offsets[-1]) == (0, tokens)
    assert (np.diff(offsets) > 0).all()
    assert np.diff(offsets).max() < 2 * mean


@pytest.mark.parametrize("tokens", [1, 2, 4, 5, 9, 20])
def test_the_first_tokens_have_their_own_segments(tokens: int) -> None:
    given = pair_histogram.PairInput(np.arange(9), np.array([0, 2, 2, 5, 9]), np.array([3, 4, 5, 6]))
    part = given.first(tokens)
    ends, weights = part.offsets, part.weights
    assert ends is not None
    assert weights is not None
    assert ends[-1] == len(part.tokens) == min(tokens, 9)
    assert len(weights) == len(ends) - 1
    assert part.pairs() == sum(
        weight * max(min(end, tokens) - min(begin, tokens) - 1, 0)
        for begin, end, weight in ((0, 2, 3), (2, 5, 5), (5, 9, 6))
    )


def test_sorted_keys_of_cupy_have_their_counts() -> None:
    tokens = np.random.default_rng(1).zipf(1.5, 4000).clip(max=70_000).astype(np.uint32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pair_peers, "array_library", lambda kind: np)  # which has all that is called here
        peer, ours = pair_peers.cupy_peers(tokens, 70_001)[0], kernels.pair_histogram(tokens)
        assert "64 bits" in peer.about
        keys, counts = peer.build()()
    assert peer.differs((keys, counts), ours) is None
    counts[3] += 1
    assert str(peer.differs((keys, counts), ours)).startswith("count 3 ")
    assert peer.differs((keys[1:], counts[1:]), ours) is not None


@pytest.mark.parametrize(("vocabulary", "bits"), [(1, 2), (2, 2), (3, 4), (131_072, 34), (131_073, 36), (1 << 32, 64)])
def test_cub_sorts_the_bits_in_use(vocabulary: int, bits: int) -> None:
    assert f" {bits} bits in use" in pair_peers.cub_peer(np.zeros(2, np.uint32), vocabulary).about


def test_more_tokens_than_cub_encodes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pair_peers, "MOST_RUNS", 1)
    with pytest.raises(Unsupported, match="fewer than 1 keys"):
        pair_peers.cub_peer(np.zeros(2, np.uint32), 9).build()


def test_chunks_of_all_bounds_are_held_against_the_product() -> None:
    task = profiles()["linear_entropy"].prepare(Problem((5, 16, 700), "fp32", "cpu", 1, variant="chunks"))
    ours = task.ours()
    assert [peer.name for peer in task.peers] == ["bare product", "64 MB", "256 MB", "2 GB"]
    for peer in task.peers:
        found = peer.build()()
        assert peer.differs(found, ours) is None, peer.name
        assert peer.differs(found * 1.1, ours) is not None, peer.name


@pytest.mark.parametrize("kernel", list(profiles()))
def test_peers_on_a_processor_are_declared(kernel: str) -> None:
    profile = profiles()[kernel]
    shape = tuple(max(axis.least, 3) for axis in profile.axes)
    task = profile.prepare(Problem(shape, profile.default_dtypes[-1], "cpu", 1))
    assert {peer.name for peer in task.peers} <= set(profile.peers)


def test_one_key_is_one_run() -> None:
    keys, counts = pair_peers.sorted_runs(np.array([7, 7, 7], np.uint32), np)
    assert (keys.tolist(), counts.tolist()) == ([7], [3])


def test_what_is_compiled_is_the_formula_for_one_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    asked: list[Any] = []

    def compile_nothing(function: Any, **options: Any) -> Any:
        asked.append(options)
        return function

    monkeypatch.setattr(torch, "compile", compile_nothing)
    monkeypatch.setattr(entropy, "torch_of", lambda problem: torch)
    hidden, weight = torch.ones(3, 2), torch.zeros(5, 2)
    problem = Problem((3, 2, 5), "fp32", "cuda", 1)
    monkeypatch.setattr(linear_peers, "torch_for", lambda kind: torch)
    on_logits, on_states = (
        entropy.torch_peers(hidden @ weight.T, problem), linear_peers.peers(hidden, weight, problem)
    )  # fmt: skip
    assert {peer.name for peer in on_logits} < set(profiles()["entropy"].peers)
    assert {peer.name for peer in on_states} < set(profiles()["linear_entropy"].peers)
    of_logits, of_states = (named(peers, "torch compiled") for peers in (on_logits, on_states))
    for peer in (of_logits, of_states):
        assert peer.build()().tolist() == pytest.approx([np.log(5)] * 3)
    assert asked == [{"dynamic": False, "fullgraph": True}] * 2


def test_liger_is_skipped_where_it_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linear_peers, "version_of", lambda name: None)
    for peer in linear_peers.liger(None, None, Problem((3, 4, 5), "fp32", "cuda", 1)):
        with pytest.raises(Unsupported, match=r"not installed: .*\bliger-kernel"):
            peer.build()


class Loss:
    """Liger's module, by torch."""

    def __init__(self, reduction: str) -> None:
        assert reduction == "none"

    def __call__(self, weight: Any, hidden: Any, targets: Any) -> Any:
        torch = pytest.importorskip("torch")
        return torch.nn.functional.cross_entropy(hidden @ weight.T, targets, reduction="none")


class Fused:
    """Liger's function that also gives entropies, by torch."""

    @staticmethod
    def apply(hidden: Any, weight: Any, targets: Any, *, return_entropy: bool) -> tuple[Any, Any]:
        torch = pytest.importorskip("torch")
        assert return_entropy
        entropies = torch.distributions.Categorical(logits=hidden @ weight.T).entropy()
        return Loss("none")(weight, hidden, targets), entropies


def test_what_liger_gives_is_compared_with_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    ops = SimpleNamespace(LigerFusedLinearScaledCrossEntropyFunction=Fused)
    monkeypatch.setitem(sys.modules, "liger_kernel", SimpleNamespace())
    monkeypatch.setitem(
        sys.modules, "liger_kernel.transformers", SimpleNamespace(LigerFusedLinearCrossEntropyLoss=Loss)
    )
    monkeypatch.setitem(sys.modules, "liger_kernel.ops", ops)
    monkeypatch.setattr(linear_peers, "version_of", lambda name: "1")
    generator = torch.Generator().manual_seed(3)
    hidden, weight = (torch.randn(shape, 16, generator=generator) for shape in (9, 7))
    ours = kernels.linear_entropy(hidden, weight).entropy
    for peer in linear_peers.liger(hidden, weight, Problem((9, 16, 7), "fp32", "cpu", 1)):
        found = peer.build()()
        assert peer.differs(found, ours) is None, peer.name
        assert peer.differs(found + 0.01, ours) is not None, peer.name
    del ops.LigerFusedLinearScaledCrossEntropyFunction
    with pytest.raises(Unsupported, match="gives no entropy"):
        peer.build()

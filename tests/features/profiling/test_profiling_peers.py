"""What a GPU's peers compute, with arrays of the host and doubles of what is not installed."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pyharness import kernels
from pyharness.features.profiling.kernels import entropy, linear_peers, pair_peers
from pyharness.features.profiling.types import Peer, Problem, profiles
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


def test_runs_of_sorted_keys_are_the_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = np.random.default_rng(1).zipf(1.5, 4000).clip(max=70_000).astype(np.uint32)
    monkeypatch.setitem(sys.modules, "cupy", np)  # which has all that is called here
    peers = pair_peers.cuda_peers(tokens, 70_001)
    assert [peer.name for peer in peers] == ["cupy.unique", "CUB sort", "our sort"]
    assert {peer.name for peer in peers} < set(profiles()["pair_histogram"].peers)
    peer, ours = named(peers, "CUB sort"), kernels.pair_histogram(tokens)
    assert "64 bits" in peer.about
    keys, counts = peer.build()()
    assert peer.differs((keys, counts), ours) is None
    counts[3] += 1
    assert str(peer.differs((keys, counts), ours)).startswith("count 3 ")
    assert peer.differs((keys[1:], counts[1:]), ours) is not None


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
    assert {peer.name for peer in on_states} == set(profiles()["linear_entropy"].peers)
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

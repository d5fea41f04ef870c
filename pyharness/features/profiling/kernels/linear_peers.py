"""Peers for entropy from hidden states: the product with torch's formula, and fused losses."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from pyharness import kernels
from pyharness.features.profiling.arrays import array_library, differs, torch_for
from pyharness.features.profiling.kernels.entropy import PRECISION, compiled, entropy_formula, torch_of
from pyharness.features.profiling.types import BYTES_OF, Peer, Problem
from pyharness.system.environment import version_of
from pyharness.types import Unsupported


def peers(hidden: Any, weight: Any, problem: Problem) -> tuple[Peer, ...]:
    """Return the bare product, which no entropy can beat, then peers that store the logits and peers that do not."""
    rows, _, vocabulary = problem.shape
    size = rows * vocabulary * BYTES_OF[problem.dtype]
    agrees = partial(differs, absolute=1e-4, relative=PRECISION[problem.dtype])

    def product() -> Callable[[], Any]:
        library = torch_for(problem.device) or array_library(problem.device)
        logits = hidden @ weight.T  # every call reuses these pages: allocation is not the product's work
        return lambda: library.matmul(hidden, weight.T, out=logits)

    def same_logits(logits: Any, ours: Any) -> str | None:
        return agrees(kernels.entropy(logits).entropy, ours)

    def unfused() -> Callable[[], Any]:
        torch = torch_of(problem)
        return lambda: _compute_unfused(torch, hidden, weight)

    bare = Peer("bare product", "hidden @ weight.T into allocated memory, without entropy", product, size, same_logits)
    about = "hidden @ weight.T, stored, then -(softmax * log_softmax).sum"
    others = [Peer("torch unfused", about, unfused, 4 * size, agrees)] if torch_for(problem.device) is not None else []
    if problem.device == "cuda":
        others.append(Peer("torch compiled", f"torch.compile of {about}",
                           lambda: compiled(problem, _compute_unfused, hidden, weight), 4 * size, agrees))  # fmt: skip
        others += liger(hidden, weight, problem)
    return (bare, *others)


def _compute_unfused(torch: Any, hidden: Any, weight: Any) -> Any:
    return entropy_formula(torch, hidden @ weight.T)


def liger(hidden: Any, weight: Any, problem: Problem) -> tuple[Peer, Peer]:
    """Return Liger's fused linear cross entropy, and its variant with entropy, which older versions lack.

    Source: https://github.com/linkedin/Liger-Kernel, LigerFusedLinearCrossEntropyLoss and
    LigerFusedLinearScaledCrossEntropyFunction; both take an id per row.
    """
    rows, _, vocabulary = problem.shape
    close = {"absolute": 1e-4, "relative": PRECISION[problem.dtype]}

    def targets() -> Any:
        return torch_of(problem).arange(rows, device=hidden.device) % vocabulary

    def losses() -> Callable[[], Any]:
        _require_liger()
        from liger_kernel.transformers import LigerFusedLinearCrossEntropyLoss

        loss, ids = LigerFusedLinearCrossEntropyLoss(reduction="none"), targets()
        return lambda: loss(weight, hidden, ids)

    def entropies() -> Callable[[], Any]:
        _require_liger()
        try:
            from liger_kernel.ops import LigerFusedLinearScaledCrossEntropyFunction as Fused
        except ImportError:
            raise Unsupported("this version gives no entropy: pip install 'liger-kernel>=0.8.5'") from None
        ids = targets()
        return lambda: Fused.apply(hidden, weight, ids, return_entropy=True)[1]

    def same_losses(found: Any, _entropies: Any) -> str | None:
        expected = kernels.linear_entropy(hidden, weight, targets=targets(), outputs=("nll",)).nll
        return differs(found, expected, **close)

    about = "fused linear cross entropy: the loss of a given id per row, and no entropy"
    needs = (rows + vocabulary) * problem.shape[1] * BYTES_OF[problem.dtype] + (1 << 28)
    return (
        Peer("Liger", about, losses, needs, same_losses),
        Peer("Liger entropy", "the same with the entropy", entropies, needs, partial(differs, **close)),
    )


def _require_liger() -> None:
    if version_of("liger-kernel") is None:
        raise Unsupported("not installed: pip install liger-kernel")

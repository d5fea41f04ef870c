"""What people call today for entropy from hidden states: the product and torch's formula, and fused losses."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from pyharness import kernels
from pyharness.profiling import BYTES_OF, Peer, Problem
from pyharness.profiling.arrays import array_library, differs, torch_for
from pyharness.profiling.kernels.entropy_peers import PRECISION, compiled, entropy_formula, torch_of
from pyharness.system.environment import version_of
from pyharness.types import Unsupported


def peers(hidden: Any, weight: Any, problem: Problem) -> tuple[Peer, ...]:
    """Return the bare product, which no entropy can beat, then what stores the logits and what does not."""
    rows, _, vocabulary = problem.shape
    size = rows * vocabulary * BYTES_OF[problem.dtype]
    agrees = partial(differs, absolute=1e-4, relative=PRECISION[problem.dtype])

    def product() -> Callable[[], Any]:
        library = torch_for(problem.device) or array_library(problem.device)
        logits = hidden @ weight.T  # fresh pages are not the product's work: every call writes into these
        return lambda: library.matmul(hidden, weight.T, out=logits)

    def same_logits(logits: Any, ours: Any) -> str | None:
        return agrees(kernels.entropy(logits).entropy, ours)

    def unfused() -> Callable[[], Any]:
        torch = torch_of(problem)
        return lambda: _unfused(torch, hidden, weight)

    found = [Peer("bare product", "hidden @ weight.T into memory at hand, and no entropy", product, size, same_logits)]
    about = "hidden @ weight.T, stored, then -(softmax * log_softmax).sum"
    if torch_for(problem.device) is not None:
        found.append(Peer("torch unfused", about, unfused, 4 * size, agrees))
    if problem.device == "cuda":
        found.append(Peer("torch compiled", f"torch.compile of {about}",
                          lambda: compiled(problem, _unfused, hidden, weight), 4 * size, agrees))  # fmt: skip
        found.append(liger(hidden, weight, problem))
    return tuple(found)


def _unfused(torch: Any, hidden: Any, weight: Any) -> Any:
    return entropy_formula(torch, hidden @ weight.T)


def liger(hidden: Any, weight: Any, problem: Problem) -> Peer:
    """Return Liger's fused linear cross entropy: the loss of given ids, compared with our own.

    Source: https://github.com/linkedin/Liger-Kernel, LigerFusedLinearCrossEntropyLoss.
    """
    rows, _, vocabulary = problem.shape

    def targets() -> Any:
        return torch_of(problem).arange(rows, device=hidden.device) % vocabulary

    def build() -> Callable[[], Any]:
        if version_of("liger-kernel") is None:
            raise Unsupported("not installed: pip install liger-kernel")
        from liger_kernel.transformers import LigerFusedLinearCrossEntropyLoss

        loss, ids = LigerFusedLinearCrossEntropyLoss(reduction="none"), targets()
        return lambda: loss(weight, hidden, ids)

    def same_losses(losses: Any, _entropies: Any) -> str | None:
        expected = kernels.linear_entropy(hidden, weight, targets=targets(), outputs=("nll",)).nll
        return differs(losses, expected, absolute=1e-4, relative=PRECISION[problem.dtype])

    about = "fused linear cross entropy: the loss of a given id per row, and no entropy"
    inputs = (rows + vocabulary) * problem.shape[1] * BYTES_OF[problem.dtype]
    return Peer("Liger", about, build, inputs + (1 << 28), same_losses)

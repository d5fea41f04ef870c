"""Next-token entropy beside torch's formula: ``pytest bench/speed/kernels``. Results are asserted first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pyharness.features.profiling.arrays import differs, normal
from pyharness.features.profiling.kernels.entropy import PRECISION, TOLERANCE, reference
from pyharness.kernels import entropy

ROWS = {"cpu": 256, "cuda": 16384}
ALL_OUTPUTS = ("entropy", "log_sum_exp", "nll", "max_probability", "argmax", "margin")


def formula(torch: Any, logits: Any) -> Any:
    return -(torch.softmax(logits, -1) * torch.log_softmax(logits, -1)).sum(-1)


@pytest.mark.parametrize("dtype", ["bf16", "fp32"])
@pytest.mark.parametrize("vocabulary", [50257, 128256])
def test_entropy(side_by_side: Callable[..., Any], torch: Any, device: Any, vocabulary: int, dtype: str) -> None:
    logits = normal(device, dtype, (ROWS[device], vocabulary), 3.0)
    ours = entropy(logits, threads=2).entropy
    exact = reference(logits[:8].double().cpu().numpy())
    assert differs(ours[:8], exact, TOLERANCE) is None
    assert differs(formula(torch, logits), ours, 1e-4, PRECISION[dtype]) is None
    timed = side_by_side(lambda: entropy(logits, threads=2), torch=lambda: formula(torch, logits))
    assert differs(timed.entropy, ours, 1e-6) is None


@pytest.mark.parametrize("dtype", ["bf16", "fp32"])
def test_all_outputs_beside_entropy_alone(
    side_by_side: Callable[..., Any], torch: Any, device: Any, dtype: str
) -> None:
    logits = normal(device, dtype, (ROWS[device], 50257), 3.0)
    targets = torch.arange(ROWS[device], device=device)

    def everything() -> Any:
        return entropy(logits, targets=targets, outputs=ALL_OUTPUTS, threads=2)

    results, row = everything(), torch.arange(len(logits), device=device)
    log_probabilities = torch.log_softmax(logits.double(), -1)
    assert differs(results.nll, -log_probabilities[row, targets], 1e-5) is None
    assert torch.equal(results.argmax, logits.argmax(-1))
    assert differs(results.margin, -log_probabilities.topk(2).values.diff(dim=-1)[:, 0], 1e-5) is None
    timed = side_by_side(everything, entropy_alone=lambda: entropy(logits, threads=2))
    assert differs(timed.entropy, results.entropy, 1e-6) is None

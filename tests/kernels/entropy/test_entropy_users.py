"""What entropy is for: patch boundaries and vocabulary curricula, their vectors reproduced from its outputs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from backends import Backend
from oracles import entropy as oracle
from pyharness.kernels import entropy

VECTORS = json.loads((Path(__file__).parents[2] / "support" / "vectors.json").read_text(encoding="utf-8"))["vectors"]
COLUMNS = 512
# A signal that equals a threshold must stay at or above it: within the accuracy of the kernels, upwards.
ACCURACY = 2e-6


def logits_of_entropy(nats: float) -> NDArray[np.float64]:
    """One column beside 511 lower ones, as far below as gives this entropy."""
    if nats == 0:
        return np.array([0.0] + [-np.inf] * (COLUMNS - 1))
    low, high = 0.0, 60.0
    for _ in range(60):
        middle = (low + high) / 2
        row = np.array([0.0] + [-middle] * (COLUMNS - 1), np.float32).astype(np.float64)
        low, high = (middle, high) if oracle.row_outputs(row, 0)[0] > nats else (low, middle)
    return np.array([0.0] + [-low] * (COLUMNS - 1))


def logits_of_nll(nats: float) -> NDArray[np.float64]:
    """Two columns; the first, the target, has this negative log-likelihood."""
    return np.array([0.0, np.log(np.expm1(nats)) if nats > 0 else -np.inf])


def entropies(backend: Backend, nats: list[float]) -> list[float]:
    """The signal as the kernel gives it."""
    rows = np.stack([logits_of_entropy(value + ACCURACY if value else 0.0) for value in nats])
    found = backend.get(entropy(backend.logits(rows, "float32")[0]).entropy)
    np.testing.assert_allclose(found, nats, atol=3 * ACCURACY, rtol=0)
    return [float(value) for value in found]


def nlls(backend: Backend, nats: list[float]) -> list[float]:
    rows = np.stack([logits_of_nll(value + ACCURACY if value else 0.0) for value in nats])
    targets = backend.put(np.zeros(len(nats), np.int64))
    found = backend.get(entropy(backend.logits(rows, "float32")[0], targets=targets, outputs=("nll",)).nll)
    np.testing.assert_allclose(found, nats, atol=3 * ACCURACY, rtol=0)
    return [float(value) for value in found]


@pytest.mark.parametrize("vector", VECTORS["blt_entropy"], ids=lambda vector: vector["name"])
def test_blt_patches(backend: Backend, vector: dict[str, Any]) -> None:
    arguments = dict(vector["input"])
    signal = entropies(backend, arguments.pop("h_nats"))
    assert oracle.blt_lengths(signal, **arguments) == vector["expected"]


@pytest.mark.parametrize("signal_of", [entropies, nlls])
@pytest.mark.parametrize("vector", VECTORS["vocab_curriculum_groups"], ids=lambda vector: vector["name"])
def test_vocabulary_curriculum(backend: Backend, vector: dict[str, Any], signal_of: Any) -> None:
    given = vector["input"]
    signal = signal_of(backend, given["signal_nats"])
    options = {"eps": given["eps"], "quantile": given.get("quantile")}
    for name, groups in vector["expected"].items():
        assert oracle.curriculum_groups(given["ids"], signal, strict=name == "strict", **options) == groups, name

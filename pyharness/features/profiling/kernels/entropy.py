"""Profile of ``kernels.entropy``: next-token entropy of logits [rows, V]."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyharness import kernels
from pyharness.features.profiling.arrays import differs, normal, on_host
from pyharness.features.profiling.kernels.entropy_peers import numpy_peers, torch_peers
from pyharness.features.profiling.types import BYTES_OF, Axis, Floor, Problem, Profile, Task
from pyharness.kernels.entropy import MOST_COLUMNS

FLOP_PER_LOGIT = 6  # subtract, scale, 2**z, add to s, multiply and add to w
TOLERANCE = 2e-6  # nats against float64: what the kernel promises
EXCERPT = 4  # rows
SPREAD = 3.0  # standard deviation of the logits


def floor(problem: Problem) -> Floor:
    """Read each logit once, write a float32 per row."""
    rows, vocabulary = problem.shape
    logits = rows * vocabulary
    return Floor(logits * BYTES_OF[problem.dtype] + 4 * rows, FLOP_PER_LOGIT * logits, matrix_flop=0, tokens=rows)


def reference(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Entropy in nats of every row [rows, V], from the definition in float64."""
    shifted = logits - logits.max(axis=1, keepdims=True)
    log_probabilities = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    entropies: NDArray[np.float64] = -(np.exp(log_probabilities) * log_probabilities).sum(axis=1)
    return entropies


def prepare(problem: Problem) -> Task:
    """Draw the logits and name the contenders."""
    logits = normal(problem.device, problem.dtype, (problem.shape[0], problem.shape[1]), SPREAD)
    threads = problem.threads if problem.device == "cpu" else None

    def ours() -> Any:
        return kernels.entropy(logits, threads=threads).entropy

    def check(result: Any) -> str | None:
        expected = reference(on_host(logits[:EXCERPT]).astype(np.float64))
        return differs(result[:EXCERPT], expected, TOLERANCE)

    return Task(
        problem,
        f"normally distributed logits, standard deviation {SPREAD:g}",
        ours,
        check,
        (*torch_peers(logits, problem), *numpy_peers(logits, problem)),
        lambda _: floor(problem),
    )


PROFILES = (
    Profile(
        "entropy",
        "next-token entropy of logits, one pass",
        axes=(Axis("ROWS"), Axis("V", most=MOST_COLUMNS)),
        dtypes=("bf16", "fp16", "fp32"),
        default_dtypes=("bf16", "fp32"),
        shapes={
            "cpu": ((128, 50257), (64, 128256)),
            # Long rows, few of them, and those of a model of bytes.
            "cuda": ((16384, 32000), (16384, 128256), (16384, 256000), (64, 128256), (1 << 20, 260)),
        },
        floor=floor,
        needs=lambda problem: floor(problem).bytes,
        prepare=prepare,
        peers=("torch softmax", "torch Categorical", "torch compiled", "numpy"),
    ),
)

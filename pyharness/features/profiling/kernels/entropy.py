"""Profile of ``kernels.entropy``: next-token entropy of logits [rows, V]."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyharness import kernels
from pyharness.features.profiling.arrays import differs, normal, on_host, torch_for
from pyharness.features.profiling.types import BYTES_OF, Axis, Floor, Peer, Problem, Profile, Task
from pyharness.kernels.entropy import MOST_COLUMNS
from pyharness.types import Unsupported

FLOP_PER_LOGIT = 6  # subtract, scale, 2**z, add to s, multiply and add to w
TOLERANCE = 2e-6  # nats against float64: the kernel's promise
EXCERPT = 4  # rows
SPREAD = 3.0  # standard deviation of the logits


def floor(problem: Problem) -> Floor:
    """Return the floor: read each logit once, write a float32 per row."""
    rows, vocabulary = problem.shape
    logits = rows * vocabulary
    return Floor(logits * BYTES_OF[problem.dtype] + 4 * rows, FLOP_PER_LOGIT * logits, matrix_flop=0, tokens=rows)


def reference(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute the entropy in nats of every row [rows, V] by the definition, in float64."""
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
            # Long rows, few rows, and rows of a model of bytes.
            "cuda": ((16384, 32000), (16384, 128256), (16384, 256000), (64, 128256), (1 << 20, 260)),
        },
        floor=floor,
        needs=lambda problem: floor(problem).bytes,
        prepare=prepare,
        peers=("torch softmax", "torch Categorical", "torch compiled", "numpy"),
        only_reads=True,
    ),
)


# Relative tolerance for a peer's own arithmetic: log-probabilities of 8 to 16, rounded to bf16, are off by up to 2**-5,
# and so is the logarithm of each probability; fp16 has three bits more.
PRECISION = {"bf16": 6e-2, "fp16": 8e-3, "fp32": 1e-4}


def torch_peers(logits: Any, problem: Problem) -> tuple[Peer, ...]:
    """Return torch's peers; torch.compile only on CUDA, where it makes one fused kernel."""
    size = problem.shape[0] * problem.shape[1] * BYTES_OF[problem.dtype]
    agrees = partial(differs, absolute=1e-4, relative=PRECISION[problem.dtype])

    def bound(function: Callable[[Any, Any], Any]) -> Callable[[], Any]:
        torch = torch_of(problem)
        return lambda: function(torch, logits)

    formula = "-(softmax * log_softmax).sum in the logits' dtype"
    categorical = "distributions.Categorical(logits=...).entropy() in the logits' dtype"
    peers = [
        Peer("torch softmax", formula, lambda: bound(entropy_formula), 3 * size, agrees),
        Peer("torch Categorical", categorical, lambda: bound(_categorical), 4 * size, agrees),
    ]
    if problem.device == "cuda":
        about = f"torch.compile of {formula}"
        peers.append(Peer("torch compiled", about, lambda: compiled(problem, entropy_formula, logits),
                          3 * size, agrees))  # fmt: skip
    return tuple(peers)


def compiled(problem: Problem, function: Callable[..., Any], *arrays: Any) -> Callable[[], Any]:
    """Return a call of ``function(torch, *arrays)`` compiled by torch.compile for only this shape."""
    torch = torch_of(problem)
    torch.compiler.reset()  # after eight shapes of one function torch would stop compiling it
    call = torch.compile(lambda *values: function(torch, *values), dynamic=False, fullgraph=True)
    return lambda: call(*arrays)


def torch_of(problem: Problem) -> Any:
    """Return torch with the threads of a problem; raise ``Unsupported`` where it is unusable."""
    torch = torch_for(problem.device)
    if torch is None:
        raise Unsupported(f"torch for {problem.device} is not installed: pip install torch")
    if problem.device == "cpu":
        torch.set_num_threads(problem.threads)
    return torch


def entropy_formula(torch: Any, logits: Any) -> Any:
    """Compute entropy as users of torch write it, in the dtype of the logits."""
    return -(torch.softmax(logits, -1) * torch.log_softmax(logits, -1)).sum(-1)


def _categorical(torch: Any, logits: Any) -> Any:
    return torch.distributions.Categorical(logits=logits, validate_args=False).entropy()


def numpy_peers(logits: Any, problem: Problem) -> tuple[Peer, ...]:
    """Return numpy's formula, always with one thread, which is numpy's limit."""
    if problem.device != "cpu":
        return ()
    size = problem.shape[0] * problem.shape[1] * 4

    def build() -> Callable[[], Any]:
        if problem.dtype == "bf16":
            raise Unsupported("numpy has no bf16")
        array = np.asarray(logits)
        return lambda: _numpy_entropy(array)

    about = "log(sum exp z) - sum(z exp z) / sum exp z, z = x - max x, in float32 on one thread"
    agrees = partial(differs, absolute=1e-4, relative=PRECISION["fp32"])
    return (Peer("numpy", about, build, 3 * size, agrees),)


def _numpy_entropy(logits: Any) -> Any:
    shifted = logits.astype(np.float32, copy=False) - logits.max(axis=1, keepdims=True)
    weights = np.exp(shifted)
    total = weights.sum(axis=1)
    return np.log(total) - (shifted * weights).sum(axis=1) / total

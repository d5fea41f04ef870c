"""Profile of ``kernels.linear_entropy``: entropy from hidden states [rows, d] and an unembedding [V, d]."""

from __future__ import annotations

from functools import partial
from math import sqrt
from typing import Any

import numpy as np

from pyharness import kernels
from pyharness.features.profiling.arrays import SEED, differs, normal, on_host, torch_for
from pyharness.features.profiling.kernels.entropy import FLOP_PER_LOGIT, PRECISION, SPREAD, reference
from pyharness.features.profiling.kernels.linear_peers import peers
from pyharness.features.profiling.types import BYTES_OF, Axis, Floor, Peer, Problem, Profile, Task
from pyharness.kernels.entropy import MOST_COLUMNS

EXCERPT = 2  # rows
CHUNK = 1 << 13  # vocabulary rows in float64 at a time
CHUNKS = {64 << 20: "64 MB", 256 << 20: "256 MB", 2 << 30: "2 GB"}  # bounds of memory, in the variant of that name


def floor(problem: Problem) -> Floor:
    """Return the floor: read hidden states and weights once, write a float32 per row; mostly a matrix product."""
    rows, width, vocabulary = problem.shape
    inputs = (rows + vocabulary) * width * BYTES_OF[problem.dtype]
    product = 2 * rows * width * vocabulary
    return Floor(inputs + 4 * rows, product + FLOP_PER_LOGIT * rows * vocabulary, product, tokens=rows)


def needs(problem: Problem) -> int:
    """Return the bytes of the inputs and a small chunk of logits: the kernel adapts to free memory."""
    return floor(problem).bytes + (1 << 26)


def prepare(problem: Problem) -> Task:
    """Draw hidden states and weights so that logits have a standard deviation of 3."""
    rows, width, vocabulary = problem.shape
    hidden = normal(problem.device, problem.dtype, (rows, width), 1.0)
    weight = normal(problem.device, problem.dtype, (vocabulary, width), SPREAD / sqrt(width), SEED + 1)
    threads = problem.threads if problem.device == "cpu" else None
    if (torch := torch_for("cpu")) is not None and threads is not None:
        torch.set_num_threads(threads)  # for the product within our own call

    def ours() -> Any:
        return kernels.linear_entropy(hidden, weight, threads=threads).entropy

    def of_chunks(max_bytes: int) -> Peer:
        def call() -> Any:
            return kernels.linear_entropy(hidden, weight, threads=threads, max_bytes=max_bytes).entropy

        about = f"ours with max_bytes of {max_bytes:,}"
        agrees = partial(differs, absolute=1e-5, relative=PRECISION[problem.dtype])
        return Peer(CHUNKS[max_bytes], about, lambda: call, max_bytes, agrees)

    def check(result: Any) -> str | None:
        inputs = on_host(hidden[:EXCERPT]).astype(np.float64)
        parts = [on_host(weight[at : at + CHUNK]).astype(np.float64) for at in range(0, vocabulary, CHUNK)]
        expected = reference(np.concatenate([inputs @ part.T for part in parts], axis=1))
        return differs(result[:EXCERPT], expected, 1e-5, PRECISION[problem.dtype])

    others = peers(hidden, weight, problem)
    return Task(
        problem,
        f"normally distributed, logits of standard deviation {SPREAD:g}",
        ours,
        check,
        (others[0], *map(of_chunks, CHUNKS)) if problem.variant else others,
        lambda _: floor(problem),
    )


PROFILES = (
    Profile(
        "linear_entropy",
        "next-token entropy from hidden states and an unembedding, without storing the logits",
        axes=(Axis("ROWS"), Axis("D"), Axis("V", most=MOST_COLUMNS)),
        dtypes=("bf16", "fp16", "fp32"),
        default_dtypes=("bf16", "fp32"),
        shapes={
            "cpu": ((256, 768, 50257),),
            "cuda": ((16384, 1024, 128256), (16384, 4096, 128256)),
        },
        floor=floor,
        needs=needs,
        prepare=prepare,
        peers=("bare product", "torch unfused", "torch compiled", "Liger", "Liger entropy", *CHUNKS.values()),
        variants=("chunks",),
    ),
)

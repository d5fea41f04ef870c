"""Vocabulary: what a vocabulary holds and what its embedding costs; needs no text."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pyharness.benchmarks import Benchmark, Findings, Work
from pyharness.metrics.counting import state_arrays
from pyharness.metrics.vocabulary import REPORTED, embedding_parameters, scaffold_share, scaffold_tokens
from pyharness.types import Case, Measurement, State


def run(work: Work) -> Findings:
    """Count."""
    tokenizer = work.load()
    scaffold = scaffold_tokens(tokenizer)
    state = {"sizes": np.array([tokenizer.vocab_size, -1 if scaffold is None else scaffold], np.int64)}
    return replace(rederive(state, work.case), state=state)


def rederive(state: State, case: Case) -> Findings:
    """Every number from the sizes of the vocabulary."""
    vocab_size, scaffold = state_arrays.taken(state, "sizes", 2).tolist()
    width = int(case.parameters["width"])
    return Findings(
        (
            Measurement("vocabulary_size", vocab_size),
            Measurement("embedding_parameters", embedding_parameters(vocab_size, width), part=f"d={width}"),
            scaffold_share(vocab_size, None if scaffold < 0 else scaffold),
        )
    )


BENCHMARKS = (
    Benchmark(
        "vocabulary",
        "size, scaffold share, and the parameters of an embedding of each width",
        run,
        corpus="none",
        metrics=tuple(metric.name for metric in REPORTED),
        parameters={"width": [768, 2048, 4096]},
        rederive=rederive,
    ),
)

"""Vocabulary: what a vocabulary holds and what its embedding costs; needs no text."""

from __future__ import annotations

from pyharness.benchmarks import Benchmark, Findings, Work
from pyharness.metrics.vocabulary import REPORTED, embedding_parameters, scaffold_share
from pyharness.types import Measurement


def run(work: Work) -> Findings:
    """Count."""
    tokenizer, width = work.load(), int(work.case.parameters["width"])
    return Findings(
        (
            Measurement("vocabulary_size", tokenizer.vocab_size),
            Measurement("embedding_parameters", embedding_parameters(tokenizer.vocab_size, width), part=f"d={width}"),
            scaffold_share(tokenizer),
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
    ),
)

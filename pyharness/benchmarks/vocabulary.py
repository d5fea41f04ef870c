"""Vocabulary: its size, its scaffold tokens and the cost of its embedding; needs no text."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pyharness.benchmarks import Benchmark, Findings, Pace, Work, notes
from pyharness.metrics.counting import state_arrays
from pyharness.metrics.vocabulary import REPORTED, embedding_parameters, scaffold_share, scaffold_tokens
from pyharness.types import Case, Column, Measurement, Published, State, Table


def run(work: Work) -> Findings:
    """Count the vocabulary."""
    tokenizer = work.load()
    scaffold = scaffold_tokens(tokenizer)
    state = {"sizes": np.array([tokenizer.vocab_size, -1 if scaffold is None else scaffold], np.int64)}
    return replace(rederive(state, work.case), state=state)


def rederive(state: State, case: Case) -> Findings:
    """Compute every number again from the sizes of the vocabulary."""
    vocab_size, scaffold = state_arrays.taken(state, "sizes", 2).tolist()
    width = int(case.parameters["width"])
    return Findings(
        (
            Measurement("vocabulary_size", vocab_size),
            Measurement("embedding_parameters", embedding_parameters(vocab_size, width), part=f"d={width}"),
            scaffold_share(vocab_size, None if scaffold < 0 else scaffold),
        )
    )


PAPER = Published(  # a vocabulary of 32K on the Pile
    notes.SCAFFOLD_PAPER,
    (
        ("paper: BPE 32K", {"bytes_per_token": "3.879", "shannon_entropy": "11.2382", "redundancy": "0.2491"}),
        ("paper: Scaffold 32K", {"bytes_per_token": "3.889", "shannon_entropy": "11.2443", "redundancy": "0.2487"}),
    ),
    metrics=("scaffold_share", "replaced_token_share"),
)
TABLES = (
    Table(
        "Vocabulary size",
        title_with_text="Vocabulary size against tokens per word",
        columns=(
            Column("vocabulary_size", "V"),
            Column("tokens_per_word", "tok/word", optional=True),
            Column("tokens_per_whitespace_word", "tok/ws word", optional=True),
            Column("embedding_parameters", "{part}", each=True),
        ),
        notes=("d=...: parameters V x d of an embedding, in millions. V: without special tokens.", notes.provenance),
        sized=False,
        joined=("width",),
        needs=("vocabulary_size",),
    ),
    Table(
        "Use of the vocabulary",
        columns=(
            Column("bytes_per_token", "bytes/token", interval=True),
            Column("shannon_entropy", "entropy", interval=True),
            Column("redundancy", "redundancy", interval=True),
        ),
        notes=(
            "pyharness compare shows differences; their CIs are paired and narrower.",
            notes.lossy,
            notes.provenance,
        ),
        sized=False,
        joined=("width",),
        needs=("vocabulary_size", "bytes_per_token"),
        published=PAPER,
    ),
)

BENCHMARKS = (
    Benchmark(
        "vocabulary",
        "size, scaffold share, and the parameters of an embedding of each width",
        run,
        pace=Pace(0.3),
        corpus="none",
        place=7,
        metrics=REPORTED,
        tables=TABLES,
        parameters={"width": [768, 2048, 4096]},
        rederive=rederive,
    ),
)

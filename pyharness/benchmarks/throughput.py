"""Throughput: bytes and tokens per second of the library's own batch call.

Replayed text lies: a cache of pieces made one engine look 256 times faster. So the corpus is cut into slices, each
timed once: ``cold`` is the first slice in a fresh process, ``steady`` the slices after it, all new text; ``replay`` is
the last slice again, and labelled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from pyharness import tokenizers
from pyharness.benchmarks import Benchmark, Findings, Work, first_documents
from pyharness.benchmarks.compression import describe
from pyharness.timing import lap, median
from pyharness.types import Measurement, Tally, Tokens

STEADY_SLICES = 7
REPLAYS = 3
SECOND = 1e9


@dataclass(frozen=True, slots=True)
class Repetition:
    """One timed call: what it did and what it took (nanoseconds)."""

    direction: str  # encode | decode
    phase: str  # cold | steady | replay
    bytes: int
    tokens: int
    wall: int
    cpu: int


def slices_of(documents: Sequence[str], count: int) -> list[list[str]]:
    """Cut documents into ``count`` runs of about equal size; fewer documents than that give fewer slices."""
    sizes = np.cumsum([len(document.encode()) for document in documents])
    numbers = np.minimum((sizes - 1) * count // sizes[-1], count - 1)
    found = [[documents[i] for i in np.flatnonzero(numbers == number)] for number in range(count)]
    return [piece for piece in found if piece]


def run(work: Work) -> Findings:
    """Time cold, steady and replayed slices, encoding first, then decoding."""
    tally = Tally()
    documents = first_documents(work.text, int(work.case.parameters["bytes"]), tally)
    slices = slices_of(documents, 1 + STEADY_SLICES)
    if len(slices) < 3:
        return Findings(status="skipped", reason="fewer than three documents: nothing new to read after the first")
    tokenizer = work.load()
    laps = _time(lambda texts: tokenizers.timed_call(tokenizer, texts, work.threads), slices)
    tokens = [tokenizer.encode_batch(texts, work.threads) for texts in slices]
    repetitions = _describe("encode", laps, slices, tokens)
    laps = _time(lambda ids: tokenizers.timed_decode(tokenizer, ids, work.threads), tokens)
    repetitions += _describe("decode", laps, slices, tokens)
    details = {"tally": describe(tally), "repetitions": [asdict(repetition) for repetition in repetitions]}
    return Findings(tuple(_rates(repetitions)), details)


def _time(prepare: Callable[[Any], Callable[[], object]], slices: Sequence[Any]) -> list[tuple[int, str, Any]]:
    calls = [prepare(piece) for piece in slices]
    last = len(calls) - 1
    order = [
        (0, "cold"),
        *((index, "steady") for index in range(1, len(calls))),
        *[(last, "replay")] * REPLAYS,
    ]
    return [(index, phase, lap(calls[index])) for index, phase in order]


def _describe(
    direction: str,
    laps: Sequence[tuple[int, str, Any]],
    slices: Sequence[list[str]],
    tokens: Sequence[Tokens],
) -> list[Repetition]:
    sizes = [sum(len(text.encode()) for text in texts) for texts in slices]
    return [
        Repetition(direction, phase, sizes[index], len(tokens[index].ids), taken.wall, taken.cpu)
        for index, phase, taken in laps
    ]


def _rates(repetitions: Sequence[Repetition]) -> list[Measurement]:
    wanted = [("encode", "bytes", phase) for phase in ("cold", "steady", "replay")]
    wanted += [("encode", "tokens", "steady"), ("decode", "bytes", "steady")]
    found = []
    for direction, unit, phase in wanted:
        chosen = [r for r in repetitions if (r.direction, r.phase) == (direction, phase)]
        samples = tuple(getattr(r, unit) * SECOND / max(r.wall, 1) for r in chosen)
        found.append(Measurement(f"{direction}_{unit}_per_second", median(samples), part=phase, samples=samples))
    return found


BENCHMARKS = (
    Benchmark(
        "throughput",
        "bytes and tokens per second: encoding and decoding, cold, steady on new text, and replayed",
        run,
        corpus="required",
        metrics=("encode_bytes_per_second", "encode_tokens_per_second", "decode_bytes_per_second"),
        timed=True,
        parameters={"bytes": 2_000_000, "threads": "powers of two"},
    ),
)

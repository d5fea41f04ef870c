"""Latency: one short text per call, as a server sees it. Every input is new text of the corpus."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pyharness import tokenizers
from pyharness.benchmarks import Benchmark, Findings, Work, first_documents
from pyharness.benchmarks.compression import describe
from pyharness.timing import percentile, quick_laps
from pyharness.types import Measurement, Tally

LENGTHS = {32: 400, 512: 200, 8192: 60}  # bytes of an input -> inputs timed
WARM_UP = 20
QUANTILES = {"latency_p50": 0.50, "latency_p90": 0.90, "latency_p99": 0.99}
SECOND = 1e9


def inputs(documents: Sequence[str], size: int) -> Iterator[str]:
    """Cut running text into pieces of at most ``size`` bytes, at least three quarters of it, between code points."""
    data = "\n".join(documents).encode()
    start = 0
    while start + size <= len(data):
        piece = data[start : start + size].decode(errors="ignore")  # an unfinished code point at the end is left out
        start += max(len(piece.encode()), 1)
        yield piece


def run(work: Work) -> Findings:
    """Time single calls at each input length, after a warm-up on other text."""
    tally = Tally()
    needed = sum(size * (count + WARM_UP) for size, count in LENGTHS.items())
    documents = first_documents(work.text, 2 * needed, tally)
    tokenizer = work.load()
    found: list[Measurement] = []
    raw: dict[str, list[int]] = {}
    for size, count in LENGTHS.items():
        label = f"{size} B"
        texts = [text for text, _ in zip(inputs(documents, size), range(count + WARM_UP), strict=False)]
        if len(texts) <= WARM_UP + 10:
            reason = "the corpus has too little text for this input length"
            found += [Measurement(metric, None, reason=reason, part=label) for metric in QUANTILES]
            continue
        calls = [tokenizers.timed_call(tokenizer, [text], 1) for text in texts]
        raw[label] = quick_laps(calls)[WARM_UP:]
        found += [
            Measurement(metric, percentile(raw[label], share) / SECOND, part=label)
            for metric, share in QUANTILES.items()
        ]
    return Findings(tuple(found), {"tally": describe(tally), "nanoseconds": raw})


BENCHMARKS = (
    Benchmark(
        "latency",
        "seconds per single call at fixed input lengths: median, 90th and 99th percentile",
        run,
        corpus="required",
        metrics=tuple(QUANTILES),
        timed=True,
    ),
)

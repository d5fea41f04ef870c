"""Latency: one short text per call, as a server sees it. Every input is new text of the corpus."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np

from pyharness import tokenizers
from pyharness.benchmarks import Benchmark, Findings, Pace, Role, Work, first_documents, rounds
from pyharness.benchmarks.throughput import fingerprint
from pyharness.statistics.samples import percentile
from pyharness.system.timing import quick_laps
from pyharness.types import Column, Measurement, Plot, Table, Tally, Tokens

LENGTHS = {32: 400, 512: 200, 8192: 60}  # most bytes of an input -> most inputs timed
WARM_UP = 20
QUANTILES = {"latency_p50": 0.50, "latency_p90": 0.90, "latency_p99": 0.99}
RATIOS = {name: f"{name}_ratio" for name in QUANTILES}
SECOND = 1e9


def inputs(data: bytes, size: int, start: int) -> Iterator[tuple[str, int]]:
    """Cut running text into pieces of ``size`` bytes at most, between code points; yield each with the next offset."""
    while start + size <= len(data):
        piece = data[start : start + size].decode(errors="ignore")  # omits an unfinished code point at the end
        start += max(len(piece.encode()), 1)
        yield piece, start


def run(work: Work) -> Findings:
    """Time single calls on new text of each input length, after a warm-up on other text; then check the ids."""
    tally = Tally()
    needed = sum(size * (count + WARM_UP) for size, count in LENGTHS.items())
    data = "\n".join(first_documents(work.text, 2 * needed, tally)).encode()
    tokenizer = work.load()
    measurements: list[Measurement] = []
    raw: dict[str, list[int]] = {}
    encoded: list[Tokens] = []
    position = 0
    for size, count in LENGTHS.items():
        label = f"{size} B"
        cut = list(islice(inputs(data, size, position), count + WARM_UP))
        if len(cut) <= WARM_UP + 10:
            reason = "the corpus has too little text for this input length"
            measurements += [Measurement(metric, None, reason=reason, part=label) for metric in QUANTILES]
            continue
        position = cut[-1][1]
        texts = [text for text, _ in cut]
        timed = [tokenizers.timed_single(tokenizer, text) for text in texts]
        laps = quick_laps([one.call for one in timed])
        for text, one, (_, result) in zip(texts, timed, laps, strict=True):
            ids = one.result(result)
            if not isinstance(ids, Tokens) or not np.array_equal(ids.ids, tokenizer.encode_batch([text]).ids):
                reason = f"wrong ids: the timed single call differs from what was verified, on {text[:24]!r}"
                return Findings(status="failed", reason=reason, tally=tally)
            encoded.append(ids)
        raw[label] = [nanoseconds for nanoseconds, _ in laps[WARM_UP:]]
        measurements += [
            Measurement(metric, percentile(raw[label], share) / SECOND, part=label)
            for metric, share in QUANTILES.items()
        ]
    return Findings(tuple(measurements), {"nanoseconds": raw}, tally=tally, fingerprint=fingerprint(encoded))


TABLE = Table(
    "Latency of one call, µs",
    columns=(Column("latency_p50", "{part} p50", each=True), Column("latency_p99", "{part} p99", each=True)),
    notes=(rounds.no_ratio(RATIOS),),
    sized=False,
)

RATIO_TABLE = Table(
    "Median latency relative to the reference",
    columns=(Column("latency_p50_ratio", "{part} ratio", each=True, interval=True),),
    sized=False,
    needs=("latency_p50_ratio",),
)

PLOTS = (
    Plot(
        TABLE,
        "Time of one call by the length of its text: the median, and what 99 of 100 calls stay below.",
        axis="time of a call",
        log=True,
    ),
    Plot(RATIO_TABLE, "Median time of a call relative to the reference in the same round. Below 1 is faster.", at=1.0),
)

BENCHMARKS = (
    Benchmark(
        "latency",
        "seconds per single call at fixed input lengths: median, 90th and 99th percentile",
        run,
        corpus="required",
        place=2,
        metrics=(*QUANTILES, *RATIOS.values()),
        role=Role.TIMES,
        pace=Pace(1.9),
        tables=(TABLE, RATIO_TABLE),
        plots=PLOTS,
        parameters=rounds.PARAMETERS,
        settle=rounds.settle,
        relative=rounds.relative_to(RATIOS),
    ),
)

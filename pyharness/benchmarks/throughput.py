"""Throughput: bytes and tokens per second of the library's own batch call.

Replayed text misleads: a cache of pieces made one engine look 256 times faster. So the front of the corpus is cut into
slices: ``cold`` is the first slice in a fresh process, ``steady`` the slices after it, all new text, each timed once;
``replay`` is the last slice again, and labelled.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

import numpy as np

from pyharness import tokenizers
from pyharness.benchmarks import Benchmark, Findings, Pace, Role, Work, first_documents, rounds
from pyharness.benchmarks.notes import about_row
from pyharness.statistics import rounds as rounds_of_rows
from pyharness.statistics.samples import median, noise
from pyharness.system.timing import Lap, lap
from pyharness.types import (
    Answer,
    CaseResult,
    Column,
    Format,
    Measurement,
    Mismatch,
    Plot,
    Table,
    Tally,
    Tokenizer,
    Tokens,
    Unsupported,
    counted,
    listed,
)

STEADY_SLICES = 7
REPLAYS = 3
SECOND = 1e9


@dataclass(frozen=True, slots=True)
class Repetition:
    """One timed call: its work and its times (nanoseconds)."""

    direction: str  # encode | decode
    phase: str  # cold | steady | replay
    bytes: int
    tokens: int
    wall: int
    cpu: int


def slices_of(documents: Sequence[str], count: int) -> list[list[str]]:
    """Cut documents into ``count`` runs of about equal size; too few documents give fewer slices."""
    sizes = np.cumsum([len(document.encode()) for document in documents])
    numbers = np.minimum((sizes - 1) * count // sizes[-1], count - 1)
    slices = [[documents[i] for i in np.flatnonzero(numbers == number)] for number in range(count)]
    return [piece for piece in slices if piece]


def run(work: Work) -> Findings:
    """Time cold, steady and replayed slices, encoding first, then decoding; check the results of the timed calls."""
    tally = Tally()
    documents = first_documents(work.text, int(work.case.parameters["bytes"]), tally)
    slices = slices_of(documents, 1 + STEADY_SLICES)
    if len(slices) < 3:
        return Findings(status="skipped", reason="too few documents for three slices: nothing new to read")
    tokenizer = work.load()
    try:
        repetitions, tokens = _encoding(tokenizer, slices, work.threads)
        no_decoding = None
        try:
            repetitions += _decoding(tokenizer, slices, tokens, work.threads)
        except Unsupported as reason:
            no_decoding = str(reason)
    except Mismatch as reason:
        return Findings(status="failed", reason=str(reason), tally=tally)
    details = {"repetitions": [asdict(repetition) for repetition in repetitions]}
    return Findings(tuple(_rates(repetitions, no_decoding)), details, tally=tally, fingerprint=fingerprint(tokens))


def _order(slices: int) -> list[tuple[int, str]]:
    last = slices - 1
    return [(0, "cold"), *((index, "steady") for index in range(1, slices)), *[(last, "replay")] * REPLAYS]


def _encoding(tokenizer: Tokenizer, slices: Sequence[list[str]], threads: int) -> tuple[list[Repetition], list[Tokens]]:
    timed = [tokenizers.timed_call(tokenizer, texts, threads) for texts in slices]
    laps = [(index, phase, *lap(timed[index].call)) for index, phase in _order(len(slices))]
    tokens = [tokenizer.encode_batch(texts) for texts in slices]
    for index, phase, _, raw in laps:
        ids = timed[index].result(raw)
        if not isinstance(ids, Tokens) or not same(ids, tokens[index]):
            raise Mismatch(f"wrong ids: the timed call ({phase}, slice {index}) gave different ids than were verified")
    return _repetitions("encode", laps, slices, tokens), tokens


def _decoding(
    tokenizer: Tokenizer, slices: Sequence[list[str]], tokens: Sequence[Tokens], threads: int
) -> list[Repetition]:
    timed = [tokenizers.timed_decode(tokenizer, ids, threads) for ids in tokens]
    laps = [(index, phase, *lap(timed[index].call)) for index, phase in _order(len(slices))]
    expected = [b"".join(tokenizer.decode(ids.document(n)) for n in range(len(ids))) for ids in tokens]
    for index, phase, _, raw in laps:
        if timed[index].result(raw) != expected[index]:
            raise Mismatch(f"the timed decoding ({phase}, slice {index}) gave other text than was verified")
    return _repetitions("decode", laps, slices, tokens)


def same(given: Tokens, expected: Tokens) -> bool:
    """Return whether two batches hold the same ids, document by document."""
    return np.array_equal(given.offsets, expected.offsets) and np.array_equal(given.ids, expected.ids)


def fingerprint(batches: Sequence[Tokens]) -> str:
    """Return the digest of the ids of batches and of the ends of their documents."""
    state = hashlib.blake2b(digest_size=16)
    for tokens in batches:
        state.update(np.ascontiguousarray(tokens.ids, np.uint32).data)
        state.update(np.ascontiguousarray(tokens.offsets, np.int64).data)
    return state.hexdigest()


def _repetitions(
    direction: str, laps: Sequence[tuple[int, str, Lap, Any]], slices: Sequence[list[str]], tokens: Sequence[Tokens]
) -> list[Repetition]:
    sizes = [sum(len(text.encode()) for text in texts) for texts in slices]
    return [
        Repetition(direction, phase, sizes[index], len(tokens[index].ids), taken.wall, taken.cpu)
        for index, phase, taken, _ in laps
    ]


def _rates(repetitions: Sequence[Repetition], no_decoding: str | None) -> list[Measurement]:
    wanted = [("encode", "bytes", phase) for phase in ("cold", "steady", "replay")]
    wanted += [("encode", "tokens", "steady"), ("decode", "bytes", "steady")]
    measurements = []
    for direction, unit, phase in wanted:
        if direction == "decode" and no_decoding is not None:
            measurements.append(Measurement("decode_bytes_per_second", None, reason=no_decoding, part=phase))
            continue
        chosen = [r for r in repetitions if (r.direction, r.phase) == (direction, phase)]
        samples = tuple(getattr(r, unit) * SECOND / max(r.wall, 1) for r in chosen)
        measurements.append(Measurement(f"{direction}_{unit}_per_second", median(samples), part=phase, samples=samples))
    return measurements


STEADY = "encode_bytes_per_second", "steady"


def fastest(results: Sequence[CaseResult], data: Mapping[str, Any]) -> Iterator[Answer]:
    """Name the fastest row of each text, and the fastest of rows with equal ids, at the fewest threads of the run."""
    of_threads: dict[int, dict[str, list[Steady]]] = {}
    for result in results:
        for one in result.measurements:
            if (one.metric, one.part) == STEADY and one.value:
                threads = int(result.case.parameters.get("threads", 1))
                task = f"{result.case.corpus}, {counted(threads, 'thread')}"
                of_threads.setdefault(threads, {}).setdefault(task, []).append((result, one))
    for task, rows in of_threads.get(min(of_threads, default=0), {}).items():
        if len(rows) > 1:
            yield Answer("Fastest encoding", f"{_winner(rows)} ({task}).")
        vocabularies: dict[object, list[Steady]] = {}
        for row in rows:
            vocabularies.setdefault(about_row(data, row[0].case.tokenizer).get("vocabulary"), []).append(row)
        for vocabulary, same in vocabularies.items():
            if vocabulary is not None and len(same) > 1:
                yield Answer("Fastest of equal ids", f"{_winner(same)}, of {len(same)} rows ({task}).")


def _winner(rows: Sequence[Steady]) -> str:
    """Name the fastest row with its speed, and the rows tied with it or, without any, the next row."""
    (best, speed), *others = sorted(rows, key=lambda row: -(row[1].value or 0))
    tied = [result.case.tokenizer for result, one in others if not _differs(speed, one)]
    next_best, slower = others[0]
    behind = f", tied with {listed(tied)}" if tied else f", then {_speed(next_best, slower)}"
    return _speed(best, speed) + behind


def _speed(result: CaseResult, one: Measurement) -> str:
    return f"{result.case.tokenizer} at {(one.value or 0) / 1e6:,.3g} MB/s"


RATIOS = {"encode_bytes_per_second": "encode_speed_ratio", "decode_bytes_per_second": "decode_speed_ratio"}

WHOLE_PERCENT = Format("{:.0f}", 100, "%")
_IN_TURNS = " For steadier figures, interleave the rows: -b 'throughput?rounds=10'."
NOISY = 0.1  # spread of steady figures that makes them unreliable


def noisy(results: Sequence[CaseResult], data: Mapping[str, Any]) -> Iterator[str]:
    """Explain the spread, and name the rows with a large one."""
    del data
    yield "CV: coefficient of variation over repetitions. Mtok/s: million tokens per second, steady."
    steady = [(result.case.tokenizer, one) for result in results for one in result.measurements
              if one.part == "steady" and not one.paired]  # fmt: skip
    if rows := dict.fromkeys(row for row, one in steady if (noise(one.samples) or 0) > NOISY):
        yield f"CV above {100 * NOISY:.0f} %: {', '.join(rows)}." + _IN_TURNS * (
            not all(one.case.parameters.get("rounds") for one in results)
        )


Steady: TypeAlias = tuple[CaseResult, Measurement]


def _differs(one: Measurement, other: Measurement) -> bool:
    if len(one.samples) != len(other.samples) or min((*one.samples, *other.samples)) <= 0:
        return False
    interval = rounds_of_rows.ratio_interval(rounds_of_rows.ratios(one.samples, other.samples))
    return interval is not None and not interval[0] <= 1 <= interval[1]


TABLE = Table(
    "Throughput, MB/s",
    columns=(
        *(Column("encode_bytes_per_second", phase, part=phase) for phase in ("cold", "steady")),
        Column("encode_bytes_per_second", "steady CV %", part="steady", shows="spread", format=WHOLE_PERCENT),
        Column("encode_bytes_per_second", "replay", part="replay"),
        Column("encode_tokens_per_second", "Mtok/s", part="steady"),
        Column("decode_bytes_per_second", "decode", part="steady"),
        Column("decode_bytes_per_second", "decode CV %", part="steady", shows="spread", format=WHOLE_PERCENT),
    ),
    notes=(
        "cold: first text in a fresh process; steady: new text; replay: the same text again.",
        noisy,
        rounds.no_ratio(RATIOS),
    ),
    sized=False,
    per=("threads",),
)

RATIO_TABLE = Table(
    "Speed relative to the reference",
    columns=(
        Column("encode_speed_ratio", "encode ratio", part="steady", interval=True),
        Column("decode_speed_ratio", "decode ratio", part="steady", interval=True, optional=True),
    ),
    sized=False,
    per=("threads",),
    needs=("encode_speed_ratio",),
)

PLOTS = (
    Plot(
        Table(
            "Compression against throughput",
            columns=(
                Column("bytes_per_token", "bytes/token"),
                Column("encode_bytes_per_second", "MB/s", part="steady"),
            ),
            sized=False,
            joined=("threads",),
            needs=("bytes_per_token", "encode_bytes_per_second"),
        ),
        "Right: fewer tokens. Up: faster encoding of new text, with the first number of threads of the suite.",
        drawing="frontier",
        axis="throughput",
        log=True,
    ),
    Plot(
        Table(
            "Throughput on new text",
            columns=(
                Column("encode_bytes_per_second", "encode", part="steady", interval=True),
                Column("decode_bytes_per_second", "decode", part="steady", interval=True),
            ),
            notes=(noisy,),
            sized=False,
            per=("threads",),
        ),
        "A stroke is a repetition, a dot their median, a line its 95 % CI.",
        axis="throughput",
        log=True,
    ),
    Plot(
        RATIO_TABLE,
        "Speed relative to the reference in the same round; a stroke is a round. Above 1 is faster.",
        at=1.0,
    ),
)

BENCHMARKS = (
    Benchmark(
        "throughput",
        "bytes and tokens per second: encoding and decoding, cold, steady on new text, and replayed",
        run,
        corpus="required",
        place=1,
        metrics=(
            "encode_bytes_per_second",
            "encode_tokens_per_second",
            "decode_bytes_per_second",
            "encode_speed_ratio",
            "decode_speed_ratio",
        ),
        role=Role.TIMES,
        pace=Pace(1.0, 2.2),
        tables=(TABLE, RATIO_TABLE),
        plots=PLOTS,
        answers=fastest,
        parameters={"bytes": 2_000_000, "threads": "powers of two", **rounds.PARAMETERS},
        settle=rounds.settle,
        relative=rounds.relative_to(RATIOS),
    ),
)

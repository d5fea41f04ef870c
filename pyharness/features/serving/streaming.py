"""Streaming: decoding id by id, as servers do: the text of the whole, the ids that wait, the time of a step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle, islice
from typing import Any, Literal

import numpy as np

from pyharness.benchmarks import Benchmark, Findings, Pace, Role, Work, first_documents
from pyharness.features.serving.growth import GrowthFit, growth
from pyharness.features.serving.metrics import OF_STREAMING
from pyharness.features.serving.streams import Stream, shortest, stream, streams, whole
from pyharness.statistics.samples import percentile
from pyharness.types import (
    Answer,
    CaseResult,
    Column,
    HasVocabulary,
    Listing,
    Measurement,
    Table,
    Tally,
    Tokenizer,
    TokenKind,
    Unsupported,
    listed,
)

TEXT, RANDOM = "text", "random ids"
LONGEST_RANDOM = 48  # ids
MARKS = tuple(2**power for power in range(8, 17))  # steps whose time is taken
NEAR = 128  # steps up to a mark
MOST_SECONDS = 20.0  # for the long sequence of a method
GROWS = (0.4, 4.0)  # exponent and factor beyond which a step depends on its number
MOST_IDS = 12  # of a witness that a report shows
_NO_TEXT = (TokenKind.SPECIAL, TokenKind.UNKNOWN, TokenKind.ABSENT, TokenKind.UNUSED)


@dataclass(slots=True)
class MethodTrial:
    """What one method made of all sequences."""

    sequences: int = 0
    faults: Counter[str] = field(default_factory=Counter)  # by kind and source
    witness: dict[str, Any] | None = None  # the first sequence with a fault, cut to what is needed
    text_steps: int = 0
    held: int = 0  # ids that wait, summed over these steps
    most_held: int = 0
    steps: dict[int, list[float]] = field(default_factory=dict)  # seconds of steps up to each mark

    def add(self, source: str, ids: Sequence[int], method: Stream, tokenizer: Tokenizer) -> None:
        """Stream a sequence and compare it with the whole."""
        self.sequences += 1
        streamed, expected = stream(method, ids), whole(tokenizer, ids)
        if source == TEXT and len(streamed.held):
            self.text_steps += len(streamed.held)
            self.held += int(streamed.held.sum())
            self.most_held = max(self.most_held, int(streamed.held.max()))
        fault = streamed.fault(expected)
        if not fault:
            return
        self.faults[f"{fault}, {source}"] += 1
        if self.witness is None and not _is_cut(fault):
            self.witness = _witness(source, ids, method, tokenizer)

    def time(self, ids: Sequence[int], method: Stream) -> None:
        """Take the times of steps of a long sequence, up to ``MOST_SECONDS``."""
        streamed = stream(method, ids, MOST_SECONDS)
        for mark in MARKS:
            if mark <= len(streamed.steps) and not streamed.error:
                near = streamed.steps[mark - NEAR : mark].tolist()
                self.steps[mark] = [max(one, 1) / 1e9 for one in near]

    def wrong(self) -> int:
        """Return how many sequences have other text than the whole, ends aside."""
        return sum(count for kind, count in self.faults.items() if not _is_cut(kind))

    def growth(self) -> GrowthFit | None:
        """Return how the time of a step grows: by the lower quartile of those near each mark."""
        return growth({mark: [percentile(near, 0.25)] for mark, near in self.steps.items()})

    def grows(self) -> bool:
        """Whether a step takes longer the more steps there were."""
        fit = self.growth()
        return fit is not None and fit.exceeds(0.0, GROWS[1]) and fit.low > GROWS[0]

    def measurements(self, name: str) -> Iterator[Measurement]:
        """Yield every number."""
        why = "every sequence is compared"
        cut = sum(count for kind, count in self.faults.items() if _is_cut(kind))
        yield Measurement("stream_faults", self.wrong() / self.sequences, part=name, no_interval=why)
        yield Measurement("stream_cut_ends", cut / self.sequences, part=name, no_interval=why)
        if self.text_steps:
            yield Measurement("held_tokens", self.held / self.text_steps, part=name, no_interval=why)
            yield Measurement("most_held_tokens", self.most_held, part=name)
        for mark, near in self.steps.items():
            yield Measurement("stream_step_seconds", percentile(near, 0.25), part=f"{name}, step {mark}")
        if (fit := self.growth()) is not None:
            yield Measurement("stream_growth", fit.exponent, part=name)

    def details(self) -> dict[str, Any]:
        """Return what people look up."""
        fit = self.growth()
        interval = None if fit is None else [fit.low, fit.high]
        return {
            "faults": dict(sorted(self.faults.items())), "witness": self.witness, "grows": self.grows(),
            "growth_interval": interval, "steps_timed": max(self.steps, default=0),
        }  # fmt: skip


def _is_cut(kind: str) -> bool:
    return kind.startswith("end is missing")


def _witness(source: str, ids: Sequence[int], method: Stream, tokenizer: Tokenizer) -> dict[str, Any]:
    """Cut a sequence to the ids that show its fault, and stream these once more."""
    kept = shortest(method, ids, lambda shorter: whole(tokenizer, shorter))
    streamed, expected = stream(method, kept), whole(tokenizer, kept)
    fault = streamed.fault(expected)
    return {"source": source, "fault": fault, "ids": kept[:1000], "expected": expected[:1000],
            "got": (streamed.error or streamed.text)[:1000]}  # fmt: skip


def run(work: Work) -> Findings:
    """Stream texts and random ids by every method of the row, then time a long sequence."""
    tokenizer, tally = work.load(), Tally()
    documents = first_documents(work.text, int(work.case.parameters["bytes"]), tally)
    tokens = tokenizer.encode_batch(documents)
    texts = [tokens.document(index).tolist() for index in range(len(tokens))]
    texts = [ids for ids in texts if ids]
    if not texts:
        raise Unsupported("the text has no tokens, so there is nothing to stream")
    sequences = [(TEXT, ids) for ids in texts]
    sequences += [(RANDOM, ids) for ids in random_sequences(tokenizer, int(work.case.parameters["sequences"]))]
    long = list(islice(cycle(tokens.ids.tolist()), MARKS[-1]))
    trials: dict[str, MethodTrial] = {}
    for name, method in streams(work.spec, tokenizer).items():
        trial = trials[name] = MethodTrial()
        for source, ids in sequences:
            trial.add(source, ids, method, tokenizer)
        trial.time(long, method)
    return Findings(
        tuple(one for name, trial in trials.items() for one in trial.measurements(name)),
        {"methods": {name: trial.details() for name, trial in trials.items()}, "sequences": len(sequences)},
        tally=tally,
    )


def random_sequences(tokenizer: Tokenizer, count: int, seed: int = 7) -> Iterator[list[int]]:
    """Yield sequences of 1 to ``LONGEST_RANDOM`` ids: half of any ids, half of ids that end or begin inside characters.

    Most of the latter are invalid UTF-8. Special, unknown, unused and absent ids are left out. A row that hides its
    vocabulary yields none.
    """
    if not isinstance(tokenizer, HasVocabulary):
        return
    vocabulary = tokenizer.vocabulary()
    usable = np.flatnonzero(~np.isin(vocabulary.kinds, _NO_TEXT))
    strings = vocabulary.strings()
    broken = np.array([token for token in usable.tolist() if _is_part(strings[token])], np.int64)
    draw = np.random.default_rng(seed)
    for number in range(count if len(usable) else 0):
        pool = broken if number % 2 and len(broken) else usable
        yield draw.choice(pool, int(draw.integers(1, LONGEST_RANDOM + 1))).tolist()


def _is_part(token: bytes) -> bool:
    try:
        token.decode()
    except UnicodeDecodeError:
        return True
    return False


# -------------------------------------------------------------------------------------------------------- the report


def faults(result: CaseResult) -> Iterator[tuple[str, ...]]:
    """Yield each method with a fault: method, fault, ids, text of the whole, text of the stream."""
    for name, about in result.details.get("methods", {}).items():
        if (witness := about.get("witness")) is not None:
            ids = " ".join(map(str, witness["ids"][:MOST_IDS]))
            yield (
                name,
                f"{witness['fault']} ({witness['source']})",
                ids,
                repr(witness["expected"]),
                repr(witness["got"]),
            )


def answer(results: Sequence[CaseResult], data: Mapping[str, Any]) -> Iterator[Answer]:
    """Name streams that give other text than the whole, those that cut it, and those whose steps take longer."""
    del data
    every = [
        (f"{result.case.tokenizer} by {name}", about)
        for result in results
        for name, about in result.details.get("methods", {}).items()
    ]
    if not every:
        return
    wrong = list(dict.fromkeys(name for name, about in every if about.get("witness") is not None))
    slow = list(dict.fromkeys(name for name, about in every if about.get("grows")))
    parts = [f"other text than the whole from {listed(wrong)}"] if wrong else []
    parts += [f"steps of {listed(slow)} take longer and longer"] if slow else []
    cut = list(dict.fromkeys(name for name, about in every if any(map(_is_cut, about.get("faults", {})))))
    sign: Literal["", "calm", "alarm"] = "alarm" if parts else "" if cut else "calm"
    parts += [f"no last character, if the ids end inside it, from {listed(cut)}"] if cut else []
    text = "; ".join(parts) or f"each of {len(every)} gives the text of the whole, in steady steps"
    yield Answer("Streams", f"{text}.", sign)


def _stopped(results: Sequence[CaseResult], data: Mapping[str, Any]) -> Iterator[str]:
    """Say where a method was stopped before the last mark."""
    del data
    for result in results:
        for name, about in result.details.get("methods", {}).items():
            if about.get("steps_timed", MARKS[-1]) < MARKS[-1]:
                yield f"{result.case.tokenizer} by {name}: timed up to step {about['steps_timed']:,} only."


TABLES = (
    Table(
        "Streams, id by id",
        columns=(
            Column("stream_faults", "{part} wrong %", each=True),
            Column("stream_cut_ends", "{part} cut %", each=True),
            Column("most_held_tokens", "{part} held", each=True),
        ),
        notes=(
            "wrong: sequences whose deltas do not join to the text of the whole, or have a U+FFFD that it has not.",
            "cut: sequences that end inside a character, which the stream leaves out. held: most ids that wait.",
            "library: its own stream; bytes: an incremental UTF-8 decoder; window: decode the last ids again.",
        ),
        sized=False,
        joined=("bytes", "sequences"),
    ),
    Table(
        "Growth of a step of a stream",
        columns=(Column("stream_growth", "{part}", each=True),),
        notes=(f"Exponent of time by number of the step: 0 is steady. Up to step {MARKS[-1]:,}.", _stopped),
        sized=False,
        joined=("bytes", "sequences"),
    ),
)

BENCHMARKS = (
    Benchmark(
        "streaming",
        "decoding id by id: the text of the whole, ids that wait for text, time of a step as the stream grows",
        run,
        corpus="required",
        place=12,
        metrics=OF_STREAMING,
        role=Role.TIMES,
        pace=Pace(12.0),
        tables=TABLES,
        answers=answer,
        listing=Listing("Streams that go wrong", ("stream", "fault", "ids", "whole", "stream gives"), faults),
        parameters={"bytes": 100_000, "sequences": 1000},
    ),
)

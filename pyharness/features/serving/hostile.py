"""Hostile: time and memory of texts that a stranger may send, as they grow; crashes and hangs are results."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from pyharness.benchmarks import Benchmark, Findings, Pace, Role, Work
from pyharness.features.serving.calls import RowFile
from pyharness.features.serving.growth import LARGEST_SIZES, GrowthFit, growth
from pyharness.features.serving.hostile_texts import TextRecipe, recipes
from pyharness.features.serving.metrics import OF_HOSTILE
from pyharness.statistics.samples import median
from pyharness.system.child_process import Child, ChildDied, Overdue, default_memory_limit
from pyharness.types import (
    Answer,
    CaseResult,
    Column,
    InputError,
    Listing,
    Measurement,
    Table,
    TokenizerSpec,
    counted,
    listed,
)

SMALLEST = 12  # power of two of bytes
LARGEST = range(SMALLEST + 2, 25)  # that one may ask for: a line needs three sizes, and texts are held in memory
REPETITIONS = 3
SUPERLINEAR = (1.35, 2.0)  # exponent, and the factor beyond what it explains
MOST_MEMORY = 8 << 30  # bytes of the process
START_SECONDS = 120.0
Ending: TypeAlias = Literal["", "crash", "hang", "error", "too slow", "not reached"]
Probe: TypeAlias = Callable[[str], Mapping[str, Any]]  # answers as ``probe.encoded`` does


class Broken(Exception):
    """A text ended the engine's process, or the wait for it; the message says how."""

    def __init__(self, ending: Ending, message: str) -> None:
        super().__init__(message)
        self.ending = ending


@dataclass(slots=True)
class EngineProcess:
    """The process of a row: started when it is needed, and again after a crash."""

    row: str
    seconds: float  # limit of one call
    child: Child | None = None

    def __call__(self, text: str) -> Mapping[str, Any]:
        """Encode a text; raise ``Broken``."""
        child = self.child or self._start()
        try:
            answer: Mapping[str, Any] = child.ask(_line(text), lambda _: False, time.monotonic() + self.seconds)[1]
        except Overdue:
            self.close()
            raise Broken("hang", f"no answer within {self.seconds:g} s") from None
        except ChildDied as death:
            self.close()
            raise Broken("crash", f"the process {death}") from None
        if "error" in answer:
            raise Broken("crash" if "Panic" in answer["error"] else "error", answer["error"])
        return answer

    def _start(self) -> Child:
        limit = min(default_memory_limit() or MOST_MEMORY, MOST_MEMORY)
        self.child = Child(["pyharness.features.serving.probe", self.row], memory_limit=limit, asked=True)
        try:
            self.child.ask(_line("warm"), lambda _: False, time.monotonic() + START_SECONDS)
        except ChildDied as death:
            self.close()
            raise Broken("crash", f"loading {death}") from None
        return self.child

    def close(self) -> None:
        """End the process."""
        if self.child is not None:
            self.child.close()
        self.child = None


def _line(text: str) -> bytes:
    return json.dumps(text).encode()


@dataclass(slots=True)
class KindTrial:
    """What became of one kind of text."""

    recipe: TextRecipe
    seconds: dict[int, list[float]] = field(default_factory=dict)  # by bytes of the text, asked for
    memory: dict[int, int] = field(default_factory=dict)  # largest, by the same
    ending: Ending = ""
    text: dict[str, Any] | None = None  # the text that ended it
    message: str = ""
    confirmed: bool = False  # superlinear, twice

    def measure(self, probe: Probe, sizes: Sequence[int], seed: int, limit: float, budget: float) -> None:
        """Encode fresh texts of rising size until one breaks the engine, or takes more than the limit in seconds.

        No call begins after ``budget``, in seconds of ``time.monotonic``.
        """
        for size in sizes:
            for number in range(REPETITIONS):
                if time.monotonic() > budget:
                    self.ending, self.message = "not reached", f"no time was left for {size:,} bytes"
                    return
                self._once(probe, size, seed + number)
                if self.ending:
                    return
                if is_slow := self.seconds[size][-1] > limit / 4:
                    break  # one such time is enough
            if is_slow and size != sizes[-1]:
                self.ending, self.message = "too slow", f"{self.seconds[size][-1]:.1f} s for {size:,} bytes"
                return

    def _once(self, probe: Probe, size: int, seed: int) -> None:
        text = self.recipe.text(size, seed)
        try:
            answer = probe(text)
        except Broken as broken:
            self.ending, self.message = broken.ending, str(broken)
            self.text = {
                "kind": self.recipe.kind, "bytes": len(text.encode()), "size": size, "seed": seed,
                "sha256": hashlib.sha256(text.encode()).hexdigest(), "begins": text[:40], "ends": text[-40:],
            }  # fmt: skip
            return
        self.seconds.setdefault(size, []).append(float(answer["seconds"]))
        self.memory[size] = max(self.memory.get(size, 0), int(answer["bytes"]))

    def fit(self) -> GrowthFit | None:
        """Return how time grows with bytes."""
        return growth(self.seconds)

    def suspicious(self) -> bool:
        """Whether the line is steeper than the rule allows, so that it is worth a second look."""
        fit = self.fit()
        return fit is not None and fit.exponent > SUPERLINEAR[0]

    def confirm(self, probe: Probe, limit: float, budget: float) -> None:
        """Measure the largest sizes again, on other texts: what only noise made steep is steep no more.

        Time grows faster than bytes if all times together say so, beyond the interval and by a plain factor, and the
        second ones alone are steep, too.
        """
        again = KindTrial(self.recipe)
        again.measure(probe, sorted(self.seconds)[-LARGEST_SIZES:], REPETITIONS, limit * 4, budget)
        if (again.broken or again.ending == "not reached") and not self.ending:
            self.ending, self.message, self.text = again.ending, again.message, again.text
        for size, seconds in again.seconds.items():
            self.seconds[size] += seconds
        fit = self.fit()
        self.confirmed = again.suspicious() and fit is not None and fit.exceeds(*SUPERLINEAR)

    @property
    def broken(self) -> bool:
        """Whether a text crashed the engine, made it hang or raise."""
        return self.ending in ("crash", "hang", "error")

    def seconds_per_byte(self) -> float:
        """Return the least time of the largest text with a time, for each of its bytes."""
        size = max(self.seconds)
        return min(self.seconds[size]) / size

    def details(self) -> dict[str, Any]:
        """Return what people look up."""
        fit = self.fit()
        return {
            "ending": self.ending, "message": self.message, "text": self.text, "superlinear": self.confirmed,
            "exponent": None if fit is None else [fit.exponent, fit.low, fit.high],
            "seconds": {str(size): seconds for size, seconds in self.seconds.items()},
            "memory": {str(size): most for size, most in self.memory.items()},
        }  # fmt: skip


def settle(parameters: Mapping[str, Any], row: TokenizerSpec, device: str) -> Mapping[str, Any]:
    """Refuse sizes that no machine has, and limits that end all.

    Raises:
        InputError: a parameter is out of range.
    """
    del row, device
    if (largest := parameters["largest"]) not in LARGEST:
        span = f"{LARGEST.start} to {LARGEST.stop - 1}"
        raise InputError(f"largest = {largest} is out of range; write the power of two of the largest text: {span}")
    for name in ("call_seconds", "seconds"):
        if parameters[name] == 0:
            raise InputError(f"{name} = 0 leaves no time; write a number of seconds from 1")
    return parameters


def run(work: Work) -> Findings:
    """Encode every kind of text at every size in a process of its own."""
    parameters = work.case.parameters
    limit, budget = float(parameters["call_seconds"]), time.monotonic() + float(parameters["seconds"])
    sizes = [2**power for power in range(SMALLEST, int(parameters["largest"]) + 1)]
    kinds, engine = recipes(RowFile.of(work.spec)), EngineProcess(work.spec.name, limit)
    try:
        engine("warm")  # a row that does not load has no texts to break it
        trials = [trial_of(engine, recipe, sizes, limit, budget) for recipe in kinds]
    except Broken as broken:
        return Findings(status="failed", reason=str(broken))
    finally:
        engine.close()
    return Findings(tuple(measurements(trials)), {"kinds": {one.recipe.kind: one.details() for one in trials}})


def trial_of(probe: Probe, recipe: TextRecipe, sizes: Sequence[int], limit: float, budget: float) -> KindTrial:
    """Measure one kind, and confirm what looks superlinear; no call begins after ``budget``."""
    trial = KindTrial(recipe)
    trial.measure(probe, sizes, 0, limit, budget)
    if trial.suspicious():
        trial.confirm(probe, limit, budget)
    return trial


def measurements(trials: Sequence[KindTrial]) -> Iterator[Measurement]:
    """Yield counts of the row, and numbers by kind."""
    yield Measurement("hostile_breaks", sum(one.broken for one in trials))
    yield Measurement("superlinear_kinds", sum(one.confirmed for one in trials))
    timed = [one for one in trials if one.seconds]
    per_byte = {one.recipe.kind: one.seconds_per_byte() for one in timed}
    usual = median(list(per_byte.values())) if per_byte else 1.0
    for one in timed:
        kind = one.recipe.kind
        if (fit := one.fit()) is not None:
            yield Measurement("hostile_growth", fit.exponent, part=kind)
        yield Measurement("hostile_seconds_per_byte", per_byte[kind], part=kind)
        yield Measurement("hostile_slowdown", per_byte[kind] / usual, part=kind)
        yield Measurement("hostile_memory_per_byte", max(one.memory.values()) / max(one.memory), part=kind)


# -------------------------------------------------------------------------------------------------------- the report


def endings(result: CaseResult) -> Iterator[tuple[str, ...]]:
    """Yield kinds that broke the engine or grow faster than their bytes: kind, what happened, the text."""
    for kind, about in result.details.get("kinds", {}).items():
        if about["superlinear"]:
            exponent, low, high = about["exponent"]
            yield kind, f"time grows with exponent {exponent:.2f} ({low:.2f} to {high:.2f})", ""
        if about["text"] is not None:
            text = about["text"]
            yield (
                kind,
                f"{about['ending']}: {about['message']}",
                f"{text['bytes']:,} bytes, sha256 {text['sha256'][:16]}",
            )


def answer(results: Sequence[CaseResult], data: Mapping[str, Any]) -> Iterator[Answer]:
    """Name the rows that a text breaks, and those that it makes superlinear; all is calm only if all was measured."""
    stopped = len([*_stopped(results, data)])
    broken: dict[str, list[str]] = {}
    slow: dict[str, list[str]] = {}
    for result in results:
        for kind, about in result.details.get("kinds", {}).items():
            if about["text"] is not None:
                broken.setdefault(result.case.tokenizer, []).append(f"{kind}: {about['ending']}")
            if about["superlinear"]:
                slow.setdefault(result.case.tokenizer, []).append(kind)
    parts = [f"{row} breaks ({listed(kinds)})" for row, kinds in broken.items()]
    parts += [f"{row} is superlinear ({listed(kinds)})" for row, kinds in slow.items()]
    text = "; ".join(parts) or f"break none of {counted(len(results), 'row')}, and make none superlinear"
    ending = f" {counted(stopped, 'kind')} of text: too slow to go on or not reached." if stopped else ""
    yield Answer("Hostile texts", f"{text}.{ending}", "alarm" if parts else "" if stopped else "calm")


def _stopped(results: Sequence[CaseResult], data: Mapping[str, Any]) -> Iterator[str]:
    """Say which kinds were stopped or not reached."""
    del data
    for result in results:
        for kind, about in result.details.get("kinds", {}).items():
            if about["ending"] in ("too slow", "not reached"):
                yield f"{result.case.tokenizer}, {kind}: {about['ending']}. {about['message']}".strip()


TABLE = Table(
    "Hostile texts",
    columns=(
        Column("hostile_breaks", "breaks"),
        Column("superlinear_kinds", "superlinear"),
        Column("hostile_growth", "growth", pick="most", shows="value and part"),
        Column("hostile_slowdown", "slowest", pick="most", shows="value and part"),
        Column("hostile_memory_per_byte", "memory/byte", pick="most", shows="value and part"),
    ),
    notes=(
        "breaks: kinds of text that crash, hang or fail. superlinear: kinds whose time grows faster than their bytes.",
        "growth: the largest exponent. slowest: time per byte over that of the median kind.",
        "memory/byte: bytes of memory that a call adds, for each byte of text.",
        _stopped,
    ),
    sized=False,
    joined=("largest", "call_seconds", "seconds"),
)

BENCHMARKS = (
    Benchmark(
        "hostile",
        "texts that a stranger may send, as they grow: time, memory, crashes, hangs, in a process of their own",
        run,
        corpus="none",
        place=13,
        metrics=OF_HOSTILE,
        role=Role.TIMES,
        pace=Pace(40.0),
        tables=(TABLE,),
        answers=answer,
        listing=Listing("Texts that break a tokenizer or stall it", ("kind", "what", "text"), endings),
        own_process=True,
        settle=settle,
        parameters={"largest": 20, "call_seconds": 10, "seconds": 300},
    ),
)

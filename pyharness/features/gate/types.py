"""The nouns of the gate: two arms, rounds in launches, and what is judged of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal, Protocol, TypeAlias

Side: TypeAlias = Literal["base", "head"]
SIDES: tuple[Side, Side] = ("base", "head")
Figure: TypeAlias = Literal["time", "memory", "instructions"]
LEAST_TIMEOUT = 10.0  # seconds: who is silent for less does not hang
SCREEN = 0  # number of the launch that screens; what it measures is no part of a test


def normalised(distribution: str) -> str:
    """Write the name of a distribution as indexes do (PEP 503).

    >>> normalised("Scikit_Build.Core")
    'scikit-build-core'
    """
    return re.sub(r"[-_.]+", "-", distribution).lower()


class GateVerdict(StrEnum):
    """What is said of a benchmark, and of a gate."""

    PASS = "pass"  # noqa: S105 -- no password
    IMPROVEMENT = "improvement"
    REGRESSION = "regression"
    INCONCLUSIVE = "inconclusive"
    FAILED = "failed"  # a benchmark of one side fails, hangs or is gone
    INCOMPARABLE = "incomparable"  # the sides do other work, or are not measured alike


@dataclass(frozen=True, slots=True)
class Timing:
    """One timed batch of one arm, in nanoseconds."""

    wall: int
    cpu: int  # all threads of the process


@dataclass(frozen=True, slots=True)
class Rounds:
    """One benchmark in one launch: a batch of each arm per round, on the same text, in turns."""

    benchmark: str
    launch: int
    calls: int  # in a batch, on both sides
    base: tuple[Timing, ...]  # by round, as the two below
    head: tuple[Timing, ...]
    head_first: tuple[bool, ...]
    memory: Mapping[Side, int] = field(default_factory=dict)  # bytes that the resident set grows by, at most
    instructions: Mapping[Side, int] = field(default_factory=dict)  # of one batch, where they are counted


@dataclass(frozen=True, slots=True)
class Launch:
    """Two fresh processes, one per arm."""

    number: int  # SCREEN, then 1, 2, ...
    started_first: Side


@dataclass(frozen=True, slots=True)
class ArmFacts:
    """What one arm is, as its own process says: two arms may differ in what is under test and in nothing else."""

    side: Side
    source: str  # as it was asked for
    version: str  # of what is under test: a commit, a version, a digest
    facts: Mapping[str, Any]  # JSON values: interpreter, lengths of paths, environment, limits; equal on both sides
    libraries: Mapping[str, str]  # installed distributions and their versions


@dataclass(frozen=True, slots=True)
class GateBenchmark:
    """One benchmark of a gate: a call of a library on new text."""

    name: str
    workload: str  # name of the function that prepares the call
    library: str  # distribution that does the work; a control where that is not the one under test
    text: str = "english"  # kind of text; "" where the call reads none
    bytes: int = 0  # of text in one call
    threads: int = 1
    options: Mapping[str, Any] = field(default_factory=dict)
    budget: float | None = None  # slowdown that is allowed; None: that of the gate

    def is_control(self, under_test: str) -> bool:
        """Whether a change of ``under_test`` cannot move it, as it measures another; of two tokenizers ("") none is.

        Controls judge the arms, and are not judged.
        """
        return bool(under_test) and normalised(self.library) != normalised(under_test)


@dataclass(frozen=True, slots=True)
class CallBatch:
    """What one arm is asked to do on the clock: calls, each on a text of its own, the same for both arms."""

    calls: int
    spans: tuple[tuple[int, int], ...] = ()  # begin and length of each call's text, in bytes of the file of its kind
    extra: tuple[tuple[int, int], ...] = ()  # calls that are timed and not compared: a slowdown that is planted
    core: int | None = None  # processor to run on, counted round among those it may use; None: whichever


@dataclass(frozen=True, slots=True)
class TimedBatch:
    """What one arm answers."""

    timing: Timing
    digest: str = ""  # of all results, in order: equal on both sides; "" where results are checked by the benchmark
    faults: int = 0  # pages that had to be read from a disk during the calls


class ArmLacks(Exception):
    """An arm does not have a benchmark: its library lacks what is called; the message says what."""


class ArmFailed(Exception):
    """An arm fails in a benchmark: an exception, a crash, no answer in time; the message says how."""


class ArmSilent(ArmFailed):
    """An arm gives no answer for as long as one is waited for, although the gate has time left."""


class ArmProcess(Protocol):
    """One arm in one launch: a fresh process of its own interpreter, which works when it is asked and else waits.

    Every method raises ``ArmFailed`` where the process fails; after that only ``close`` may be called.
    """

    timeout: float  # seconds that an answer is waited for, at most

    def facts(self) -> ArmFacts:
        """Say what it is."""

    def benchmarks(self) -> tuple[str, ...]:
        """Names of what it has, in the order in which they are to be prepared."""

    def prepare(self, benchmark: str) -> None:
        """Import, load and build what a benchmark needs, outside of any clock; raises ``ArmLacks``."""

    def time(self, benchmark: str, batch: CallBatch) -> TimedBatch:
        """Read the texts, then do the calls on the clock."""

    def result(self, benchmark: str, span: tuple[int, int]) -> list[int]:
        """Ids of one call, to say where two sides differ; empty where results are not ids."""

    def finish(self, benchmark: str) -> Mapping[Figure, int]:
        """Let go of a benchmark; returns figures besides time: memory, instructions."""

    def close(self) -> None:
        """End the process and all that it has started."""


@dataclass(frozen=True, slots=True)
class GateRules:
    """How a gate measures and judges. Slowdowns are relative: 0.03 is 3 % more time."""

    budget: float = 0.03  # a regression is larger than this, by the trimmed mean of launches
    tolerated: float = 0.01  # null hypothesis of the test: no slower than this
    screen: float = 0.01  # effect in the first launch from which a benchmark gets more launches
    launches: int = 10  # further ones, which alone are tested
    rounds: int = 40  # in a launch
    seconds: float = 4.0  # for the rounds of one benchmark in a launch: long calls get fewer of them,
    fewest_rounds: int = 8  # and at least these, an even number
    level: float = 0.05  # of the test, over all benchmarks that got more launches (Holm)
    batch_seconds: float = 0.005  # calls that take less are batched
    minutes: float | None = None
    strict: bool = False  # whether inconclusive fails


@dataclass(frozen=True, slots=True)
class Waiver:
    """A change that somebody has declared in ``gate.toml``."""

    benchmark: str
    metric: str
    ceiling: float  # largest slowdown that is accepted, relative
    expires: str  # ISO date: the last day on which it holds
    reason: str


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict on one figure of one benchmark."""

    benchmark: str
    figure: Figure
    verdict: GateVerdict
    effect: float | None = None  # head / base - 1: trimmed mean of launches (time), or their median
    interval: tuple[float, float] | None = None  # 95 %, of the effect (0 launches: of the screen's rounds)
    p: float | None = None  # adjusted (Holm): no more than tolerated, in the direction of effect
    budget: float | None = None
    launches: int = 0  # beside the screen
    noise: float | None = None  # standard deviation of launches, relative
    values: Mapping[Side, float] = field(default_factory=dict)  # seconds, bytes or instructions of a call: medians
    reason: str = ""  # in words: why this verdict
    waiver: Waiver | None = None  # that covers it


@dataclass(frozen=True, slots=True)
class SelfTest:
    """What a gate says of itself: whether the arms differ as such."""

    faults: tuple[str, ...]  # each makes the gate incomparable; empty where it may be believed
    figures: Mapping[str, Any] = field(default_factory=dict)  # signs, order effect, bias of controls: JSON values


@dataclass(frozen=True, slots=True)
class Gate:
    """A gate as it ran: raw samples, what was made of them, and what it was that ran."""

    suite: str
    rules: GateRules
    arms: Mapping[Side, ArmFacts]
    benchmarks: tuple[GateBenchmark, ...]
    launches: tuple[Launch, ...]
    rounds: tuple[Rounds, ...]
    judgements: tuple[Judgement, ...]
    self_test: SelfTest
    verdict: GateVerdict
    declaration_faults: tuple[str, ...] = ()  # expired, unmatched or exceeded entries of gate.toml
    notes: tuple[str, ...] = ()  # new benchmarks, time that ran out, a dirty checkout
    about: Mapping[str, Any] = field(default_factory=dict)  # machine, seconds, digest of the suite: JSON values

    @property
    def exit_code(self) -> int:
        """0 pass, 1 regression or a fault of gate.toml, 2 cannot compare, 3 inconclusive under ``strict``."""
        if self.verdict is GateVerdict.REGRESSION or self.declaration_faults:
            return 1
        if self.verdict in (GateVerdict.INCOMPARABLE, GateVerdict.FAILED):
            return 2
        return 3 if self.verdict is GateVerdict.INCONCLUSIVE and self.rules.strict else 0


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """What the machine can tell of one benchmark."""

    benchmark: str
    launches: int  # of identical code, on which the rest stands
    noise: float | None  # standard deviation of the logarithms of their effects; None below two
    detectable: float | None  # slowdown that is proven in 80 of 100 gates; None: fewer than 6 launches


@dataclass(frozen=True, slots=True)
class Planted:
    """A slowdown that was really there."""

    slowdown: float
    count: int  # times that it was planted
    found: int  # of these, regressions
    expected: float | None  # share of regressions by resampling: far from found / count, the resampling is wrong


@dataclass(frozen=True, slots=True)
class Calibration:
    """What a machine can tell apart with one suite."""

    machine: Mapping[str, Any]  # what identifies it
    suite: str
    suite_digest: str
    rules: GateRules
    gates: int
    comparisons: int  # of unchanged benchmarks
    alarms: int  # of these, regressions
    bound: float  # upper, 95 %, of their rate
    benchmarks: tuple[Sensitivity, ...]
    planted: tuple[Planted, ...] = ()
    seconds: float = 0.0  # that it took
    made: str = ""  # ISO date and time

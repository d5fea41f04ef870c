"""Types of the gate: two arms, rounds in launches, and judgements."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal, Protocol, TypeAlias

Side: TypeAlias = Literal["base", "head"]
SIDES: tuple[Side, Side] = ("base", "head")
GONE = "the base has it, and the head does not: removed or renamed"  # why a benchmark fails
Figure: TypeAlias = Literal["time", "memory", "instructions"]
LEAST_TIMEOUT = 10.0  # seconds: a shorter silence is no hang
SCREEN = 0  # number of the screening launch, whose times enter no test of a benchmark
BELOW_ALL = -0.99  # a ``GateRules.screen`` that asks for launches whatever it saw


def normalised(distribution: str) -> str:
    """Normalise the name of a distribution (PEP 503).

    >>> normalised("Scikit_Build.Core")
    'scikit-build-core'
    """
    return re.sub(r"[-_.]+", "-", distribution).lower()


class GateVerdict(StrEnum):
    """Verdict on a benchmark or a gate."""

    PASS = "pass"  # noqa: S105 -- no password
    IMPROVEMENT = "improvement"
    REGRESSION = "regression"
    INCONCLUSIVE = "inconclusive"
    FAILED = "failed"  # a benchmark fails, hangs or is missing on a side
    INCOMPARABLE = "incomparable"  # the sides do different work, or cannot be compared for another reason


@dataclass(frozen=True, slots=True)
class Timing:
    """One timed batch of one arm, in nanoseconds."""

    wall: int
    cpu: int  # of all threads of the process


@dataclass(frozen=True, slots=True)
class Rounds:
    """One benchmark in one launch: per round a batch of each arm, in turns, on the same text."""

    benchmark: str
    launch: int
    calls: int  # in a batch, on both sides
    base: tuple[Timing, ...]  # by round, like the two below
    head: tuple[Timing, ...]
    head_first: tuple[bool, ...]
    memory: Mapping[Side, int] = field(default_factory=dict)  # growth of the peak resident set, in bytes
    instructions: Mapping[Side, int] = field(default_factory=dict)  # of one batch, where counted


@dataclass(frozen=True, slots=True)
class Launch:
    """Two fresh processes, one per arm."""

    number: int  # 0 for the screen, then 1, 2, ...
    started_first: Side


@dataclass(frozen=True, slots=True)
class ArmFacts:
    """Facts of one arm from its own process: two arms should differ only in what is under test."""

    side: Side
    source: str  # as the user named it
    version: str  # of what is under test: a commit, a version, a digest, a vocabulary
    facts: Mapping[str, Any]  # JSON values: interpreter, path lengths, environment, limits; must be equal on both sides
    libraries: Mapping[str, str]  # installed distributions and their versions


@dataclass(frozen=True, slots=True)
class GateBenchmark:
    """One benchmark of a gate: a call of a library; in a suite, each call gets new text, unless it reads none."""

    name: str
    workload: str  # name of the function that prepares the call; "pytest" for a project's own test
    library: str  # distribution that does the work; other than the one under test: a control
    text: str = "english"  # kind of text; "" where the call reads none
    bytes: int = 0  # of text in one call
    threads: int = 1
    options: Mapping[str, Any] = field(default_factory=dict)
    budget: float | None = None  # allowed slowdown; None: that of the gate

    def is_control(self, under_test: str) -> bool:
        """Whether it measures another library than ``under_test``, so that no change moves it; False for "".

        Controls judge the arms, and are not judged. ``under_test`` is "" for two tokenizers.
        """
        return bool(under_test) and normalised(self.library) != normalised(under_test)


@dataclass(frozen=True, slots=True)
class CallBatch:
    """Timed calls of one arm, each on a text of its own if it reads any; both arms read the same texts."""

    calls: int
    spans: tuple[tuple[int, int], ...] = ()  # begin and length of each call's text, in bytes of its kind's file
    extra: tuple[tuple[int, int], ...] = ()  # calls that are timed and not compared: a planted slowdown
    core: int | None = None  # processor, modulo those it may use; None: any


@dataclass(frozen=True, slots=True)
class TimedBatch:
    """One arm's answer to a batch."""

    timing: Timing
    digest: str = ""  # of all results, in order: must be equal on both sides; "" where a test checks its results
    faults: int = 0  # pages read from a disk during the calls


class ArmLacks(Exception):
    """An arm lacks a benchmark: its library has no such function, or its test does not run; the message says why."""


class ArmFailed(Exception):
    """An arm fails, in a benchmark or before: an exception, a crash, no answer in time; the message says how."""


class ArmSilent(ArmFailed):
    """An arm gives no answer within the limit, although the gate has time left."""


class ArmProcess(Protocol):
    """One arm in one launch: a fresh process of its own interpreter, which works on request and otherwise waits.

    Every method raises ``ArmFailed`` where the process fails; after that only ``close`` may be called.
    """

    timeout: float  # longest wait for an answer, in seconds

    def facts(self) -> ArmFacts:
        """Return the facts of the arm."""

    def benchmarks(self) -> tuple[str, ...]:
        """Return the names of its benchmarks, in the order of preparation."""

    def prepare(self, benchmark: str) -> None:
        """Import, load and build what a benchmark needs, outside of any clock; raise ``ArmLacks`` if it is absent."""

    def time(self, benchmark: str, batch: CallBatch) -> TimedBatch:
        """Read the texts, then time the calls."""

    def result(self, benchmark: str, span: tuple[int, int]) -> list[int]:
        """Return the ids of one call, to locate differences; empty where results are not ids."""

    def finish(self, benchmark: str) -> Mapping[Figure, int]:
        """Finish a benchmark; return its figures other than time: memory, instructions."""

    def close(self) -> None:
        """End the process and its children."""


@dataclass(frozen=True, slots=True)
class GateRules:
    """Rules of measurement and judgement. Slowdowns are relative: 0.03 is 3 % more time."""

    budget: float = 0.03  # of benchmarks without their own: a regression's trimmed mean over launches exceeds it
    tolerated: float = 0.01  # null hypothesis of the test: slower by at most this, and by at most half of the budget
    screen: float = 0.01  # slowdown in the screen, or smaller budget, above which a benchmark gets launches
    launches: int = 10  # the most after the screen; only these enter the test
    rounds: int = 40  # the most per launch
    seconds: float = 4.0  # for the rounds of one benchmark in a launch: long calls get fewer rounds
    fewest_rounds: int = 8  # of long calls; an even number
    level: float = 0.05  # of the test, over all tested benchmarks (Holm)
    batch_seconds: float = 0.005  # shorter calls are batched
    minutes: float | None = None
    strict: bool = False  # whether inconclusive is a failure

    @property
    def fixed(self) -> bool:
        """Whether every benchmark gets all launches: the screen leaves none out, and no look ends one early."""
        return self.screen <= BELOW_ALL


@dataclass(frozen=True, slots=True)
class Waiver:
    """A change declared in ``gate.toml``."""

    benchmark: str
    metric: str
    ceiling: float  # largest accepted growth of the metric, relative; infinite for other work
    expires: str  # ISO date: the last valid day
    reason: str


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict on one figure of one benchmark."""

    benchmark: str
    figure: Figure
    verdict: GateVerdict
    effect: float | None = None  # head / base - 1: of times a trimmed mean (0 launches: the screen), of counts a median
    interval: tuple[float, float] | None = None  # 95 %, of the effect (0 launches: of the screen's rounds)
    p: float | None = None  # adjusted (Holm), of the null "no more than tolerated", in the direction of effect
    budget: float | None = None
    launches: int = 0  # without the screen
    noise: float | None = None  # standard deviation of the logarithms of the launches' effects
    values: Mapping[Side, float] = field(default_factory=dict)  # median seconds per call, bytes, instructions per batch
    reason: str = ""  # of the verdict, in words
    waiver: Waiver | None = None  # that covers it


@dataclass(frozen=True, slots=True)
class SelfTest:
    """A gate's test of itself: whether the arms differ apart from the code under test."""

    faults: tuple[str, ...]  # each makes the gate incomparable, also the reason why it could not be run
    figures: Mapping[str, Any] = field(default_factory=dict)  # signs, order effect, bias of controls: JSON values


@dataclass(frozen=True, slots=True)
class Gate:
    """A gate's run: raw samples, judgements, and the facts of the arms."""

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
    notes: tuple[str, ...] = ()  # on new benchmarks, time that ran out, a dirty checkout
    about: Mapping[str, Any] = field(default_factory=dict)  # machine, seconds, digest of the suite: JSON values

    @property
    def exit_code(self) -> int:
        """1: regression or fault of gate.toml, 2: failed or incomparable, 3: inconclusive under ``strict``, else 0."""
        if self.verdict is GateVerdict.REGRESSION or self.declaration_faults:
            return 1
        if self.verdict in (GateVerdict.INCOMPARABLE, GateVerdict.FAILED):
            return 2
        return 3 if self.verdict is GateVerdict.INCONCLUSIVE and self.rules.strict else 0


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """A machine's sensitivity in one benchmark."""

    benchmark: str
    launches: int  # of identical code, the basis of the other figures
    noise: float | None  # standard deviation of the logarithms of their effects; None below two
    detectable: float | None  # slowdown proven in 80 of 100 drawn gates (0.5: or more); None: fewer than 6 launches


@dataclass(frozen=True, slots=True)
class Planted:
    """A slowdown that was really planted."""

    slowdown: float
    count: int  # number of plantings
    found: int  # regressions among them
    expected: float | None  # share of regressions by resampling, which is wrong if found / count is far from it


@dataclass(frozen=True, slots=True)
class Calibration:
    """A machine's sensitivity with one suite."""

    machine: Mapping[str, Any]  # facts that identify it
    suite: str
    suite_digest: str
    rules: GateRules
    gates: int  # with and without planted slowdowns
    comparisons: int  # of unchanged benchmarks
    alarms: int  # regressions among them
    bound: float  # upper 95 % bound of their rate
    benchmarks: tuple[Sensitivity, ...]
    planted: tuple[Planted, ...] = ()
    seconds: float = 0.0  # duration
    made: str = ""  # ISO date and time

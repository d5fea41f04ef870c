"""What a profile found: raw samples of every contender, the figures computed from them, and both as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from pyharness.profiling import Floor, Phase, Problem, reference
from pyharness.profiling.measuring import Samples
from pyharness.statistics.rounds import ratios
from pyharness.statistics.samples import median, percentile
from pyharness.statistics.stopping import StoppingRule, noise
from pyharness.types import Status

KIND = "pyharness-profile"
SCHEMA = 1
OURS = "pyharness"
COPY = "copy"  # of a buffer within the device: the memory roof, sampled in the same rounds as the rest


@dataclass(frozen=True, slots=True)
class Roof:
    """A rate measured in this run: ``amount`` (bytes or FLOP) per call over its samples."""

    amount: int
    samples: Samples

    @property
    def rate(self) -> float | None:
        """Amount per second of the median call, or None where nothing was measured."""
        return self.amount / median(self.samples.seconds) if self.samples.seconds else None


@dataclass(frozen=True, slots=True)
class Figures:
    """Statistics of one contender in one phase. Rates divide the problem's floor, whatever a contender really moves."""

    median_seconds: float
    p5_seconds: float
    p95_seconds: float
    samples: int
    dropped: int
    noise: float | None
    bytes_per_second: float
    flop_per_second: float
    tokens_per_second: float
    copy_share: float | None  # of the copy rate, round by round
    times_ours: float | None  # how many times as long as our kernel, round by round


@dataclass(frozen=True, slots=True)
class Bound:
    """The roof that holds a problem down, at the rates of this run."""

    roof: Literal["copy", "matrix"]
    seconds: float


@dataclass(frozen=True, slots=True)
class Missing:
    """A peer without numbers: skipped (not installed, too large) or failed (another result, an error)."""

    status: Status
    reason: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one problem: ``reason`` says why our kernel has no numbers, ``missing`` why a peer has none."""

    problem: Problem
    data: str = ""
    floor: Floor | None = None
    copy_bytes: int = 0
    samples: Mapping[Phase, Mapping[str, Samples]] = field(default_factory=dict)
    missing: Mapping[str, Missing] = field(default_factory=dict)
    status: Status = "ok"
    reason: str | None = None

    def copy_roof(self, phase: Phase) -> Roof:
        """Return the copy of this problem's rounds."""
        return Roof(self.copy_bytes, self.samples.get(phase, {}).get(COPY, Samples(reason="not measured")))

    def figures(self, phase: Phase, name: str) -> Figures | None:
        """Figures of a contender, or None where it has no samples."""
        found = self.samples[phase].get(name, Samples()).seconds
        if not found or self.floor is None:
            return None
        middle = median(found)
        floor = Floor(self.copy_bytes, 0, 0, 0) if name == COPY else self.floor
        longer = _paired(found, self.samples[phase].get(COPY))
        return Figures(
            middle,
            percentile(found, 0.05),
            percentile(found, 0.95),
            len(found),
            self.samples[phase][name].dropped,
            noise(found),
            floor.bytes / middle,
            floor.flop / middle,
            floor.tokens / middle,
            None if longer is None else floor.bytes / self.copy_bytes / longer,
            None if name == COPY else _paired(found, self.samples[phase].get(OURS)),
        )

    def bound(self, phase: Phase, matrix: Roof | None) -> Bound | None:
        """Return the roof that takes longer at the rates of this run; None where a rate is not known."""
        copy_rate = self.copy_roof(phase).rate
        if self.floor is None or copy_rate is None:
            return None
        copying = Bound("copy", self.floor.bytes / copy_rate)
        if self.floor.matrix_flop == 0:
            return copying
        if matrix is None or matrix.rate is None:
            return None
        multiplying = Bound("matrix", self.floor.matrix_flop / matrix.rate)
        return max(copying, multiplying, key=lambda bound: bound.seconds)


def _paired(found: tuple[float, ...], other: Samples | None) -> float | None:
    """Median over the rounds that both have samples of: how many times as long as ``other``."""
    if other is None or not other.seconds:
        return None
    rounds = min(len(found), len(other.seconds))
    return median(ratios(found[:rounds], other.seconds[:rounds]))


@dataclass(frozen=True, slots=True)
class ProfileRecord:
    """One run of ``pyharness profile``."""

    kernel: str
    environment: Mapping[str, Any]
    matrix: Mapping[str, Roof]  # by dtype
    rule: StoppingRule
    device: Mapping[str, Any] = field(default_factory=dict)  # as it was after the last problem
    outcomes: tuple[Outcome, ...] = ()
    peers: Mapping[str, str] = field(default_factory=dict)  # name -> what it does
    notes: tuple[str, ...] = ()
    finished: bool = False  # whether all problems that were asked for are here
    unmeasured: tuple[tuple[Problem, Floor], ...] = ()  # problems of a device that is not here, with their floors
    unmeasured_reason: str | None = None

    @property
    def failed(self) -> bool:
        """Whether our kernel broke down or gave a wrong result on some problem."""
        return any(outcome.status == "failed" for outcome in self.outcomes)

    def to_json(self) -> str:
        """Return the record as text, in ASCII: names of files may hold what no encoding can."""
        return json.dumps(self.as_json(), allow_nan=False, indent=1) + "\n"

    def as_json(self) -> dict[str, Any]:
        """JSON values: raw samples in seconds, and the figures computed from them."""
        return {
            "kind": KIND,
            "schema": SCHEMA,
            "kernel": self.kernel,
            "finished": self.finished,
            "environment": dict(self.environment),
            "device": dict(self.device),
            "matrix": {dtype: _roof_as_json(roof, "flop") for dtype, roof in self.matrix.items()},
            "peers": dict(self.peers),
            "notes": list(self.notes),
            "stopping_rule": asdict(self.rule),
            "problems": [self._outcome_as_json(outcome) for outcome in self.outcomes],
            "not_measured": {
                "reason": self.unmeasured_reason,
                "reference": reference.NAME,
                "problems": [
                    {
                        **asdict(problem),
                        "floor": asdict(floor),
                        "reference_seconds": reference.seconds(floor, problem.dtype),
                    }
                    for problem, floor in self.unmeasured
                ],
            },
        }

    def _outcome_as_json(self, outcome: Outcome) -> dict[str, Any]:
        return {
            **asdict(outcome.problem),
            "data": outcome.data,
            "status": outcome.status,
            "reason": outcome.reason,
            "floor": None if outcome.floor is None else asdict(outcome.floor),
            "missing": {name: asdict(found) for name, found in outcome.missing.items()},
            "phases": {phase: self._phase_as_json(outcome, phase) for phase in outcome.samples},
        }

    def _phase_as_json(self, outcome: Outcome, phase: Phase) -> dict[str, Any]:
        bound = outcome.bound(phase, self.matrix.get(outcome.problem.dtype))
        contenders = {}
        for name, samples in outcome.samples[phase].items():
            figures = outcome.figures(phase, name) if name != COPY else None
            contenders[name] = {**asdict(samples), "figures": None if figures is None else asdict(figures)}
        return {
            "copy": _roof_as_json(outcome.copy_roof(phase), "bytes"),
            "bound": None if bound is None else asdict(bound),
            "contenders": {name: found for name, found in contenders.items() if name != COPY},
        }


def _roof_as_json(roof: Roof, unit: str) -> dict[str, Any]:
    return {unit: roof.amount, f"{unit}_per_second": roof.rate, **asdict(roof.samples)}

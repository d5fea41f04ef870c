"""Tables and verdicts from the lines of a file of results.

Every figure is bits per byte of the whole text, so that tokenizers compare; what is of new tokens and of base tokens
adds up to it. Differences are formed within a seed, on the same documents. Two intervals of 95 % go with each: over
documents (delete-a-group jackknife of the mean over seeds: other text of the kind, these models) and over seeds
(Student's t of one difference per seed: other weights, orders and random rows, this text). A difference is resolved if
neither includes 0.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from pyharness.metrics import language_model
from pyharness.metrics.counting import measuring
from pyharness.metrics.counting.state import CorpusMetric, Counts
from pyharness.statistics.jackknife import paired_interval, t_quantile
from pyharness.types import Measurement, Metric
from small_model.results import BASE, BEFORE, SURGERY, TRAINED, Results
from small_model.scoring import state_of

Interval: TypeAlias = tuple[float, float] | None
NAMES = {BEFORE: "before surgery", SURGERY: "right after surgery", TRAINED: "after further training"}
PARTS = ("language", "english")


def _metric(name: str, compute: Callable[[Counts], float]) -> CorpusMetric:
    return CorpusMetric(Metric(name, "bit/byte", "lower", name), compute)


def _new(counts: Counts) -> float:
    return counts["nll new"] / language_model.UNIT / counts["bytes"]


ALL = _metric("bits_per_byte", language_model.bits_per_byte)
OF_NEW = _metric("of new tokens", _new)
OF_BASE = _metric("of base tokens", lambda counts: language_model.bits_per_byte(counts) - _new(counts))
COVERED = _metric("bytes in new tokens", lambda counts: counts["bytes new"] / counts["bytes"])


@dataclass(frozen=True, slots=True)
class OverSeeds:
    """A value of every seed, and over documents their mean with its replicates."""

    values: tuple[float, ...]
    mean: Measurement

    @classmethod
    def of(cls, results: Results, method: str, stage: str, metric: CorpusMetric, part: str) -> OverSeeds | None:
        """Compute from the lines of a method and a stage; None where there are none."""
        keys = sorted(key for key in results.lines if key[1:] == (method, stage))
        found = [measuring.measure(state_of(results.lines[key][part]), [metric])[0] for key in keys]
        values = tuple(one.value for one in found if one.value is not None)
        if not values or len(values) < len(found):
            return None
        replicates = [
            None if None in column else statistics.fmean(column)
            for column in zip(*(one.replicates for one in found), strict=True)
        ]
        return cls(values, replace(found[0], value=statistics.fmean(values), replicates=tuple(replicates)))

    @property
    def value(self) -> float:
        """Mean over seeds."""
        return statistics.fmean(self.values)


def over_seeds(values: Sequence[float]) -> Interval:
    """95 % interval of the mean, by Student's t; None for one seed."""
    if len(values) < 2:
        return None
    half = t_quantile(len(values) - 1) * statistics.stdev(values) / math.sqrt(len(values))
    return statistics.fmean(values) - half, statistics.fmean(values) + half


@dataclass(frozen=True, slots=True)
class Difference:
    """Bits per byte that ``other`` takes beyond ``method`` at a stage: above 0, ``method`` is better."""

    method: str
    other: str
    stage: str
    value: float
    documents: Interval
    seeds: Interval

    def sentence(self) -> str:
        """Say which is better, if that is resolved."""
        said = f"{NAMES[self.stage]}, {self.method} against {self.other}: "
        for kind, interval in (("documents", self.documents), ("seeds", self.seeds)):
            if interval is None:
                return f"{said}not resolved, there is no interval over {kind} ({self.value:+.4f} bits per byte)"
            if interval[0] <= 0 <= interval[1]:
                return f"{said}not resolved, the interval over {kind} includes 0 ({self._figures()})"
        better, worse = (self.method, self.other) if self.value > 0 else (self.other, self.method)
        return f"{said}{better} is better than {worse} ({self._figures()})"

    def _figures(self) -> str:
        assert self.documents is not None and self.seeds is not None  # noqa: PT018 - asked before
        (a, b), (c, d) = self.documents, self.seeds
        return f"{self.value:+.4f} bits per byte, documents [{a:+.4f}, {b:+.4f}], seeds [{c:+.4f}, {d:+.4f}]"


def difference(results: Results, method: str, other: str, stage: str, part: str = "language") -> Difference | None:
    """Compare two methods by the seeds that both have; None where there are none."""
    seeds = set.intersection(*({k.seed for k in results.lines if k[1:] == (one, stage)} for one in (method, other)))
    shared = replace(results, lines={key: line for key, line in results.lines.items() if key.seed in seeds})
    a, b = (OverSeeds.of(shared, one, stage, ALL, part) for one in (method, other))
    if a is None or b is None:
        return None
    apart = [y - x for x, y in zip(a.values, b.values, strict=True)]
    return Difference(
        method, other, stage, b.value - a.value, paired_interval(a.mean, b.mean), over_seeds(apart)
    )  # fmt: skip


def differences(results: Results, part: str = "language") -> Iterator[Difference]:
    """Every pair of methods at every stage, in the order in which they were measured."""
    for stage in (SURGERY, TRAINED):
        methods = list(dict.fromkeys(key.method for key in results.lines if key.stage == stage))
        methods.sort(key=lambda one: one == BASE)
        for index, method in enumerate(methods):
            for other in methods[index + 1 :]:
                if (found := difference(results, method, other, stage, part)) is not None:
                    yield found

"""Verdicts from the lines of a file of results, by a rule that was written down before anything was measured.

Every figure is bits per byte of the whole text, so that tokenizers compare; what is of new tokens and of base tokens
adds up to it. Differences are formed within a seed, on the same documents. Each has half-widths of 95 % over documents
(delete-a-group jackknife of the mean over seeds, works whole: other text of the kind, these models) and over seeds
(Student's t of one difference per seed: other weights, orders and random rows, this text). The interval that decides
is about both at once: half-widths add as squares, as in Zou and Donner (2008, Statistics in Medicine 27:1693). How
often it holds: ``python -m small_model.coverage``.

- It excludes 0: one is better.
- It lies within ``MARGIN`` of 0: no difference that matters.
- Else: not resolved.

Verdicts are not corrected for their number.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from pyharness.features.language_models import metrics as language_model
from pyharness.metrics.counting import state
from pyharness.metrics.counting.state import CorpusMetric, Counts
from pyharness.statistics.jackknife import paired_interval, t_quantile
from pyharness.types import Measurement, Metric
from small_model.results import BASE, BEFORE, SURGERY, TRAINED, Results
from small_model.scoring import state_of

Interval: TypeAlias = tuple[float, float]
NAMES = {BEFORE: "before surgery", SURGERY: "right after surgery", TRAINED: "after further training"}
MARGIN = 0.01  # bits per byte


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
        found = [state.measure(state_of(results.lines[key][part]), [metric])[0] for key in keys]
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


def over_seeds(values: Sequence[float]) -> Interval | None:
    """95 % interval of the mean, by Student's t; None for one seed."""
    if len(values) < 2:
        return None
    half = t_quantile(len(values) - 1) * statistics.stdev(values) / math.sqrt(len(values))
    return statistics.fmean(values) - half, statistics.fmean(values) + half


def half(interval: Interval) -> float:
    """Half the width of an interval."""
    return (interval[1] - interval[0]) / 2


@dataclass(frozen=True, slots=True)
class Difference:
    """Bits per byte that ``other`` takes beyond ``method`` at a stage: above 0, ``method`` is better."""

    method: str
    other: str
    stage: str
    value: float
    documents: Interval | None
    seeds: Interval | None

    @property
    def both(self) -> Interval | None:
        """95 % interval over other documents and other seeds."""
        if self.documents is None or self.seeds is None:
            return None
        width = math.hypot(half(self.documents), half(self.seeds))
        return self.value - width, self.value + width

    def sentence(self) -> str:
        """Say what the rule says."""
        return f"{NAMES[self.stage]}, {self.method} against {self.other}: {self._verdict()} ({self._figures()})"

    def _verdict(self) -> str:
        if self.both is None:
            return f"not resolved, there is no interval over {'documents' if self.documents is None else 'seeds'}"
        low, high = self.both
        small = max(-low, high) < MARGIN
        if low <= 0 <= high:
            return f"no difference of {MARGIN} or more" if small else "not resolved"
        better, worse = (self.method, self.other) if low > 0 else (self.other, self.method)
        return f"{better} is better than {worse}" + (f", by less than {MARGIN}" if small else "")

    def _figures(self) -> str:
        said = f"{self.value:+.4f} bits per byte"
        if self.both is None or self.documents is None or self.seeds is None:
            return said
        low, high = self.both
        return f"{said} [{low:+.4f}, {high:+.4f}]; documents ±{half(self.documents):.4f}, seeds ±{half(self.seeds):.4f}"


def difference(results: Results, method: str, other: str, stage: str, part: str = "language") -> Difference | None:
    """Compare two methods by the seeds that both have; None where there are none."""
    stages = [BEFORE if (one, stage) == (BASE, SURGERY) else stage for one in (method, other)]
    arms = list(zip((method, other), stages, strict=True))
    seeds = set.intersection(*({key.seed for key in results.lines if key[1:] == arm} for arm in arms))
    shared = replace(results, lines={key: line for key, line in results.lines.items() if key.seed in seeds})
    a, b = (OverSeeds.of(shared, *arm, ALL, part) for arm in arms)
    if a is None or b is None:
        return None
    apart = [y - x for x, y in zip(a.values, b.values, strict=True)]
    return Difference(
        method, other, stage, b.value - a.value, paired_interval(a.mean, b.mean), over_seeds(apart)
    )  # fmt: skip


def differences(results: Results) -> Iterator[Difference]:
    """Every pair of methods at every stage, in the order in which they were measured; the base comes last."""
    methods = [*dict.fromkeys(key.method for key in results.lines if key.method != BASE), BASE]
    for stage in (SURGERY, TRAINED):
        for index, method in enumerate(methods):
            for other in methods[index + 1 :]:
                if (found := difference(results, method, other, stage)) is not None:
                    yield found

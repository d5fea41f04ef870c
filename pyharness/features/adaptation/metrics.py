"""Metrics of adapted tokenizers: the gain of the new tokens on a text, and dead tokens; and the knee of a curve.

The knee is the size above which further tokens gain little.

The curve is the logarithm of 1 + gain. Growth is its increase per thousand tokens, between two neighbouring sizes. On a
curve that is linear in the logarithm of the size, it equals the curve's growth at the logarithmic mean of both sizes.
Between two such points, growth is interpolated as a power of the size. The knee is the size from which a thousand more
tokens give just the threshold: growth falls to it at the logarithmic mean of the size and the size plus a thousand.
studies/adaptation/knees.py simulates the error of this knee on curves that are known size by size, and the coverage of
its interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from itertools import pairwise

import numpy as np

from pyharness.metrics.counting import state_arrays
from pyharness.metrics.counting.state import CorpusState, Sums
from pyharness.statistics import jackknife
from pyharness.statistics.jackknife import Undefined
from pyharness.types import COUNT, PERCENT, Format, Ids, InputError, Measurement, Metric, State

_MEGABYTE = 1_000_000
_SUMS = ("documents", "bytes", "tokens", "uses")
_OTHER = "tokens of "  # prefix of the name of a tokenizer in the comparison


@dataclass(frozen=True, slots=True)
class Unreachable:
    """Unreachable tokens, by layer of the self-tokenization test; None: not tested."""

    graph: int | None = None  # tokens that the adaptation made or added so
    model: int | None = None  # likewise
    pipeline: int | None = None  # added tokens that no text gives
    open: int | None = None  # added tokens with neither a text nor an argument


@dataclass(frozen=True, slots=True)
class AdaptationCounts:
    """Counts from which all metrics follow: integers, most of them by group of documents."""

    added: int
    removed: int
    unused: int  # added tokens that do not occur in this text
    unreachable: Unreachable
    sums: Mapping[str, Sums]  # documents, bytes, tokens, and uses of added tokens
    others: Mapping[str, Sums] = field(default_factory=dict)  # tokens of each other tokenizer

    @classmethod
    def of(
        cls,
        adapted: CorpusState,
        others: Mapping[str, Sums],
        added: Ids,
        removed: int,
        unreachable: Unreachable,
    ) -> AdaptationCounts:
        """Count in a finished pass; ``others``: tokens of other tokenizers on the same documents.

        ``added``: ids of the added tokens, in the adapted tokenizer.
        """
        uses = adapted.histogram[:, added.astype(np.int64)]
        by_group = np.empty(len(uses), np.object_)  # Python's integers, as in the other sums
        by_group[:] = uses.sum(axis=1).tolist()
        sums = {name: adapted.counters[name] for name in _SUMS[:-1]} | {_SUMS[-1]: by_group}
        unused = int(np.count_nonzero(uses.sum(axis=0) == 0))
        return cls(len(added), removed, unused, unreachable, sums, others)

    def measurements(self) -> list[Measurement]:
        """Return every metric; those of the pipeline only where it was tested."""
        return [
            Measurement("added_tokens", self.added),
            Measurement("removed_tokens", self.removed),
            *(self._gain(name, tokens) for name, tokens in self.others.items()),
            self._measure_unused(),
            self._estimate("added_token_uses", self._uses),
            _count_examined("newly_unreachable_graph", self.unreachable.graph),
            _count_examined("newly_unreachable_model", self.unreachable.model),
            *(
                Measurement(name, count)
                for name, count in (
                    ("added_unreachable_pipeline", self.unreachable.pipeline),
                    ("added_without_witness", self.unreachable.open),
                )
                if count is not None
            ),
        ]

    def _estimate(self, metric: str, of: Callable[[jackknife.Groups], float], part: str | None = None) -> Measurement:
        documents, sizes = (self.sums[name].tolist() for name in ("documents", "bytes"))
        return jackknife.estimate(metric, documents, of, part, sizes)

    def _gain(self, name: str, theirs: Sums) -> Measurement:
        def of(groups: jackknife.Groups) -> float:
            tokens = int(self.sums["tokens"][groups].sum())
            if tokens == 0:
                raise Undefined("no tokens were produced")
            return int(theirs[groups].sum()) / tokens - 1

        return self._estimate("compression_gain", of, part=name)

    def _measure_unused(self) -> Measurement:
        if self.added == 0:
            return Measurement("unused_added", None, reason="no token was added")
        return Measurement("unused_added", self.unused / self.added)

    def _uses(self, groups: jackknife.Groups) -> float:
        size = int(self.sums["bytes"][groups].sum())
        if self.added == 0 or size == 0:
            raise Undefined("the text is empty" if self.added else "no token was added")
        return int(self.sums["uses"][groups].sum()) / self.added / size * _MEGABYTE

    def arrays(self) -> State:
        """Return arrays to keep next to a record."""
        unreachable = (-1 if number is None else number for number in astuple(self.unreachable))
        numbers = [self.added, self.removed, self.unused, *unreachable]
        sums = {**self.sums, **{_OTHER + name: tokens for name, tokens in self.others.items()}}
        return {
            "numbers": np.array(numbers, np.int64),
            **{name: state_arrays.of_sums(values.tolist()) for name, values in sums.items()},
        }

    @classmethod
    def of_arrays(cls, arrays: State) -> AdaptationCounts:
        """Inverse of ``arrays``.

        Raises:
            InputError: arrays are missing or have another shape.
        """
        added, removed, unused, *tokens = state_arrays.taken(arrays, "numbers", 7).tolist()
        unreachable = Unreachable(*(None if number < 0 else int(number) for number in tokens))
        sums = {name: _sums(arrays, name) for name in _SUMS}
        others = {name[len(_OTHER) :]: _sums(arrays, name) for name in arrays if name.startswith(_OTHER)}
        return cls(added, removed, unused, unreachable, sums, others)


def _sums(arrays: State, name: str) -> Sums:
    if name not in arrays:
        raise InputError(f"a state has no {name!r}")
    return state_arrays.sums_of(arrays[name])


def _count_examined(metric: str, count: int | None) -> Measurement:
    reason = "this library exposes neither merge rules nor its model's own encoder" if count is None else None
    return Measurement(metric, count, reason=reason)


_DEAD = "new or formerly reachable tokens that the {} never gives"
REPORTED = (
    Metric("added_tokens", "token", "none", "tokens that an adaptation brought", format=COUNT),
    Metric("removed_tokens", "token", "none", "tokens that an adaptation took away", format=COUNT),
    Metric(
        "compression_gain", "share", "higher",
        "bytes/token relative to the base (part base) or to another adaptation, minus 1",
        format=Format("{:+.2f}", 100, "%"),
    ),
    Metric(
        "unused_added", "share", "lower", "tokens that were added and that the text does not use", grows_with_text=True,
        format=PERCENT,
    ),
    Metric(
        "added_token_uses", "use/MB", "higher", "uses of a token that was added per MB of text, on average",
        format=Format("{:.2f}"),
    ),
    Metric("newly_unreachable_graph", "token", "lower", _DEAD.format("merge graph"), exact=True, format=COUNT),
    Metric("newly_unreachable_model", "token", "lower", _DEAD.format("model"), exact=True, format=COUNT),
    Metric(
        "added_unreachable_pipeline", "token", "lower", "tokens that were added and that no text gives, by an argument",
        exact=True, format=COUNT,
    ),
    Metric(
        "added_without_witness", "token", "lower",
        "tokens that were added, and for which there is neither a text that gives them nor an argument", format=COUNT,
    ),
)  # fmt: skip


LITTLE = 0.005  # relative gain of a thousand more tokens
_THOUSAND = 1000
_TINY = 1e-9  # stands for growth of 0 or less, which has no logarithm


@dataclass(frozen=True, slots=True)
class Knee:
    """A size; infinite where the last step of the curve gains the threshold or more, 0 where no step does."""

    size: float
    interval: tuple[float, float] | None = None  # 95 %
    resolved: bool = True  # False: 0 or infinity, and no interval of growth there excludes the threshold


def knee(sizes: Sequence[int], gains: Sequence[Measurement]) -> Knee | None:
    """Find the size after which a thousand more tokens gain less than ``LITTLE``.

    Args:
        sizes: ascending and positive.
        gains: gain of each size relative to one common base (0.25: a quarter more), measured on one text.

    Returns:
        None for fewer than three sizes, or where a gain is unknown. The interval is None where gains have no intervals,
        and for a knee of 0 or infinity.
    """
    curve = _curve([gain.value for gain in gains])
    if len(sizes) < 3 or curve is None:
        return None
    places = [(high - low) / math.log(high / low) for low, high in pairwise(sizes)]
    growth = _growth(sizes, curve)
    curves = map(_curve, zip(*(one.replicates for one in gains), strict=False))
    replicates = [None if gain_curve is None else _growth(sizes, gain_curve) for gain_curve in curves]
    enough = [number for number, rate in enumerate(growth) if rate >= math.log1p(LITTLE)]
    if not enough or enough[-1] == len(growth) - 1:
        end = -1 if enough else 0
        bounds = _interval(growth[end], [None if replicate is None else replicate[end] for replicate in replicates])
        resolved = bounds is not None and not bounds[0] <= math.log1p(LITTLE) <= bounds[1]
        return Knee(math.inf if enough else 0, resolved=resolved)
    step = enough[-1]
    crossing = _crossing(places, growth, step)
    bounds = jackknife.interval(crossing, [None if one is None else _crossing(places, one, step) for one in replicates])
    return Knee(_start(crossing), None if bounds is None else (_start(bounds[0]), _start(bounds[1])))


def _interval(value: float, replicates: Sequence[float | None]) -> tuple[float, float] | None:
    """Return the 95 % interval; of width 0 where all replicates are equal, as for rows with equal tokens."""
    values = [replicate for replicate in replicates if replicate is not None]
    if len(values) >= jackknife.MIN_GROUPS and jackknife.lack(replicates) == jackknife.NO_SPREAD:
        return value, value
    return jackknife.interval(value, replicates)


def _curve(gains: Sequence[float | None]) -> list[float] | None:
    logs = [math.log1p(gain) for gain in gains if gain is not None and gain > -1]
    return logs if len(logs) == len(gains) else None


def _growth(sizes: Sequence[int], curve: Sequence[float]) -> list[float]:
    """Return the increase of the curve per thousand tokens, between neighbouring sizes."""
    return [
        _THOUSAND * (after - before) / (high - low)
        for (low, high), (before, after) in zip(pairwise(sizes), pairwise(curve), strict=True)
    ]


def _crossing(places: Sequence[float], growth: Sequence[float], step: int) -> float:
    """Return the logarithm of the size at which growth crosses the threshold, between a step and the next."""
    before, after = (math.log(max(growth[number], _TINY)) for number in (step, step + 1))
    start, stop = math.log(places[step]), math.log(places[step + 1])
    if before == after:
        return start
    return start + (before - math.log(math.log1p(LITTLE))) / (before - after) * (stop - start)


def _start(place: float) -> float:
    """Return the size for which the logarithmic mean of it and a thousand more is e to the power of ``place``."""
    return _THOUSAND / math.expm1(_THOUSAND / math.exp(place))

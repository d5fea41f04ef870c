"""Metrics of a motion codec: tokens per chunk, errors by dimension, losses, and the effect of damaged ids.

Clips are independent, the chunks of one are not: so the jackknife groups clips. Errors are stored as whole numbers of
steps of 2^-32, in units of the codec (half the range between the fitted quantiles is 1); so are their squares.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyharness.metrics.counting.state_arrays import of_sums, taken
from pyharness.statistics.jackknife import GROUPS, MIN_WORKS, Groups, Undefined, value_or_none, with_replicates
from pyharness.types import COUNT, PERCENT, Format, InputError, Measurement, Metric, State

STEPS = 1 << 32
COUNTS = ("chunks", "values", "tokens", "outside", "unfaithful", "left out")
KINDS = ("replaced", "deleted", "unknown")
DAMAGE = ("tried", "failed", "error")
WHOLE_RANGE = 2.0  # of normalised values: an upper limit for the error of a damaged chunk
MOST_DIMENSIONS = 1 << 16
LARGEST_SUM = 1 << 127


@dataclass(slots=True)
class ActionState:
    """Sums and maxima by group of clips. All are integers except the widths, whose bits are kept."""

    half_widths: NDArray[np.float64]  # [dimensions], units of the data per normalised unit
    counts: NDArray[np.int64]  # [GROUPS, COUNTS]
    squares: NDArray[np.object_]  # [GROUPS, dimensions], sums in steps
    largest: NDArray[np.object_]  # [GROUPS, dimensions], in steps
    damage: NDArray[np.int64]  # [GROUPS, KINDS, DAMAGE], sums; errors in steps
    clips: int = 0

    @classmethod
    def empty(cls, half_widths: NDArray[np.float64]) -> ActionState:
        """Return the state before any clip."""
        shape = (GROUPS, len(half_widths))
        zeros = [np.zeros(shape, np.object_) for _ in range(2)]
        damage = np.zeros((GROUPS, len(KINDS), len(DAMAGE)), np.int64)
        return cls(half_widths, np.zeros((GROUPS, len(COUNTS)), np.int64), zeros[0], zeros[1], damage)

    @property
    def group(self) -> int:
        """Group of the present clip."""
        return max(self.clips - 1, 0) % GROUPS

    def add(self, counts: dict[str, int], errors: NDArray[np.float64]) -> None:
        """Add a chunk of the present clip: ``errors`` float64 [frames, dimensions].

        Raises:
            InputError: the errors are too large to sum.
        """
        self.counts[self.group] += [counts[name] for name in COUNTS]
        for sums, values in ((self.squares, (errors**2).sum(axis=0)), (self.largest, np.abs(errors).max(axis=0))):
            steps = [round(value * STEPS) for value in values.tolist()]
            here = sums[self.group]
            sums[self.group] = here + steps if sums is self.squares else np.maximum(here, steps)
        if max(self.squares[self.group]) >= LARGEST_SUM:
            raise InputError(
                f"decoded values are up to {np.abs(errors).max():.3g} half ranges off, too far to be summed: the data "
                "are in other units than those that the codec was fitted to"
            )

    def add_damaged(self, kind: str, error: float | None) -> None:
        """Add the root mean square error of damaged ids, at most ``WHOLE_RANGE``; None: decoding failed."""
        steps = 0 if error is None else round(min(error, WHOLE_RANGE) * STEPS)
        self.damage[self.group, KINDS.index(kind)] += [1, error is None, steps]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return arrays to keep next to a record."""
        return {
            "action clips": np.array([self.clips], np.int64),
            "action widths": self.half_widths.astype("<f8").view("<i8").astype(np.int64),
            "action counts": self.counts.ravel(),
            "action squares": of_sums(self.squares.ravel()).ravel(),
            "action largest": of_sums(self.largest.ravel()).ravel(),
            "action damage": self.damage.ravel(),
        }

    @classmethod
    def of_arrays(cls, arrays: State) -> ActionState:
        """Inverse of ``arrays``; raise ``InputError`` for arrays that contradict each other."""
        widths = taken(arrays, "action widths").astype("<i8").view("<f8").astype(np.float64)
        if not 1 <= len(widths) <= MOST_DIMENSIONS or not np.isfinite(widths).all():
            raise InputError("the widths of dimensions are none")
        state = cls.empty(widths)
        state.clips = int(taken(arrays, "action clips", 1)[0])
        state.counts = _take(arrays, "action counts", state.counts.shape).astype(np.int64)
        state.damage = _take(arrays, "action damage", state.damage.shape).astype(np.int64)
        state.squares, state.largest = (
            _whole(_take(arrays, name, (*state.squares.shape, 2))) for name in ("action squares", "action largest")
        )
        return state


def _take(arrays: State, name: str, shape: tuple[int, ...]) -> NDArray[Any]:
    return taken(arrays, name, int(np.prod(shape))).reshape(shape)


def _whole(halves: NDArray[Any]) -> NDArray[np.object_]:
    whole: NDArray[np.object_] = halves[..., 0].astype(np.object_) + halves[..., 1].astype(np.object_) * (1 << 64)
    return whole


def estimate_of_works(
    metric: str, works: int, of: Callable[[Groups], float | int], part: str | None = None
) -> Measurement:
    """Estimate a metric where there are a few works, such as clips of motion: each is a group of its own.

    Of more than 32, every 32nd is in one group. ``of`` takes bool [min(works, 32)].
    """
    groups = min(works, GROUPS)
    try:
        value = of(np.ones(groups, np.bool_))
    except Undefined as reason:
        return Measurement(metric, None, reason=str(reason), part=part)
    if works < MIN_WORKS:
        lack = f"{works} independent wholes, such as clips (minimum {MIN_WORKS})"
        return Measurement(metric, value, part=part, no_interval=lack)
    replicates = [value_or_none(of, np.arange(groups) != group) for group in range(groups)]
    return with_replicates(Measurement(metric, value, part=part), replicates)


def measure(state: ActionState) -> Iterator[Measurement]:
    """Yield every metric: rates and shares with intervals over clips; counts and single dimensions without."""
    yield Measurement("action_clips", state.clips)
    yield Measurement("action_chunks", int(state.counts[:, 0].sum()))

    def estimated(
        name: str, above: NDArray[Any], below: NDArray[Any], part: str | None = None,
        finish: Callable[[float], float] = float,
    ) -> Measurement:  # fmt: skip
        def of(groups: Groups) -> float:
            kept = np.flatnonzero(groups)
            if not (divisor := int(below[kept].sum())):
                raise Undefined("no data to take a share of")
            return finish(int(above[kept].sum()) / divisor)

        return estimate_of_works(name, state.clips, of, part)

    chunks, values, tokens, outside, unfaithful, _ = state.counts.T
    yield estimated("tokens_per_chunk", tokens, chunks)
    yield estimated("values_per_token", values, tokens)
    yield estimated("action_rmse", state.squares.sum(axis=1), values, finish=_root)
    yield estimated("action_outside_share", outside, values)
    yield estimated("unfaithful_chunk_share", unfaithful, chunks)
    for number, kind in enumerate(KINDS):
        tried, failed, error = state.damage[:, number].T
        yield estimated("damaged_failing_share", failed, tried, kind)
        yield estimated("damaged_error", error, tried - failed, kind, finish=lambda mean: mean / STEPS)
    yield from _by_dimension(state, values)


def _by_dimension(state: ActionState, values: NDArray[np.int64]) -> Iterator[Measurement]:
    frames = int(values.sum()) // len(state.half_widths)
    if not frames:
        return
    for number, width in enumerate(state.half_widths.tolist()):
        part, largest = f"d{number}", int(state.largest[:, number].max()) / STEPS
        error = _root(int(state.squares[:, number].sum()) / frames)
        yield Measurement("dimension_rmse", error, part=part)
        yield Measurement("dimension_rmse_units", error * width, part=part)
        yield Measurement("largest_action_error", largest, part=part)
        yield Measurement("largest_action_error_units", largest * width, part=part)


def _root(steps: float) -> float:
    return float(np.sqrt(steps / STEPS))


_SMALL = Format("{:.4f}")
_UNITS = Format("{:.3g}")
REPORTED = (
    Metric("action_clips", "clip", "none", "clips of motion that were measured", format=COUNT),
    Metric("action_chunks", "chunk", "none", "chunks of motion that were measured", format=COUNT),
    Metric("tokens_per_chunk", "token", "lower", "ids of a chunk", primary=True, format=Format("{:.1f}")),
    Metric(
        "values_per_token", "value", "higher", "values of chunks (frames times dimensions) per id; 1 for bins",
        primary=True, format=Format("{:.2f}"),
    ),
    Metric("action_rmse", "half range", "lower", "root mean square error of decoded values", primary=True,
           tolerance=1e-6, format=_SMALL),
    Metric("dimension_rmse", "half range", "lower", "root mean square error of one dimension", tolerance=1e-6,
           format=_SMALL),
    Metric("dimension_rmse_units", "data", "lower", "root mean square error of one dimension, in units of the data",
           tolerance=1e-6, format=_UNITS),
    Metric("largest_action_error", "half range", "lower", "largest error of a value of one dimension", tolerance=1e-6,
           format=_SMALL),
    Metric("largest_action_error_units", "data", "lower", "largest error of a value, in units of the data",
           tolerance=1e-6, format=_UNITS),
    Metric("action_outside_share", "share", "none",
           "numbers escaped, clamped or left out, mostly outside the fitted range", format=PERCENT),
    Metric("unfaithful_chunk_share", "share", "lower", "chunks whose ids silently give other numbers "
           "than were quantised", primary=True, format=PERCENT),
    Metric("damaged_failing_share", "share", "none", "damaged ids that cannot be decoded; the authors' processor "
           "returns zeros", format=PERCENT),
    Metric("damaged_error", "half range", "lower", "mean of the root mean square errors of the other damaged chunks, "
           "each at most 2", format=Format("{:.3f}")),
)  # fmt: skip

"""Metrics of a log: the share of canonical entries, and tokens beyond the canonical ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyharness.features.logs.canonical import CAUSES, EntryVerdict
from pyharness.metrics.counting.state_arrays import taken
from pyharness.statistics.jackknife import GROUPS, Groups, Undefined, estimate
from pyharness.types import COUNT, PERCENT, InputError, Measurement, Metric, State

COUNTS = ("entries", "judged", "canonical", "logged tokens", "canonical tokens", "without text", "counts alone")
_CAUSES = tuple(CAUSES)


@dataclass(slots=True)
class LogState:
    """Sums by group of entries. Integers only."""

    counts: NDArray[np.int64]  # [GROUPS, COUNTS]; tokens are of entries that have a text
    causes: NDArray[np.int64]  # [GROUPS, CAUSES], entries by the cause of their first difference

    @classmethod
    def empty(cls) -> LogState:
        """Return the state before any entry."""
        return cls(np.zeros((GROUPS, len(COUNTS)), np.int64), np.zeros((GROUPS, len(_CAUSES)), np.int64))

    def add(self, group: int, verdict: EntryVerdict) -> None:
        """Add an entry."""
        no_text = verdict.canonical is None
        self.counts[group] += [
            1, verdict.has_ids, verdict.has_ids and verdict.change is None, 0 if no_text else verdict.logged,
            verdict.canonical or 0, no_text, not verdict.has_ids,
        ]  # fmt: skip
        if verdict.change is not None:
            self.causes[group, _CAUSES.index(verdict.change.cause)] += 1

    def totals(self) -> dict[str, int]:
        """Return the sums over all groups by name."""
        return dict(zip(COUNTS, self.counts.sum(axis=0).tolist(), strict=True))

    def by_cause(self) -> dict[str, int]:
        """Return the number of entries by cause, the most frequent first; none without entries."""
        sums = dict(zip(_CAUSES, self.causes.sum(axis=0).tolist(), strict=True))
        return {cause: sums[cause] for cause in sorted(sums, key=lambda one: -sums[one]) if sums[cause]}

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return arrays to keep with a record."""
        return {"log counts": self.counts.ravel(), "log causes": self.causes.ravel()}

    @classmethod
    def of_arrays(cls, arrays: State) -> LogState:
        """Invert ``arrays``; raise ``InputError`` for arrays that contradict each other."""
        state = cls.empty()
        state.counts = taken(arrays, "log counts", state.counts.size).astype(np.int64).reshape(state.counts.shape)
        state.causes = taken(arrays, "log causes", state.causes.size).astype(np.int64).reshape(state.causes.shape)
        if (state.counts < 0).any() or (state.causes < 0).any():
            raise InputError("a log has counts below 0")
        return state


def measure(state: LogState) -> Iterator[Measurement]:
    """Yield every metric."""
    totals, counts = state.totals(), state.counts
    yield Measurement("log_entries", totals["entries"])
    yield Measurement("logged_tokens", totals["logged tokens"])
    yield Measurement("canonical_tokens", totals["canonical tokens"])
    yield Measurement("overcount_tokens", totals["logged tokens"] - totals["canonical tokens"])

    def canonical(groups: Groups) -> float:
        judged = int(counts[groups, 1].sum())
        if not judged:
            raise Undefined("no entry has ids")
        return int(counts[groups, 2].sum()) / judged

    def overcount(groups: Groups) -> float:
        logged, wanted = (int(counts[groups, column].sum()) for column in (3, 4))
        if not wanted:
            raise Undefined("no entry has tokens")
        return logged / wanted - 1

    yield estimate("canonical_share", counts[:, 1].tolist(), canonical)
    yield estimate("overcount_share", counts[:, 0].tolist(), overcount, sizes=counts[:, 4].tolist())


REPORTED = (
    Metric("log_entries", "entry", "none", "entries of a log that were read", format=COUNT),
    Metric(
        "canonical_share", "share", "higher", "entries whose ids are those that the tokenizer gives for their text",
        primary=True, format=PERCENT,
    ),
    Metric("logged_tokens", "token", "none", "tokens of the entries of a log, as logged", format=COUNT),
    Metric("canonical_tokens", "token", "none", "tokens of the same texts, as the tokenizer gives them", format=COUNT),
    Metric(
        "overcount_tokens", "token", "lower", "logged tokens less canonical ones", primary=True, exact=True,
        format=COUNT,
    ),
    Metric("overcount_share", "share", "lower", "logged tokens over canonical ones, less 1", format=PERCENT),
)  # fmt: skip

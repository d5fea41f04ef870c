"""Fairness across languages: costs of the same sentences in each (Petrov et al. 2023, arXiv 2305.15425)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyharness.metrics.counting.state_arrays import of_text, taken, text_of
from pyharness.statistics import jackknife
from pyharness.statistics.jackknife import GROUPS, Undefined
from pyharness.types import COUNT, Format, InputError, Measurement, Metric, State

Sums = NDArray[np.int64]  # [languages]


@dataclass(slots=True)
class FairnessState:
    """Tokens and bytes of aligned rows, by group of rows and language. Integers only."""

    languages: tuple[str, ...]
    reference: str
    tokens: NDArray[np.int64]  # [GROUPS, languages]
    bytes: NDArray[np.int64]  # [GROUPS, languages]
    rows: NDArray[np.int64]  # [GROUPS]

    @classmethod
    def empty(cls, languages: tuple[str, ...], reference: str) -> FairnessState:
        """Return the state before any row."""
        tokens, sizes = np.zeros((2, GROUPS, len(languages)), np.int64)
        return cls(languages, reference, tokens, sizes, np.zeros(GROUPS, np.int64))

    def update(self, group: int, tokens: Sums, sizes: Sums) -> None:
        """Add one row: tokens and UTF-8 bytes of its text in every language."""
        self.tokens[group] += tokens
        self.bytes[group] += sizes
        self.rows[group] += 1

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return arrays to keep with a record."""
        return {
            "languages": of_text("\n".join((self.reference, *self.languages))),
            "tokens": self.tokens,
            "bytes": self.bytes,
            "rows": self.rows,
        }

    @classmethod
    def of_arrays(cls, arrays: State) -> FairnessState:
        """Invert ``arrays``; raise ``InputError`` for arrays that contradict each other."""
        reference, *languages = text_of(taken(arrays, "languages")).split("\n")
        rows = taken(arrays, "rows", GROUPS)
        shape = (GROUPS, len(languages))
        tokens, sizes = (arrays.get(name, np.zeros(0)).astype(np.int64) for name in ("tokens", "bytes"))
        if reference not in languages or tokens.shape != shape or sizes.shape != shape:
            raise InputError("the costs of languages are not of one size")
        return cls(tuple(languages), reference, tokens, sizes, rows.astype(np.int64))

    def merge(self, other: FairnessState) -> None:
        """Add the rows of another pass."""
        self.tokens += other.tokens
        self.bytes += other.bytes
        self.rows += other.rows


def gini(costs: Sums) -> float:
    """Return sum |ci - cj| / (2 n^2 mean): 0 when every language costs the same."""
    ordered = np.sort(costs).astype(np.float64)
    count = len(ordered)
    weights = 2 * np.arange(1, count + 1) - count - 1
    return float((weights * ordered).sum() / (count * ordered.sum()))


def measure(state: FairnessState) -> list[Measurement]:
    """Return the rows, the Gini coefficient over all languages, and the premiums of all but the reference."""
    home = state.languages.index(state.reference)
    measurements = [Measurement("aligned_rows", int(state.rows.sum()), part=state.reference)]
    measurements.append(_estimate(state, "premium_gini", None, lambda tokens, _: gini(tokens)))
    for index, language in enumerate(state.languages):
        if index != home:
            measurements.append(_estimate(state, "parity", language, lambda t, _, i=index: t[i] / t[home]))  # type: ignore[misc]
            measurements.append(_estimate(state, "bytes_premium", language, lambda _, b, i=index: b[i] / b[home]))  # type: ignore[misc]
    return measurements


def _estimate(
    state: FairnessState, metric: str, part: str | None, compute: Callable[[Sums, Sums], float]
) -> Measurement:
    home = state.languages.index(state.reference)

    def of(groups: jackknife.Groups) -> float:
        tokens, sizes = state.tokens[groups].sum(axis=0), state.bytes[groups].sum(axis=0)
        if tokens[home] == 0:
            raise Undefined("the reference language produced no tokens")
        if metric == "parity" and tokens[state.languages.index(str(part))] == 0:
            raise Undefined(f"{part} produced no tokens")  # 0 would be the best premium
        return float(compute(tokens, sizes))

    return jackknife.estimate(metric, state.rows.tolist(), of, part, state.bytes[:, home].tolist())


METRICS = (
    Metric(
        "parity", "ratio", "lower", "tokens (units, for a row without a vocabulary) relative to the reference language",
        format=Format("{:.3f}"),
    ),
    Metric("premium_gini", "share", "lower", "Gini coefficient of tokens over languages", primary=True),
    Metric("bytes_premium", "ratio", "none", "UTF-8 bytes relative to the reference language"),
    Metric("aligned_rows", "row", "none", "rows of aligned sentences that were read", format=COUNT),
)  # fmt: skip

"""Costs of the same sentences in every language, and how much of them a window holds.

All are per word of the reference language: a million of its words, said in another language, cost this much. So
languages compare although their words do not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyharness.features.costs.prices import TokenPrices
from pyharness.metrics.counting.state_arrays import taken
from pyharness.metrics.fairness import FairnessState
from pyharness.statistics import jackknife
from pyharness.statistics.jackknife import GROUPS, Undefined
from pyharness.types import Format, InputError, Measurement, Metric, State


@dataclass(slots=True)
class CostState:
    """Tokens of aligned rows by group and language, and the words of their text in the reference language."""

    tokens: FairnessState
    words: NDArray[np.int64]  # [GROUPS]

    @classmethod
    def empty(cls, languages: tuple[str, ...], reference: str) -> CostState:
        """Return the state before any row."""
        return cls(FairnessState.empty(languages, reference), np.zeros(GROUPS, np.int64))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return arrays to keep with a record."""
        return {**self.tokens.arrays(), "words": self.words}

    @classmethod
    def of_arrays(cls, arrays: State) -> CostState:
        """Invert ``arrays``; raise ``InputError`` for arrays that contradict each other."""
        words = taken(arrays, "words", GROUPS).astype(np.int64)
        if (words < 0).any():
            raise InputError("a group has fewer than 0 words")
        return cls(FairnessState.of_arrays(arrays), words)


def measure(state: CostState, prices: TokenPrices) -> Iterator[Measurement]:
    """Yield every metric of every language."""
    functions: dict[str, Callable[[float], float]] = {  # of the tokens for a word of the reference language
        "reading_cost": lambda tokens: prices.input * tokens,
        "writing_cost": lambda tokens: prices.output * tokens,
    }
    if prices.window:
        functions["window_words"] = lambda tokens: prices.window / tokens
    for index, language in enumerate(state.tokens.languages):
        for name, of in functions.items():
            yield _estimate(state, name, language, index, of)


def _estimate(state: CostState, name: str, language: str, index: int, compute: Callable[[float], float]) -> Measurement:
    aligned, home = state.tokens, state.tokens.languages.index(state.tokens.reference)

    def of(groups: jackknife.Groups) -> float:
        tokens, words = int(aligned.tokens[groups, index].sum()), int(state.words[groups].sum())
        if not words:
            raise Undefined(f"the text has no words in the reference language {aligned.reference}")
        if not tokens:
            raise Undefined(f"{language} has no tokens")
        return float(compute(tokens / words))

    return jackknife.estimate(name, aligned.rows.tolist(), of, language, aligned.bytes[:, home].tolist())


COST = Format("{:.4g}")  # prices go from cents to hundreds
REPORTED = (
    Metric(
        "reading_cost", "price/million words", "lower",
        "price of a million words of the reference language, read in a language", primary=True, format=COST,
    ),
    Metric(
        "writing_cost", "price/million words", "lower",
        "price of a million words of the reference language, written in a language", format=COST,
    ),
    Metric(
        "window_words", "word", "higher",
        "words of the reference language whose translation fits the window", format=Format("{:,.0f}"),
    ),
)  # fmt: skip

"""Rows that were trained on the text they are measured on: a mark behind the name, and a note that says how much."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from pyharness.report.sheet import Cell
from pyharness.types import PERCENT, CaseResult
from pyharness.types.results import TRAINED_ON_TOO_MUCH

MARK = "†"
_LEAST_SHOWN = 0.0001
_NO_RANK = f" From {TRAINED_ON_TOO_MUCH:.0%} on there is no rank."


def row_cell(row: str, results: Iterable[CaseResult]) -> Cell:
    """Name of a row, marked where one of its ``results`` is of text that it was trained on."""
    return Cell(row, part=MARK if any(result.trained_on for result in results) else None)


def note(results: Sequence[CaseResult], *, ranking: bool = False) -> Iterator[str]:
    """Say which rows were trained on what they have read, and how much of it that is: the most over their results.

    Below a ``ranking``, say as well which of them have no rank.
    """
    several = len({result.case.corpus for result in results}) > 1
    shares: dict[str, float] = {}
    for result in results:
        if result.trained_on:
            row = result.case.tokenizer + (f" on {result.case.corpus}" if several else "")
            shares[row] = max(shares.get(row, 0.0), result.trained_on)
    if shares:
        named = ", ".join(f"{row} ({_shown(share)} of its bytes)" for row, share in shares.items())
        yield f"{MARK} trained on this text: {named}." + (_NO_RANK if ranking else "")


def _shown(share: float) -> str:
    return f"{PERCENT.show(share)} %" if share >= _LEAST_SHOWN else "less than 0.01 %"

"""Costs of rows: how much more of something, such as tokens, each needs than the best row on the same text."""

from __future__ import annotations

from collections.abc import Mapping

from pyharness.benchmarks import benchmarks
from pyharness.report.sheet import Cell
from pyharness.types import Format

BEST = Format("1.00x")
LITTLE = 0.0995  # smaller shares are shown with a decimal
_PERCENT, _WHOLE_PERCENT = Format("{:+.1f} %", 100, "%"), Format("{:+,.0f} %", 100, "%")


def best_noun(benchmark: str, metric: str) -> str:
    """Name the best value: ``fewest tokens``, or ``best bits per byte`` for a benchmark without a named cost."""
    about = benchmarks().get(benchmark)
    return f"fewest {about.pays}" if about is not None and about.pays else f"best {metric.replace('_', ' ')}"


def cost_note(benchmark: str, metric: str) -> str:
    """Explain the cells of costs."""
    pays = getattr(benchmarks().get(benchmark), "pays", "")
    others = f"more {pays}" if pays else "behind"
    return f"1.00x: the {best_noun(benchmark, metric)} on that text. Other rows: % {others}."


def cost_cells(values: Mapping[str, float], *, higher: bool) -> dict[str, Cell]:
    """Return costs of rows on a text: the excess of each over the best, as a share, with the whole cost as its bar.

    Args:
        values: of rows by label; the first one above 0 is taken as the best. Values not above 0 have no cost.
        higher: whether a higher value is better, and needs less.
    """
    valued = {label: value for label, value in values.items() if value > 0}
    if not valued:
        return {}
    best = next(iter(valued.values()))
    costs = {label: best / value if higher else value / best for label, value in valued.items()}
    cells = {}
    for label, cost in costs.items():
        share = cost - 1
        shown = BEST if share == 0 else _PERCENT if abs(share) < LITTLE else _WHOLE_PERCENT
        cells[label] = Cell(share, shown, unit="beyond the best", bar=cost)
    return cells

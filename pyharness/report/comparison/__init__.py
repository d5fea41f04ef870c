"""Rows on the same text: what is compared, every difference, and its verdict."""

from pyharness.report.comparison.comparing import differences, records, rows, some
from pyharness.report.comparison.difference import INCONCLUSIVE, RESOLVED, Difference, resolved_first, said_of
from pyharness.report.comparison.pairs import Pair, metrics_of, pairs_of_records, pairs_of_rows
from pyharness.report.comparison.states import States

__all__ = [
    "INCONCLUSIVE",
    "RESOLVED",
    "Difference",
    "Pair",
    "States",
    "differences",
    "metrics_of",
    "pairs_of_records",
    "pairs_of_rows",
    "records",
    "resolved_first",
    "rows",
    "said_of",
    "some",
]

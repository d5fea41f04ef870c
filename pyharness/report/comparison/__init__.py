"""Rows on the same text: what is compared, every difference, and its verdict."""

from pyharness.report.comparison.comparing import differences, records, rows, some
from pyharness.report.comparison.difference import RESOLVED, Difference, resolved_first
from pyharness.report.comparison.pairs import Pair, metrics_of, pairs_of_records, pairs_of_rows

__all__ = [
    "RESOLVED",
    "Difference",
    "Pair",
    "differences",
    "metrics_of",
    "pairs_of_records",
    "pairs_of_rows",
    "records",
    "resolved_first",
    "rows",
    "some",
]

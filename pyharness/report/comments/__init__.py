"""Comments on a pull request about records of runs."""

from __future__ import annotations

from pyharness.report.comments.comparisons import comparison_comment
from pyharness.report.comments.records import record_comment

__all__ = ["comparison_comment", "record_comment"]

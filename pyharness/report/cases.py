"""Cases as people read of them: their names, and those without numbers."""

from __future__ import annotations

from collections.abc import Iterable

from pyharness.report.sheet import Heading, Sheet, text_row
from pyharness.types import Case, CaseResult

_AXES = {"threads": " x{}", "width": " d={}", "context": " context={}"}  # parameters that a suite gives several of
_HEADINGS = (
    Heading("tokenizer", "name"), Heading("status", "word"), Heading("cases", "prose"), Heading("reason", "prose"),
)  # fmt: skip


def case_name(case: Case) -> str:
    """Name the benchmark of a case, with the parameters that a suite gives it several of."""
    given = case.parameters
    return case.benchmark + "".join(shape.format(given[key]) for key, shape in _AXES.items() if key in given)


def case_in_words(case: Case) -> str:
    """Name a case with its row and text, as progress does."""
    return "  ".join(filter(None, (case_name(case), case.tokenizer, case.corpus)))


def not_measured(results: Iterable[CaseResult]) -> Sheet:
    """List the cases without numbers: once for all cases of a row that share a reason."""
    cases: dict[tuple[str, str, str], list[str]] = {}
    for result in results:
        if result.status != "ok":
            about = result.case
            name = case_name(about) + (f" on {about.corpus}" if about.corpus else "")
            cases.setdefault((about.tokenizer, result.status, str(result.reason)), []).append(name)
    rows = tuple(text_row(row, status, ", ".join(names), reason) for (row, status, reason), names in cases.items())
    return Sheet("Not measured", _HEADINGS, rows)

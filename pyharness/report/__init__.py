"""Reports: a record or a comparison as tables for people (terminal, Markdown, HTML) or as flat rows for programs.

They measure nothing: values come from records, intervals from the values these hold. Numbers stay numbers in the cells
of a ``Sheet`` until an exporter writes them. A benchmark declares which numbers its tables show.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyharness.report.differences import difference_sheets, flat_differences
    from pyharness.report.exporters import (
        FORMATS_OF_SUFFIXES,
        Comment,
        to_csv,
        to_html,
        to_json,
        to_latex,
        to_markdown,
        to_page,
        to_parquet,
        to_pull_request,
        to_text,
    )
    from pyharness.report.exporters.comment import append_step_summary
    from pyharness.report.sheet import Cell, Heading, Sheet
    from pyharness.report.sheet.cases import case_in_words, case_name
    from pyharness.report.sheet.strings import shorten, visible
    from pyharness.report.tables import flat_sheet, sheets

__all__ = [
    "FORMATS_OF_SUFFIXES", "Cell", "Comment", "Heading", "Sheet", "append_step_summary", "case_in_words", "case_name",
    "difference_sheets", "flat_differences", "flat_sheet", "sheets", "shorten", "to_csv", "to_html", "to_json",
    "to_latex", "to_markdown", "to_page", "to_parquet", "to_pull_request", "to_text", "visible",
]  # fmt: skip
_ROOMS = ("sheet", "sheet.strings", "sheet.cases", "exporters", "exporters.comment", "differences", "tables")


def __getattr__(name: str) -> Any:
    # Every command writes names with `sheet.strings`; the tables and drawings of a record are for those that report.
    for room in _ROOMS if name in __all__ else ():
        if hasattr(module := import_module(f"{__name__}.{room}"), name):
            return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

"""Reports: a record or a comparison as tables for people (terminal, Markdown, HTML) or as flat rows for programs.

They measure nothing: values come from records, intervals from the values these hold. Numbers stay numbers in the cells
of a ``Sheet`` until an exporter writes them. A benchmark declares which numbers its tables show.
"""

from __future__ import annotations

from pyharness.report.differences import difference_sheets, flat_differences
from pyharness.report.exporters import FORMATS_OF_SUFFIXES
from pyharness.report.exporters.comment import Comment, append_step_summary, to_pull_request
from pyharness.report.exporters.data import to_csv, to_json, to_parquet
from pyharness.report.exporters.markup import to_html, to_latex, to_markdown, to_page
from pyharness.report.exporters.text import to_text
from pyharness.report.sheet import Cell, Heading, Sheet
from pyharness.report.sheet.cases import case_in_words, case_name
from pyharness.report.sheet.strings import shorten, visible
from pyharness.report.tables import flat_sheet, sheets

__all__ = [
    "FORMATS_OF_SUFFIXES", "Cell", "Comment", "Heading", "Sheet", "append_step_summary", "case_in_words", "case_name",
    "difference_sheets", "flat_differences", "flat_sheet", "sheets", "shorten", "to_csv", "to_html", "to_json",
    "to_latex", "to_markdown", "to_page", "to_parquet", "to_pull_request", "to_text", "visible",
]  # fmt: skip

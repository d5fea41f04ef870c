"""Reports: a record as tables for people (terminal, Markdown, HTML) or as flat rows for programs.

Renders, measures nothing: values come from the record, intervals from the values it holds.
"""

from __future__ import annotations

from pyharness.report.cells import Table, case_name
from pyharness.report.flat import to_csv, to_frame, to_json, to_parquet
from pyharness.report.profiles import profile_tables
from pyharness.report.render import to_html, to_markdown, to_page, to_text, visible
from pyharness.report.tables import difference_tables, tables

__all__ = [
    "Table",
    "case_name",
    "difference_tables",
    "profile_tables",
    "tables",
    "to_csv",
    "to_frame",
    "to_html",
    "to_json",
    "to_markdown",
    "to_page",
    "to_parquet",
    "to_text",
    "visible",
]

"""The report as one HTML file: what is said of a record, in sections, with charts and the numbers of each."""

from __future__ import annotations

from pyharness.report.page.parts import Block, Download, Figure, Page, Section, Verbatim
from pyharness.report.page.rendering import lack, render
from pyharness.report.page.reports import (
    Source,
    page_of,
    page_of_pairs,
    page_of_sheets,
    to_report,
)

__all__ = [
    "Block",
    "Download",
    "Figure",
    "Page",
    "Section",
    "Source",
    "Verbatim",
    "lack",
    "page_of",
    "page_of_pairs",
    "page_of_sheets",
    "render",
    "to_report",
]

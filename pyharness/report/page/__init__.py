"""The report as one HTML file: facts of a record in sections, with charts and their numbers."""

from __future__ import annotations

from pyharness.report.page.contents import RecordFile, page_of, page_of_pairs, to_report
from pyharness.report.page.markup import lack, render
from pyharness.report.page.sections import figures
from pyharness.report.sheet.parts import Block, Download, Figure, Page, Section, Verbatim

__all__ = [
    "Block", "Download", "Figure", "Page", "RecordFile", "Section", "Verbatim", "figures", "lack", "page_of",
    "page_of_pairs", "render", "to_report",
]  # fmt: skip

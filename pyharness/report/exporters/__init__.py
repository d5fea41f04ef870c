"""Exporters: sheets as text, Markdown, LaTeX and HTML; one sheet of raw values as CSV, JSON and Parquet."""

from __future__ import annotations

from pyharness.report.exporters.comment import Comment, to_pull_request
from pyharness.report.exporters.data import to_csv, to_json, to_parquet
from pyharness.report.exporters.markup import to_html, to_latex, to_markdown, to_page
from pyharness.report.exporters.text import to_text

FORMATS_OF_SUFFIXES = {".md": "markdown", ".tex": "latex", ".txt": "text"} | {
    f".{form}": form for form in ("html", "csv", "json", "parquet")
}

__all__ = [
    "FORMATS_OF_SUFFIXES", "Comment", "to_csv", "to_html", "to_json", "to_latex", "to_markdown", "to_page",
    "to_parquet", "to_pull_request", "to_text",
]  # fmt: skip

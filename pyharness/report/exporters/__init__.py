"""Exporters: sheets as text, Markdown, LaTeX and HTML; one sheet of raw values as CSV, JSON and Parquet."""

from __future__ import annotations

FORMATS_OF_SUFFIXES = {".md": "markdown", ".tex": "latex", ".txt": "text"} | {
    f".{form}": form for form in ("html", "csv", "json", "parquet")
}

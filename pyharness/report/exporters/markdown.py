"""Sheets as GitHub-flavoured Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pyharness.report.sheet import Sheet
from pyharness.report.sheet.strings import markdown_cell, markdown_line


def to_markdown(sheets: Iterable[Sheet]) -> str:
    """Return sheets with their titles, if they have one, and notes."""
    parts = []
    for sheet in sheets:
        title = [f"### {markdown_line(sheet.title)}", ""] if sheet.title else []
        lines = [*title, *_head_lines(sheet), *row_lines(sheet), ""]
        parts.append("\n".join([*lines, *map(markdown_line, sheet.notes)]).rstrip())
    return "\n\n".join(parts) + "\n"


def _head_lines(sheet: Sheet) -> tuple[str, str]:
    """Return the two lines that a table begins with."""
    ruler = ("--:" if heading.kind == "number" else ":--" for heading in sheet.headings)
    return _cells(map(markdown_cell, sheet.columns)), _cells(ruler)


def row_lines(sheet: Sheet) -> Iterator[str]:
    """Return a line for each row."""
    return (_cells(map(markdown_cell, row)) for row in sheet.texts)


def _cells(texts: Iterable[str]) -> str:
    return f"| {' | '.join(texts)} |"

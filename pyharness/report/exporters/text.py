"""Tables as terminal text, Markdown and HTML. Everything that comes from a file is escaped."""

from __future__ import annotations

import html
import io
import re
from collections.abc import Iterable, Sequence

from pyharness.report.cells import Table

_CONTROL = re.compile(  # also lone surrogates, which no terminal or file can be given
    r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
HEADER_WIDTH = 7
WRAPPED_WIDTH = 24
MIN_NAME_WIDTH = 12
GAP = 2
_WRAPPED = {"reason", "cases", "about", "parameters", "metric"}
_CUT = {"tokenizer", "corpus"}
_TEXT_COLUMNS = _WRAPPED | _CUT | {
    "class", "benchmark", "status", "verdict", "name", "extra", "unit", "better", "implementation", "problem", "here",
}  # fmt: skip
_STYLE = (
    "body{font:15px/1.4 system-ui,sans-serif;margin:2em auto;max-width:75em;padding:0 1em}"
    "table{border-collapse:collapse;margin:2em 0 .5em;font-variant-numeric:tabular-nums}"
    "caption{text-align:left;padding-bottom:.3em}th,td{padding:.15em .8em .15em 0;text-align:right;vertical-align:top}"
    "th{border-bottom:1px solid}.text{text-align:left}p{margin:.1em 0}"
)


def visible(text: str) -> str:
    """Show control and bidirectional characters as escapes: a token must not drive the terminal."""
    return _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", text)


def shorten(text: str, width: int) -> str:
    """Cut the middle out of a long name: both ends tell names apart."""
    if len(text) <= width:
        return text
    tail = (width - 1) * 2 // 3
    return f"{text[: width - 1 - tail]}…{text[-tail:]}"


def to_text(tables: Iterable[Table], width: int = 80, color: bool = False) -> str:
    """Tables for a terminal or a log, ``width`` columns wide; wider where digits would be cut off otherwise."""
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    out = io.StringIO()
    for number, table in enumerate(tables):
        console = Console(
            file=out,
            width=max(width, _least_width(table)),
            height=100,
            force_terminal=color,
            color_system="auto" if color else None,
        )
        if number:
            console.print()
        console.print(Text(visible(table.title), style="bold"))
        drawn = RichTable(box=None, padding=(0, GAP, 0, 0), header_style="dim" if color else "", pad_edge=False)
        for column, header in zip(table.columns, _headers(table.columns), strict=True):
            wraps = column in _WRAPPED
            drawn.add_column(
                Text(header),
                justify="left" if column in _TEXT_COLUMNS else "right",
                no_wrap=not wraps,
                overflow="fold" if wraps else "ellipsis",
                ratio=1 if wraps else None,
            )
        room = _room_for_names(table, width)
        for row in table.rows:
            drawn.add_row(*(Text(_cell(column, cell, room)) for column, cell in zip(table.columns, row, strict=True)))
        console.print(drawn)
        for note in table.notes:
            console.print(Text(visible(note), style="dim" if color else ""), width=width)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def _headers(columns: Sequence[str]) -> list[str]:
    """Set the last word of a long header under the others: columns stay as narrow as their numbers."""
    parts = [column.rpartition(" ") if len(column) > HEADER_WIDTH else ("", "", column) for column in columns]
    two_lines = any(head for head, _, _ in parts)
    return [f"{visible(head)}\n{visible(last)}" if two_lines else visible(last) for head, _, last in parts]


def _taken(table: Table) -> int:
    """Columns that a table takes without its names: numbers whole, text that wraps at a width it can be read at."""
    taken = 0
    for index, (column, header) in enumerate(zip(table.columns, _headers(table.columns), strict=True)):
        if column in _WRAPPED:
            taken += WRAPPED_WIDTH + GAP
        elif column not in _CUT:
            cells = (visible(row[index]) for row in table.rows)
            taken += max(map(len, (*header.split("\n"), *cells))) + GAP
    return taken


def _least_width(table: Table) -> int:
    wrapped = sum(column in _WRAPPED for column in table.columns)
    names = sum(column in _CUT for column in table.columns)
    return _taken(table) - wrapped * (WRAPPED_WIDTH - MIN_NAME_WIDTH) + names * (MIN_NAME_WIDTH + GAP) - GAP


def _room_for_names(table: Table, width: int) -> int:
    """Columns left for each name once every number has its own."""
    names = sum(column in _CUT for column in table.columns)
    return max(MIN_NAME_WIDTH, (width - _taken(table)) // max(names, 1) - GAP)


def _cell(column: str, text: str, room: int) -> str:
    shown = visible(text)
    return shorten(shown, room) if column in _CUT else shown


def to_markdown(tables: Iterable[Table]) -> str:
    """Tables as GitHub-flavoured Markdown."""
    parts = []
    for table in tables:
        lines = [f"### {_markdown_cell(table.title)}", ""]
        lines.append("| " + " | ".join(map(_markdown_cell, table.columns)) + " |")
        ruler = [":--" if column in _TEXT_COLUMNS else "--:" for column in table.columns]
        lines.append("| " + " | ".join(ruler) + " |")
        lines += ["| " + " | ".join(map(_markdown_cell, row)) + " |" for row in table.rows]
        lines += ["", *(_markdown_cell(note) for note in table.notes)]
        parts.append("\n".join(lines).rstrip())
    return "\n\n".join(parts) + "\n"


def _markdown_cell(text: str) -> str:
    escaped = re.sub(r"([\\`*\[\]|~])", r"\\\1", visible(text))
    return escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def to_page(tables: Iterable[Table], title: str) -> str:
    """Tables as an HTML file."""
    return (
        '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width">\n'
        f"<title>{html.escape(visible(title))}</title>\n<style>{_STYLE}</style>\n{to_html(tables)}\n</html>\n"
    )


def to_html(tables: Iterable[Table]) -> str:
    """Tables as an HTML fragment: what a notebook shows."""
    parts = []
    for table in tables:
        head = _html_row("th", table.columns, table.columns)
        body = "".join(_html_row("td", row, table.columns) for row in table.rows)
        notes = "".join(f"<p><small>{html.escape(visible(note))}</small></p>" for note in table.notes)
        caption = html.escape(visible(table.title))
        parts.append(
            f"<table><caption><strong>{caption}</strong></caption>"
            f"<thead>{head}</thead><tbody>{body}</tbody></table>{notes}"
        )
    return "\n".join(parts)


def _html_row(tag: str, cells: Iterable[str], columns: Iterable[str]) -> str:
    marked = (
        f"<{tag}{' class=text' if column in _TEXT_COLUMNS else ''}>{html.escape(visible(cell))}</{tag}>"
        for cell, column in zip(cells, columns, strict=True)
    )
    return f"<tr>{''.join(marked)}</tr>"

"""Sheets as Markdown, as GitHub reads it, as LaTeX, and as HTML: a fragment for notebooks, a page for files.

Tool tips in HTML explain the numbers.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator

from pyharness.report.sheet import Sheet, legends_once
from pyharness.report.sheet.parts import Figure
from pyharness.report.sheet.strings import markdown_cell, markdown_line, visible


def to_markdown(sheets: Iterable[Sheet]) -> str:
    """Return sheets with their notes, and their titles, if any."""
    parts = []
    for sheet in legends_once(sheets):
        title = [f"### {markdown_line(sheet.title)}", ""] if sheet.title else []
        ruler = ("--:" if heading.kind == "number" else ":--" for heading in sheet.headings)
        head = _cells(map(markdown_cell, sheet.columns))
        lines = [*title, head, _cells(ruler), *row_lines(sheet), ""]
        parts.append("\n".join([*lines, *map(markdown_line, sheet.notes)]).rstrip())
    return "\n\n".join(parts) + "\n"


def row_lines(sheet: Sheet) -> Iterator[str]:
    """Return a line for each row."""
    return (_cells(map(markdown_cell, row)) for row in sheet.texts)


def _cells(texts: Iterable[str]) -> str:
    return f"| {' | '.join(texts)} |"


_STYLE = (
    "body{font:15px/1.4 system-ui,sans-serif;margin:2em auto;max-width:75em;padding:0 1em}"
    "table{border-collapse:collapse;margin:2em 0 .5em;font-variant-numeric:tabular-nums}"
    "caption{text-align:left;padding-bottom:.3em}th,td{padding:.15em .8em .15em 0;text-align:right;vertical-align:top}"
    "th{border-bottom:1px solid}.text{text-align:left}p{margin:.1em 0}"
)


def to_page(sheets: Iterable[Sheet], title: str) -> str:
    """Return sheets as an HTML file."""
    return (
        '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width">\n'
        f"<title>{_escape(title)}</title>\n<style>{_STYLE}</style>\n{to_html(sheets)}\n</html>\n"
    )


_OF_NOTEBOOK = (
    ".pyharness table{border-collapse:collapse;margin:1.2em 0 .3em;font-variant-numeric:tabular-nums}"
    ".pyharness caption{text-align:left}.pyharness :is(th,td){padding:.1em .8em .1em 0;text-align:right}"
    ".pyharness th{border-bottom:1px solid}.pyharness .text{text-align:left}.pyharness p{margin:0}"
    ".pyharness figure{background:#fff;color:#1b1d1f;margin:1.2em 0;padding:.8em;max-width:50em}"
)


def to_html(sheets: Iterable[Sheet], figures: Iterable[Figure] = ()) -> str:
    """Return sheets and charts as an HTML fragment for notebooks."""
    parts = [f'<div class="pyharness"><style>{_OF_NOTEBOOK}</style>']
    for sheet in sheets:
        head = "".join(_element("th", one.title, one.kind, one.meaning) for one in sheet.headings)
        rows = (zip(sheet.headings, row, strict=True) for row in sheet.rows)
        cells = ([_element("td", one.text, head.kind, one.reason or "") for head, one in row] for row in rows)
        body = "".join(f"<tr>{''.join(row)}</tr>" for row in cells)
        notes = "".join(f"<p><small>{_escape(note)}</small></p>" for note in sheet.notes)
        parts.append(
            f"<table><caption><strong>{_escape(sheet.title)}</strong></caption>"
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{notes}"
        )
    for one in figures:
        about = f"<strong>{_escape(one.title)}</strong><br>{_escape(one.description)}"
        parts.append(f"<figure><figcaption>{about}</figcaption>{one.svg}</figure>")
    return "\n".join([*parts, "</div>"])


def _element(tag: str, text: str, kind: str, tip: str) -> str:
    marks = "" if kind == "number" else " class=text"
    if tip:
        marks += f' title="{_escape(tip)}"'
    return f"<{tag}{marks}>{_escape(text)}</{tag}>"


def _escape(text: str) -> str:
    return html.escape(visible(text))


# ------------------------------------------------------------------------------------------------------------- LaTeX


_LATEX = str.maketrans({
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}",
    ">": r"\textgreater{}", "|": r"\textbar{}", "±": r"$\pm$", "…": r"\ldots{}", "[": "{[}", "*": "{*}",
    **{mark: f"\\{mark}" for mark in "{}$&#_%"},
})  # fmt: skip  # [ and * at the beginning of a row would be arguments of the line's end before it


def to_latex(sheets: Iterable[Sheet]) -> str:
    """Return each sheet as a table of LaTeX that needs no package, with CIs and notes.

    Every mark of LaTeX is escaped: a name cannot run a command. Other scripts than Latin need LuaLaTeX or XeLaTeX.
    """
    tables = []
    for sheet in sheets:
        aligned = "".join("r" if heading.kind == "number" else "l" for heading in sheet.headings) or "l"
        head, *rows = (rf"{' & '.join(map(_latex, texts))} \\" for texts in (sheet.columns, *sheet.texts))
        lines = [r"\begin{table}", rf"\caption{{{_latex(sheet.title)}}}", rf"\begin{{tabular}}{{{aligned}}}", r"\hline"]
        lines += [head, r"\hline", *rows, r"\hline", r"\end{tabular}"]
        lines += [*(rf"\par {_latex(note)}" for note in sheet.notes), r"\end{table}"]
        tables.append("".join(f"{line}\n" for line in lines))
    return "\\null\n".join(tables)  # it is empty text: LaTeX holds only 52 tables without text between them


def _latex(text: str) -> str:
    return visible(text).translate(_LATEX)

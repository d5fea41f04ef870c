"""Markdown for a pull request: a summary line, the important parts, and the rest folded, in at most 60 kB.

Limits count bytes of UTF-8, which are at least as many as any other unit. GitHub says "maximum is 65536 characters":
for the text of a pull request those are Unicode characters, and comments were seen to take four times as many bytes
(https://github.com/dead-claudia/github-limits/pull/13).
"""

from __future__ import annotations

import html
import os
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from pyharness.report.exporters.markup import row_lines, to_markdown
from pyharness.report.sheet import Cell, Sheet
from pyharness.report.sheet.strings import markdown, markdown_line, shorten, shorten_apart, visible
from pyharness.types import counted

MOST_BYTES = 60_000
MOST_BYTES_OF_A_TABLE = 8_000  # of one table among many
_MOST_BYTES_OF_REMARKS = 8_000
_MOST_BYTES_OF_NOTES = 2_000
_LONGEST = 300  # characters of a cell or a line, before escapes
_ROOM_FOR_LEFT_OUT = 100


@dataclass(frozen=True, slots=True)
class CommentPart:
    """Consecutive tables, which may be folded."""

    sheets: tuple[Sheet, ...]
    fold: str | None = None  # title of the fold, in our own words: GitHub looks for names there as well
    most: int = MOST_BYTES  # of a table
    first: bool = False  # gets its room before the others


@dataclass(frozen=True, slots=True)
class Comment:
    """The parts of a comment, in order."""

    headline: str
    about: str = ""  # the measured or compared objects, as Markdown
    remarks: tuple[str, ...] = ()
    parts: tuple[CommentPart, ...] = ()


def to_pull_request(comment: Comment) -> str:
    """Return Markdown. Names in it notify nobody and link nowhere: ``report.sheet.strings``.

    Long cells and lines are cut in the middle. Rows, tables and lines without room are left out whole, and the text
    says how many.
    """
    remarks = _limit([markdown_line(_shorten(remark)) for remark in comment.remarks], _MOST_BYTES_OF_REMARKS)
    head = [f"**{inert(comment.headline)}**", comment.about, "\n".join(f"- {one}" for one in remarks)]
    parts = [part for part in comment.parts if part.sheets]
    left = MOST_BYTES - sum(_size(one) + 2 for one in (*head, *(_fold(part, "") for part in parts)))
    written: dict[int, str] = {}
    for place, part in sorted(enumerate(parts), key=lambda pair: not pair[1].first):
        tables = _tables(part, left - _ROOM_FOR_LEFT_OUT * (len(parts) - len(written)))
        left -= _size(tables)
        written[place] = _fold(part, tables)
    return "\n\n".join(filter(None, (*head, *(written[place] for place in range(len(parts)))))) + "\n"


def inert(text: str) -> str:
    """Return foreign text as part of ``about``: short, and without effect."""
    return markdown(_shorten(text))


def _fold(part: CommentPart, content: str) -> str:
    if part.fold is None:
        return content
    return f"<details><summary>{html.escape(part.fold)}</summary>\n\n{content}\n\n</details>"


def _tables(part: CommentPart, most: int) -> str:
    """Return the tables of a part that fit, and the number of those that do not."""
    tables: list[str] = []
    missing: list[Sheet] = []
    for sheet in part.sheets:
        table = _table(sheet, min(part.most, most))
        if table is None:
            missing.append(sheet)
        else:
            tables.append(table)
            most -= _size(table) + 2
    if missing:
        rows = sum(len(sheet.rows) for sheet in missing)
        tables.append(_describe_left_out(len(missing), "table", f" with {counted(rows, 'row')}"))
    return "\n\n".join(tables)


def _table(sheet: Sheet, most: int) -> str | None:
    """Return a table of at most ``most`` bytes; None if no row fits."""
    title = f"**{markdown_line(_shorten(sheet.title))}**\n\n" if sheet.title else ""
    short = _short(sheet)
    lines = list(row_lines(short))
    room = most - _size(title + to_markdown([replace(short, rows=())]))
    count = _fitting(lines, room)
    if room < 0 or (lines and not count):
        return None
    notes = [_describe_left_out(len(lines) - count, "row")] if count < len(lines) else []
    return title + to_markdown([replace(short, rows=short.rows[:count], notes=(*notes, *short.notes))]).rstrip("\n")


def _limit(lines: Sequence[str], most: int) -> list[str]:
    """Return the lines that fit, then the number of the others."""
    count = _fitting(lines, most)
    return [*lines[:count], *[_describe_left_out(len(lines) - count, "line")] * (count < len(lines))]


def _fitting(lines: Sequence[str], most: int) -> int:
    """Return how many lines fit, with room for a note if that is not all."""
    sizes = list(accumulate(_size(line) + 1 for line in lines))
    return len(lines) if not lines or sizes[-1] <= most else bisect_right(sizes, most - _ROOM_FOR_LEFT_OUT)


def _describe_left_out(count: int, what: str, beside: str = "") -> str:
    more = counted(count, what).replace(" ", " more ", 1)
    return f"{more}{beside} {'is' if count == 1 else 'are'} left out here: the record has all."


def _short(sheet: Sheet) -> Sheet:
    """Cut long names so that all stay different; drop the title, which is shown elsewhere."""
    named = [heading.kind == "name" for heading in sheet.headings]
    names = (cell.value for row in sheet.rows for cell, is_name in zip(row, named, strict=True) if is_name)
    short = shorten_apart((visible(name) for name in names if isinstance(name, str)), _LONGEST)
    return Sheet(
        "",
        tuple(replace(heading, title=_shorten(heading.title)) for heading in sheet.headings),
        tuple(
            tuple(_short_cell(cell, short if is_name else {}) for cell, is_name in zip(row, named, strict=True))
            for row in sheet.rows
        ),
        tuple(_limit([_shorten(note) for note in sheet.notes], _MOST_BYTES_OF_NOTES)),
    )


def _short_cell(cell: Cell, names: dict[str, str]) -> Cell:
    value = cell.value
    if isinstance(value, str):
        value = names.get(visible(value)) or _shorten(value)
    return replace(cell, value=value, part=None if cell.part is None else _shorten(cell.part))


def _shorten(text: str) -> str:
    return shorten(visible(text), _LONGEST)


def _size(text: str) -> int:
    return len(text.encode())


# ---------------------------------------------------------------------------------------------- the summary of a step


SUMMARY_VARIABLE = "GITHUB_STEP_SUMMARY"
# Limit over all summaries of a step: beyond it, GitHub shows nothing, and marks the step (GitHub Docs).
MOST_BYTES_OF_STEP = 1 << 20


def append_step_summary(text: str) -> str | None:
    """Append Markdown to the file that ``GITHUB_STEP_SUMMARY`` names; do nothing if it names none.

    Returns why that failed, or None: a failed summary does not lose the verdict.
    """
    if not (name := os.environ.get(SUMMARY_VARIABLE)):
        return None
    try:
        # A FIFO without a reader is refused, without waiting.
        handle = os.open(name, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK, 0o666)
        with os.fdopen(handle, "ab") as file:
            there = file.tell()
            added = ("\n" * bool(there) + f"{text.rstrip()}\n").encode()
            if there + len(added) > MOST_BYTES_OF_STEP:
                most = f"{MOST_BYTES_OF_STEP:,} bytes"
                return f"the summary of this step would have more than {most}, and GitHub would show none"
            file.write(added)
    except (OSError, ValueError) as error:  # ValueError: an impossible file name, or text that is not UTF-8
        return f"the summary of this step, {SUMMARY_VARIABLE}={name!r}, cannot be written: {error}"
    return None

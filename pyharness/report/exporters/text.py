"""Sheets as terminal text."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

from pyharness.report.sheet import Heading, Sheet, legends_once
from pyharness.report.sheet.strings import LEAST_WIDTH, shorten_apart, visible

if TYPE_CHECKING:
    from rich.console import Console
    from rich.containers import Lines
    from rich.text import Text

HEADER_WIDTH = 7
WRAPPED_WIDTH = 24
MIN_NAME_WIDTH = 12
GAP = 2
BAR_WIDTH = 6
_EIGHTHS: tuple[str, ...] = ("", *"▏▎▍▌▋▊▉")
STYLES = {"better": "green", "worse": "red", "inconclusive": "yellow"}
_WORD = re.compile(r"\S*(?:\s+|$)")
_PART = re.compile(r"[^_/]*(?:[_/]+|$)")  # of a word that is wider than its column


def to_text(sheets: Iterable[Sheet], width: int = 80, color: bool = False) -> str:
    """Return sheets for a terminal or a log, ``width`` columns wide; wider if that would cut off digits."""
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    out = io.StringIO()
    parts = list(chain.from_iterable(_blocks(_narrow(whole, width), width) for whole in legends_once(sheets)))
    short = _short_names(parts, width)
    for number, sheet in enumerate(parts):
        console = Console(
            file=out,
            width=max(width, _least_width(sheet)),
            height=100,
            force_terminal=color,
            force_jupyter=False,  # in a notebook it would show the text instead of writing it
            color_system="auto" if color else None,
        )
        if number:
            console.print()
        if sheet.title:
            console.print(Text(visible(sheet.title), style="bold"))
        drawn = RichTable(box=None, padding=(0, GAP, 0, 0), header_style="dim" if color else "", pad_edge=False)
        for place, (heading, header) in enumerate(zip(sheet.headings, _headers(sheet.headings), strict=True)):
            wraps = _wraps(heading)
            drawn.add_column(
                Text(header),
                justify="right" if heading.kind == "number" and not _has_bars(sheet, place) else "left",
                no_wrap=not wraps,
                overflow="fold" if wraps else "ellipsis",
                ratio=1 if heading.kind == "prose" else None,
            )
        for texts in _show(sheet, _room_for_names(sheet, width), short):
            cells = zip(sheet.headings, texts, strict=True)
            drawn.add_row(*(_prose(text) if _wraps(at) else Text(text, _style(at, text)) for at, text in cells))
        if sheet.headings:
            console.print(drawn)
        for note in sheet.notes:
            console.print(Text(visible(note), style="dim" if color else ""), width=width)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def _width(text: str) -> int:
    """Return the columns of a terminal that a text takes; a character may take two."""
    from rich.cells import cell_len

    return cell_len(text)


def _style(heading: Heading, text: str) -> str:
    """Return the style of a text whose last word is a verdict. A name has none, even if a row is called "worse"."""
    return STYLES.get(text.rpartition(" ")[2], "") if heading.kind == "word" else ""


def _wraps(heading: Heading) -> bool:
    return heading.kind == "prose" or heading.whole


def _is_cut(heading: Heading) -> bool:
    return heading.kind == "name" and not heading.whole


def _prose(text: str) -> Text:
    """Return text that wraps between words; a name that is wider than its column, at its underscores and slashes."""
    from rich.text import Text

    class Prose(Text):
        def wrap(self, console: Console, width: int, **options: Any) -> Lines:
            return Text("\n".join(_lines(self.plain, width))).wrap(console, width, **options)

    return Prose(text)


def _lines(text: str, width: int) -> Iterator[str]:
    """Yield lines of at most ``width`` columns of a terminal, except for longer words."""
    line = ""
    words = (_PART.findall(word) if _width(word.rstrip()) > width else [word] for word in _WORD.findall(text))
    for word in chain.from_iterable(words):
        if line and _width(line + word.rstrip()) > width:
            yield line.rstrip()
            line = ""
        line += word
    yield line.rstrip()


def _headers(headings: Sequence[Heading]) -> list[str]:
    """Put the last word of a long header below the others, but above prose: columns stay as narrow as their numbers."""
    long = (one.kind != "prose" and len(one.title) > HEADER_WIDTH for one in headings)
    parts = [one.title.rpartition(" ") if two else ("", "", one.title) for one, two in zip(headings, long, strict=True)]
    two_lines = any(head for head, _, _ in parts)
    return [f"{visible(head)}\n{visible(last)}" if two_lines else visible(last) for head, _, last in parts]


def _narrow(sheet: Sheet, width: int) -> Sheet:
    """Drop dispensable columns, one after another, until all columns fit but those of names that may be cut."""
    left_out: list[str] = []
    while _count_columns(sheet) - GAP > width and any(heading.dispensable for heading in sheet.headings):
        place = max(range(len(sheet.headings)), key=lambda index: sheet.headings[index].dispensable)
        left_out.append(sheet.headings[place].title)
        sheet = _of_columns(sheet, [index for index in range(len(sheet.headings)) if index != place])
    if not left_out:
        return sheet
    return replace(sheet, notes=(*sheet.notes, f"Left out, too wide for {width} columns: {', '.join(left_out)}."))


def _of_columns(sheet: Sheet, places: Sequence[int]) -> Sheet:
    rows = tuple(tuple(row[place] for place in places) for row in sheet.rows)
    return replace(sheet, headings=tuple(sheet.headings[place] for place in places), rows=rows)


def _blocks(sheet: Sheet, width: int) -> Iterator[Sheet]:
    """Yield a sheet; if it has repeated columns and no room for them, in blocks of numbers, each with the names."""
    if _least_width(sheet) <= width or not any(heading.repeated for heading in sheet.headings):
        yield sheet
        return
    names = [place for place, heading in enumerate(sheet.headings) if heading.kind != "number"]
    cut = [min(_widest(sheet, place), WRAPPED_WIDTH) for place in names if _is_cut(sheet.headings[place])]
    room = width - sum(max(0, widest - MIN_NAME_WIDTH) for widest in cut)
    blocks: list[list[int]] = [[]]
    for place in (place for place in range(len(sheet.headings)) if place not in names):
        if blocks[-1] and _least_width(_of_columns(sheet, [*names, *blocks[-1], place])) > room:
            blocks.append([])
        blocks[-1].append(place)
    for number, block in enumerate(blocks, 1):
        notes = sheet.notes if number == len(blocks) else ()
        yield replace(_of_columns(sheet, sorted([*names, *block])), title=sheet.title * (number == 1), notes=notes)


def _count_columns(sheet: Sheet) -> int:
    """Return the terminal columns that a sheet takes without names that may be cut, with prose wrapped readably."""
    widths = (
        WRAPPED_WIDTH if heading.kind == "prose" else _widest(sheet, index)
        for index, heading in enumerate(sheet.headings)
        if not _is_cut(heading)
    )
    return sum(width + GAP for width in widths)


def _widest(sheet: Sheet, index: int) -> int:
    """Return the terminal columns of the widest text in a column."""
    header = _headers(sheet.headings)[index].split("\n")
    return max(map(_width, (*header, *_texts(sheet, index))))


def _least_width(sheet: Sheet) -> int:
    wrapped = sum(
        max(0, (WRAPPED_WIDTH if heading.kind == "prose" else _widest(sheet, index)) - MIN_NAME_WIDTH)
        for index, heading in enumerate(sheet.headings)
        if _wraps(heading)
    )
    return _count_columns(sheet) - wrapped + sum(map(_is_cut, sheet.headings)) * (MIN_NAME_WIDTH + GAP) - GAP


def _room_for_names(sheet: Sheet, width: int) -> int:
    """Return the terminal columns left for each name that may be cut, at least ``MIN_NAME_WIDTH``."""
    names = sum(map(_is_cut, sheet.headings))
    return max(MIN_NAME_WIDTH, (width - _count_columns(sheet)) // max(names, 1) - GAP)


def _short_names(sheets: Sequence[Sheet], width: int) -> dict[str, str]:
    """Shorten names for the narrowest sheet that cuts any: a name has one short form, and names stay different.

    A later cut would remove the end of a name, or digits.
    """
    names = [(room, text) for sheet in sheets for room in [_room_for_names(sheet, width)]
             for place, heading in enumerate(sheet.headings) if _is_cut(heading)
             for text in _texts(sheet, place)]  # fmt: skip
    texts, room = [text for _, text in names], min((room for room, text in names if _width(text) > room), default=width)
    for narrower in range(room, LEAST_WIDTH, -1):
        short = shorten_apart(texts, narrower)
        if all(_width(text) <= room for text in short.values()):
            return short
    return shorten_apart(texts, LEAST_WIDTH)


def _show(sheet: Sheet, room: int, short: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
    """Return texts of each row; a name that has no room is shown in its short form."""
    columns = [[short[text] if _is_cut(heading) and _width(text) > room else text for text in _texts(sheet, place)]
               for place, heading in enumerate(sheet.headings)]  # fmt: skip
    return zip(*columns, strict=True)


def _texts(sheet: Sheet, place: int) -> list[str]:
    """Return texts of a column, each with its bar behind it."""
    cells = [row[place] for row in sheet.rows]
    texts = [visible(cell.text) for cell in cells]
    if not _has_bars(sheet, place):
        return texts
    room = max(map(len, texts))
    return [f"{text:>{room}} {_bar(cell.bar or 0.0)}" for text, cell in zip(texts, cells, strict=True)]


def _has_bars(sheet: Sheet, place: int) -> bool:
    return any(row[place].bar is not None for row in sheet.rows)


def _bar(length: float) -> str:
    """Draw a bar of whole blocks, and one of eighths.

    >>> _bar(1.0), _bar(0.55)
    ('██████', '███▎  ')
    """
    eighths = round(length * 8 * BAR_WIDTH)
    return ("█" * (eighths // 8) + _EIGHTHS[eighths % 8]).ljust(BAR_WIDTH)

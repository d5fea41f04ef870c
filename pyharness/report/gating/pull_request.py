"""A gate as Markdown for a pull request: the verdict, regressions, and the rest folded, in at most 60 kB."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from pyharness.report.exporters.markdown import head_lines, row_lines
from pyharness.report.gating.sheets import arms_sheet, environment_sheet, judgement_sheet, remarks, self_test_sheet
from pyharness.report.gating.verdicts import WRONG, by_benchmark, counts, verdict_line
from pyharness.report.sheet import Cell, Sheet
from pyharness.report.sheet.escaping import markdown, markdown_line, visible
from pyharness.report.sheet.shortening import shorten, shorten_apart
from pyharness.types import SIDES, Gate, Judgement

MOST_BYTES = 60_000  # of UTF-8; GitHub takes 65,536 characters
_MOST_BYTES_OF_REMARKS = 8_000
_MOST_BYTES_OF_A_SECTION = 8_000  # that is folded and has no verdicts
_LONGEST = 300  # characters of a cell or a line, before escapes
_OF_A_VERSION = 12
_LEFT_OUT = "{:,} more {} left out here: the record has all."
_ROOM_FOR_LEFT_OUT = 100


def to_pull_request(gate: Gate) -> str:
    """Return the comment. Names in it notify nobody and link nowhere: ``report.sheet.escaping.markdown``."""
    groups = by_benchmark(gate.judgements)
    wrong = [one for several in groups if several[0].verdict in WRONG for one in several]
    others = [one for several in groups if several[0].verdict not in WRONG for one in several]
    said = _limited((f"- {markdown_line(_shortened(one))}" for one in remarks(gate)), _MOST_BYTES_OF_REMARKS)
    parts = [f"**{markdown(verdict_line(gate))}**", _compared(gate), "\n".join(said)]
    about = _about(gate)
    left = MOST_BYTES - sum(_size(part) + 2 for part in (*parts, about))
    for judgements, folded in ((wrong, False), (others, True)):
        table = _judged(gate, judgements, folded, left)
        parts.append(table)
        left -= _size(table) + 2
    return "\n\n".join(filter(None, (*parts, about))) + "\n"


def _compared(gate: Gate) -> str:
    arms = (gate.arms.get(side) for side in SIDES)
    named = (
        f"{arm.side} {_inert(arm.source)} ({_inert(arm.version[:_OF_A_VERSION])})" for arm in arms if arm is not None
    )
    return "; ".join((f"Suite {_inert(gate.suite)}", *named))


def _judged(gate: Gate, judgements: Sequence[Judgement], folded: bool, most: int) -> str:
    if not judgements:
        return ""
    title = counts(judgements)
    table = _table(judgement_sheet(gate, judgements), most - (_size(_folded(title, "")) if folded else 0))
    return _folded(title, table) if folded else table


def _about(gate: Gate) -> str:
    sheets = (arms_sheet(gate), self_test_sheet(gate), environment_sheet(gate))
    sections = (f"**{one.title}**\n\n{_table(one, _MOST_BYTES_OF_A_SECTION)}" for one in sheets if one.rows)
    return _folded("self-test and environment", "\n\n".join(sections))


def _folded(title: str, content: str) -> str:
    return f"<details><summary>{html.escape(title)}</summary>\n\n{content}\n\n</details>"


def _table(sheet: Sheet, most: int) -> str:
    """Return a table of at most ``most`` bytes: whole rows, and how many are left out."""
    short = replace(sheet, rows=tuple(_short_rows(sheet)))
    head = "\n".join(head_lines(short))
    return "\n".join([head, *_limited(row_lines(short), most - _size(head) - 1, "rows are")])


def _limited(lines: Iterable[str], most: int, what: str = "lines are") -> Iterator[str]:
    """Give lines while there is room, then how many there is none for."""
    waiting = list(lines)
    while waiting:
        left = most - _size(waiting[0]) - 1
        if left < (_ROOM_FOR_LEFT_OUT if len(waiting) > 1 else 0):
            yield "\n" + _LEFT_OUT.format(len(waiting), what)
            return
        yield waiting.pop(0)
        most = left


def _short_rows(sheet: Sheet) -> Iterator[tuple[Cell, ...]]:
    """Cells of each row, cut where they are long; no two names to look alike."""
    named = [heading.kind == "name" for heading in sheet.headings]
    names = (cell.value for row in sheet.rows for cell, is_name in zip(row, named, strict=True) if is_name)
    short = shorten_apart((visible(name) for name in names if isinstance(name, str)), _LONGEST)
    for row in sheet.rows:
        yield tuple(
            replace(cell, value=short[visible(cell.value)] if is_name else _shortened(cell.value))
            if isinstance(cell.value, str)
            else cell
            for cell, is_name in zip(row, named, strict=True)
        )


def _inert(text: str) -> str:
    return markdown(_shortened(text))


def _shortened(text: str) -> str:
    return shorten(visible(text), _LONGEST)


def _size(text: str) -> int:
    return len(text.encode())

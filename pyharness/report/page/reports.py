"""What is said on a page, and in which order: the sections of a record, what they leave out, and where it is from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pyharness.report import tables
from pyharness.report.page.foot import download, foot_sheets
from pyharness.report.page.parts import Figure, Page, Section
from pyharness.report.page.rendering import render
from pyharness.report.page.sections import SECTIONS
from pyharness.report.sheet import Sheet
from pyharness.store import Record


@dataclass(frozen=True, slots=True)
class Source:
    """A record and where it was read."""

    name: str
    record: Record
    path: Path | None = None


def to_report(sources: Sequence[Source]) -> str:
    """Return one HTML file about records, the first of which the others are compared with.

    Raises:
        InputError: a library of the extra ``report`` is not installed.
    """
    return render(page_of(sources))


def page_of(sources: Sequence[Source]) -> Page:
    """Return the page about records."""
    (source, *_) = sources
    sections = tuple(_sections(source.record))
    downloads = tuple(filter(None, (download(source.path) for source in sources)))
    return Page(source.name, sections, foot=tuple(foot_sheets(source.record)), downloads=downloads)


def page_of_sheets(title: str, sheets: Iterable[Sheet]) -> Page:
    """Return a page of sheets alone: of what is no record of a run."""
    return Page(title, tuple(Section(sheet.title, (sheet,)) for sheet in sheets))


def _sections(record: Record) -> Iterator[Section]:
    made = [section for make in SECTIONS for section in make(record)]
    yield from made
    shown = set(_sheets_of(made))
    rest = tuple(sheet for sheet in tables.sheets(record) if sheet not in shown)
    if rest:
        yield Section("All other tables" if made else "Tables", rest, folded=bool(made))


def _sheets_of(blocks: Iterable[object]) -> Iterator[Sheet]:
    for block in blocks:
        if isinstance(block, Sheet):
            yield block
        elif isinstance(block, Figure):
            yield block.numbers
        elif isinstance(block, Section):
            yield from _sheets_of(block.blocks)

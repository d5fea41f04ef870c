"""Parts of a page. Sections are made from records; nothing here depends on the format of a page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from pyharness.report.sheet import Sheet

LONGEST_TIP = 500  # characters of a name, a reason or a case's key in a tool tip


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawing, and the numbers that it shows."""

    title: str
    description: str  # also for people who cannot see it: the drawing, its unit, and the better direction
    svg: str  # markup of a chart, without scripts and inline styles
    numbers: Sheet


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and its contents, in order; text is a paragraph."""

    title: str
    blocks: tuple[Block, ...]
    folded: bool = False  # readers can open it


@dataclass(frozen=True, slots=True)
class Verbatim:
    """Text that is shown unchanged, and whole."""

    text: str


Block: TypeAlias = "Sheet | Figure | Section | Verbatim | str"


@dataclass(frozen=True, slots=True)
class Download:
    """A file that the page carries."""

    name: str
    data: bytes
    media: str  # its type: ``application/json``


@dataclass(frozen=True, slots=True)
class Page:
    """A whole page: the answer, then sections, then the provenance of its numbers."""

    title: str
    sections: tuple[Section, ...]
    about: str = ""  # its subject, in a sentence
    foot: tuple[Block, ...] = ()
    downloads: tuple[Download, ...] = ()
    lead: tuple[Sheet, ...] = ()  # the answer, before the table of contents

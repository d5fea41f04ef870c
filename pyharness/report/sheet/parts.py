"""What a page is made of. Sections are made from records; nothing here knows how a page is written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from pyharness.report.sheet import Sheet

LONGEST_TIP = 500  # characters of a name, a reason or the key of a case in what is shown on focus


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawing, and the numbers that it shows."""

    title: str
    description: str  # for those who cannot see it: what is drawn, in which unit, which direction is better
    svg: str  # markup of a chart, without scripts and inline styles
    numbers: Sheet


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and what stands under it, in order; text is a paragraph."""

    title: str
    blocks: tuple[Block, ...]
    folded: bool = False  # opened by who wants to read it


@dataclass(frozen=True, slots=True)
class Verbatim:
    """Text that is shown as it is, and whole."""

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
    """A whole page: sections first, then where its numbers are from."""

    title: str
    sections: tuple[Section, ...]
    about: str = ""  # what it is about, in a sentence
    foot: tuple[Block, ...] = ()
    downloads: tuple[Download, ...] = ()
    lead: tuple[Sheet, ...] = ()  # the answer, before the table of contents

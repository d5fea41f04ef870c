"""Sections of the page of one record, in their order. A section without data is not there."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from pyharness.report.page.parts import Section
from pyharness.store import Record

SectionOf: TypeAlias = Callable[[Record], Section | None]

SECTIONS: tuple[SectionOf, ...] = ()

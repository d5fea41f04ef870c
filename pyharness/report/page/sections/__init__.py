"""Sections of the page of one record, in their order. What has no data gives no section."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from pyharness.plugins import registry
from pyharness.report.page.parts import Section
from pyharness.report.page.sections.answer import answer
from pyharness.report.page.sections.lengths import lengths
from pyharness.report.page.sections.matrix import matrix
from pyharness.report.page.sections.named import listings, missing
from pyharness.report.page.sections.plots import plots
from pyharness.report.page.sections.ranks import ranks
from pyharness.store import Record, case_record_kind

SectionsOf: TypeAlias = Callable[[Record], Iterable[Section]]


@dataclass(frozen=True, slots=True)
class OfferedSections:
    """Sections that a feature or a plug-in adds to the page of one record, behind ours."""

    name: str
    make: SectionsOf


def sections_of(record: Record) -> list[Section]:
    """Return the sections of a record, in their order."""
    offered = registry.offered("pyharness.report.page.sections", "SECTIONS").values()
    kind = case_record_kind(record.data["kind"])
    own = () if kind is None else (kind.sections,)
    return [section for make in (*SECTIONS, *own, *(one.make for one in offered)) for section in make(record)]


SECTIONS: tuple[SectionsOf, ...] = (answer, missing, matrix, plots, ranks, lengths, listings)

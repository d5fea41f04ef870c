"""Sections of the page of one record, in their order. What has no data gives no section."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from pyharness.plugins import registry
from pyharness.report.page.answer import answer
from pyharness.report.page.histograms import lengths, ranks
from pyharness.report.page.plots import plots
from pyharness.report.sheet.cases import not_measured
from pyharness.report.sheet.parts import Section
from pyharness.report.tables import listing_sheets
from pyharness.store import Record, case_record_kind


def missing(record: Record) -> Iterator[Section]:
    """What failed and what was skipped, with the reasons."""
    sheet = not_measured(record.results)
    if sheet.rows or not record.data["complete"]:
        counts = Counter(result.status for result in record.results)
        said = ", ".join(f"{counts[status]:,} {status}" for status in ("ok", "skipped", "failed") if counts[status])
        cut = () if record.data["complete"] else ("The run was interrupted before it was complete.",)
        yield Section("Failed or skipped", (*cut, f"Cases: {said or 'none'}.", *(sheet,) * bool(sheet.rows)))


def listings(record: Record) -> Iterator[Section]:
    """Dead tokens and whatever else benchmarks name, with witnesses: all that the record has."""
    for sheet in listing_sheets(record, all_entries=True):
        if sheet.rows:
            yield Section(sheet.title, (sheet,), folded=True)


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


SECTIONS: tuple[SectionsOf, ...] = (answer, missing, plots, ranks, lengths, listings)

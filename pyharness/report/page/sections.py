"""Sections of the page of one record, in their order. What has no data gives no section."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

from pyharness.plugins import registry
from pyharness.report.page.answer import Ranking, answer, rankings_of
from pyharness.report.page.histograms import lengths, ranks
from pyharness.report.page.plots import plots
from pyharness.report.sheet import Cell, Heading, Sheet
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


_STEPS = (0.02, 0.05, 0.10, 0.20)  # relative: where a shade ends and the next begins
_SAME = 4  # the shade of the reference


def matrix(record: Record) -> Iterator[Section]:
    """One section for each metric that rows are ranked by on two texts or more."""
    for ranking in rankings_of(record):
        if len(ranking.columns) > 1:
            yield Section("Tokenizers by texts", (_sheet(ranking),))


def _sheet(ranking: Ranking) -> Sheet:
    unit, direction = ranking.unit, ranking.direction
    headings = (
        Heading("tokenizer", "name"),
        *(Heading(text, "number", unit, direction, ranking.metric) for text in ranking.texts),
    )
    rows = tuple(
        (ranking.name_cell(row), *(_shaded(ranking, text, row) for text in ranking.texts)) for row in ranking.rows
    )  # fmt: skip
    steps = ", ".join(f"{step:.0%}" for step in _STEPS)
    note = (
        f"Behind a value: how far it is from {ranking.reference} on that text. Shades: by {steps} and more, "
        "better or worse. A shade says nothing of how sure a difference is: the ranks above do."
    )
    return Sheet(f"{ranking.name.capitalize()}, beside {ranking.reference}", headings, rows, (*ranking.left_out, note))


def _shaded(ranking: Ranking, text: str, row: str) -> Cell:
    """Return the value of a row, its distance from the reference in per cent, and the shade of that."""
    cell, reference = replace(ranking.value(text, row), interval=None), ranking.columns[text].get(ranking.reference)
    beside = reference if reference is not None and reference.competes and reference.value > 0 else None
    if not isinstance(cell.value, int | float) or beside is None or row == ranking.reference:
        return replace(cell, shade=_SAME if row == ranking.reference and cell.value is not None else None)
    share = cell.value / beside.value - 1
    return replace(cell, part=f"({share:+.1%})", shade=shade(share if ranking.direction == "higher" else -share))


def shade(share: float) -> int:
    """Shade of what is better by a share, from 0 to 8; 4 is like the reference.

    >>> shade(0.0), shade(0.03), shade(-0.03), shade(-0.5), shade(7.0)
    (4, 5, 3, 0, 8)
    """
    steps = sum(abs(share) >= step for step in _STEPS)
    return _SAME + int(math.copysign(steps, share))


SECTIONS: tuple[SectionsOf, ...] = (answer, missing, matrix, plots, ranks, lengths, listings)

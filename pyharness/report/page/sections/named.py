"""What a record says in words: cases without numbers and why, and what benchmarks name, such as dead tokens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from pyharness.report.cases import not_measured
from pyharness.report.listings import listing_sheets
from pyharness.report.page.parts import Section
from pyharness.store import Record


def missing(record: Record) -> Iterator[Section]:
    """What failed and what was skipped, with the reasons."""
    sheet = not_measured(record.results)
    if sheet.rows or not record.data["complete"]:
        counts = Counter(result.status for result in record.results)
        said = ", ".join(f"{counts[status]:,} {status}" for status in ("ok", "skipped", "failed") if counts[status])
        cut = () if record.data["complete"] else ("The run was interrupted before it was complete.",)
        yield Section("What has no numbers", (*cut, f"Cases: {said or 'none'}.", *(sheet,) * bool(sheet.rows)))


def listings(record: Record) -> Iterator[Section]:
    """Dead tokens and whatever else benchmarks name, with witnesses: all that the record has."""
    for sheet in listing_sheets(record, all_entries=True):
        if sheet.rows:
            yield Section(sheet.title, (sheet,), folded=True)

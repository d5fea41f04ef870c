"""What benchmarks name in the details of their cases, such as dead tokens: an entry is a row."""

from __future__ import annotations

from collections.abc import Iterator

from pyharness.benchmarks import benchmarks
from pyharness.report.sheet import Cell, Heading, Sheet, text_row
from pyharness.report.sheet.shortening import shorten
from pyharness.store import Record
from pyharness.types import CaseResult, Listing

FIRST = 10  # entries of a row that are shown unasked
LONGEST = 200  # characters of what an entry says: a token may be long, and fall apart into as many others


def listing_sheets(record: Record, all_entries: bool = False) -> Iterator[Sheet]:
    """One sheet for each benchmark that names something: the first entries of each row, or all that the record has."""
    for benchmark in benchmarks().values():
        if (listing := benchmark.listing) is not None:
            results = [result for result in record.of(benchmark.name) if result.status == "ok"]
            if results:
                yield _sheet(listing, results, all_entries)


def _sheet(listing: Listing, results: list[CaseResult], all_entries: bool) -> Sheet:
    named: dict[str, dict[tuple[str, ...], None]] = {}  # by row, once for all texts that it was measured on
    notes: list[str] = []
    legend: dict[str, None] = {}
    for result in results:
        label = result.case.tokenizer
        try:
            entries = [tuple(shorten(str(text), LONGEST) for text in entry) for entry in listing.entries(result)]
            legend |= dict.fromkeys(map(str, listing.legend(result)))
        except Exception as error:  # details of a record that was edited, or a stranger's function
            notes.append(f"{label}: what it names cannot be read ({type(error).__name__}: {str(error)[:200]}).")
            continue
        named[label] = named.get(label, {}) | dict.fromkeys(entries)
    rows: list[tuple[Cell, ...]] = []
    for label, known in named.items():
        shown = list(known) if all_entries else list(known)[:FIRST]
        rows += [text_row(label, *entry) for entry in shown]
        if len(shown) < len(known):
            notes.append(f"{label}: {len(known) - len(shown):,} more; pyharness report --list-dead lists all.")
    headings = (Heading("tokenizer", "name"), *(Heading(title, "prose") for title in listing.headings))
    return Sheet(listing.title, headings, tuple(rows), (*legend, *dict.fromkeys(notes)))

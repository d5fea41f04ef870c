"""What is said on a page, and in which order: the sections of a record, what they leave out, and where it is from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pyharness.report import comparison, tables
from pyharness.report.comparison import Pair
from pyharness.report.page import comparing
from pyharness.report.page.differing import differing
from pyharness.report.page.foot import download, foot_blocks
from pyharness.report.page.parts import Block, Download, Figure, Page, Section
from pyharness.report.page.rendering import render
from pyharness.report.page.sections import sections_of
from pyharness.report.ranking_of_records import ranking_of_records
from pyharness.report.sheet import Heading, Sheet
from pyharness.store import Record
from pyharness.types import InputError, counted

MOST_CELLS = 6000  # of tables that no section shows: a megabyte


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


def page_of(sources: Sequence[Source], every: bool = False) -> Page:
    """Return the page about records, which lists all that benchmarks name; ``every``: with all metrics."""
    if len(sources) == 1:
        (source,) = sources
        sections = _sections(source.record, every)
        return Page(_title(source.record), tuple(sections), _about(source), *_ends(sources))
    named = _named(sources)
    return Page(
        f"{len(sources)} records: {', '.join(named)}", tuple(_of_several(named, every)),
        "What differs between them, then each by itself.", *_ends(sources),
    )  # fmt: skip


def page_of_pairs(title: str, pairs: Sequence[Pair], sources: Sequence[Source], before: Sequence[Sheet] = ()) -> Page:
    """Return the page of a comparison.

    Args:
        title: what is compared.
        pairs: cases of A with those of B.
        sources: the records that they are of: one, or A and B.
        before: what is said before any difference.
    """
    sections = [Section(sheet.title, (sheet,)) for sheet in before]
    if len(sources) > 1:
        sections.append(differing(_named(sources)))
    sections += comparing.sections(comparing.compared(pairs))
    return Page(title, tuple(sections), "B - A: each difference with its paired interval.", *_ends(sources))


def page_of_sheets(title: str, sheets: Iterable[Sheet]) -> Page:
    """Return a page of sheets alone: of what is no record of a run."""
    return Page(title, tuple(Section(sheet.title, (sheet,)) for sheet in sheets))


def _of_several(named: Mapping[str, Record], every: bool) -> Iterator[Section]:
    """What differs, all rows on the same text, each record against the first, and each by itself."""
    yield differing(named)
    if ranking := ranking_of_records(named):
        yield Section("All rows on the same text", tuple(ranking))
    (first, base), *others = named.items()
    for name, record in others:
        yield Section(f"{name} (B) against {first} (A)", tuple(_compared(base, record)))
    for name, record in named.items():
        yield Section(name, tuple(_sections(record, every)), folded=True)


def _compared(a: Record, b: Record) -> Iterator[Section | str]:
    """Differences of two records, as far as they share cases."""
    try:
        yield from comparing.sections(comparing.compared(comparison.pairs_of_records(a, b)))
    except InputError as error:
        yield f"Nothing is compared: {error}."


def _named(sources: Sequence[Source]) -> dict[str, Record]:
    """Return records by names of which no two are alike."""
    alike = len({source.name for source in sources}) < len(sources)
    return {
        f"{source.name} ({number})" if alike else source.name: source.record for number, source in enumerate(sources, 1)
    }


def _title(record: Record) -> str:
    """Say what was measured on what, and when: ``quick: 6 tokenizers on 3 texts, 2026-11-23``."""
    data = record.data
    suite, rows = (data["suite"].get(name, usual) for name, usual in (("name", data["kind"]), ("rows", "tokenizer")))
    counts = (len(data["tokenizers"]), rows), (len(data["corpora"]), "text")
    said = " on ".join(counted(count, noun) for count, noun in counts if count)
    return f"{suite}: {', '.join(filter(None, (said, str(data['created'])[:10])))}"


def _about(source: Source) -> str:
    """Say in a sentence what a record holds."""
    missing = sum(result.status != "ok" for result in source.record.results)
    lacking = f", {missing:,} of them without numbers" if missing else ""
    return f"{source.name}: {counted(len(source.record.results), 'case')}{lacking}" + (
        "." if source.record.data["complete"] else "; the run was interrupted."
    )


def _ends(sources: Sequence[Source]) -> tuple[tuple[Block, ...], tuple[Download, ...]]:
    """Where the numbers are from, and the records themselves."""
    named = _named(sources)
    foot = [block for one in named.values() for block in foot_blocks(one)]
    if len(named) > 1:
        foot = [Section(name, tuple(foot_blocks(one)), folded=True) for name, one in named.items()]
    return tuple(foot), tuple(filter(None, (download(source.path) for source in sources)))


def _sections(record: Record, every: bool) -> Iterator[Section]:
    made = sections_of(record)
    yield from made
    shown = set(_sheets_of(made))
    rest = [sheet for sheet in tables.measured_sheets(record, every) if sheet not in shown]
    kept = _within(rest, MOST_CELLS)
    blocks: list[Block] = [sheet for sheet in rest if sheet in kept]
    if left_out := [sheet.title for sheet in rest if sheet not in kept]:
        blocks.append(f"{len(left_out):,} more tables have no room here; pyharness report lists them all as text.")
        blocks.append(Section("Tables that are left out", tuple(left_out), folded=True))
    if blocks:
        yield Section("All other tables" if made else "Tables", tuple(blocks), folded=bool(made))


def _within(sheets: Sequence[Sheet], most: int) -> set[Sheet]:
    """Return as many sheets as have so many cells in all: the first of each kind, then the second, and so on."""
    met: Counter[tuple[Heading, ...]] = Counter()
    ordered = []
    for place, sheet in enumerate(sheets):
        met[sheet.headings] += 1
        ordered.append((met[sheet.headings], place, sheet))
    kept, cells = set[Sheet](), 0
    for _, _, sheet in sorted(ordered, key=lambda one: one[:2]):
        cells += len(sheet.rows) * len(sheet.headings)
        if cells > most and kept:
            break
        kept.add(sheet)
    return kept


def _sheets_of(blocks: Iterable[object]) -> Iterator[Sheet]:
    for block in blocks:
        if isinstance(block, Sheet):
            yield block
        elif isinstance(block, Figure):
            yield block.numbers
        elif isinstance(block, Section):
            yield from _sheets_of(block.blocks)

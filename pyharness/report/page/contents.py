"""Contents of a page, in their order: of a record, of several, and of a comparison.

In a comparison, the significant differences come first, as dots around zero, then all others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pyharness.report import comparison, tables
from pyharness.report.charts import Dot, dots
from pyharness.report.comparison import Pair
from pyharness.report.differences import Difference, along_curve, judged_otherwise, notes_below, resolved_first
from pyharness.report.page.answer import cost_sheets
from pyharness.report.page.markup import render
from pyharness.report.page.sections import sections_of
from pyharness.report.provenance import download, foot_blocks, what_differs
from pyharness.report.ranking import ranking_of_records
from pyharness.report.sheet import Cell, Heading, Sheet, text_row
from pyharness.report.sheet.columns import amount
from pyharness.report.sheet.parts import Block, Download, Figure, Page, Section
from pyharness.report.summary import summary_sheets
from pyharness.statistics.samples import interval_of, lack_of
from pyharness.store import Record
from pyharness.types import CaseResult, Format, InputError, Measurement, counted

MOST_FIGURES = 12  # of pairs; the others have tables
_VALUE, _DIFFERENCE, _SHARE = Format("{:.5g}"), Format("{:+.4g}"), Format("{:+.2f} %", 100, "%")
_HEADINGS = (
    Heading("metric", "name"), Heading("unit", "word"), Heading("A"), Heading("B"), Heading("B - A"),
    Heading("B - A, of A", unit="of A"), Heading("better", "word"), Heading("verdict", "word"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Compared:
    """The differences of two cases, or the reason why there are none."""

    pair: Pair
    differences: tuple[Difference, ...] = ()
    refused: str | None = None


def comparison_sections(pairs: Iterable[Pair]) -> Iterator[Section]:
    """Yield a section each of significant differences, of all others, and of the cases that were not compared.

    Pairs are compared one by one: a pair that cannot be compared does not stop the others.
    """
    comparisons = list(map(compare_pair, pairs))
    yield Section("Significant differences", tuple(_significant_blocks(comparisons)))
    left = [(one, resolved_first(one.differences)[1]) for one in comparisons]
    others = [_sheet(one, differences) for one, differences in left if differences]
    if others:
        yield Section("Differences that are not significant", (*_notes(comparisons), *others), folded=True)
    if refused := [text_row(one.pair.title, one.refused) for one in comparisons if one.refused is not None]:
        headings = Heading("case", "prose"), Heading("reason", "prose")
        yield Section("Not compared", (Sheet("Cases without a comparison", headings, tuple(refused)),))


def compare_pair(pair: Pair) -> Compared:
    """Return the differences of a pair, or why there are none, such as different texts."""
    if pair.other is None:
        return Compared(pair, refused="B has no such case")
    if not pair.measured:
        statuses = f"{pair.one.status} in A, {pair.other.status} in B"
        return Compared(pair, refused=f"no numbers on both sides: {statuses}")
    try:
        numbers = comparison.differences([pair])
    except InputError as error:
        return Compared(pair, refused=str(error))
    return Compared(pair, tuple(numbers), None if numbers else "no metric of both sides can be compared")


def _significant_blocks(found: Sequence[Compared]) -> Iterator[Block]:
    resolved = [(one, some) for one in found if (some := resolved_first(one.differences)[0])]
    total = sum(len(one.differences) for one in found)
    count = sum(len(differences) for _, differences in resolved)
    yield f"{count:,} of {total:,} differences B - A are significant: by 95 % CI, signed ranks or exact values."
    if resolved:
        yield from _notes(found)
    for place, (one, differences) in enumerate(resolved):
        sheet = _sheet(one, differences)
        if place >= MOST_FIGURES:
            yield sheet
            continue
        drawn = [Dot(each.name, _relative(one, each), verdict=each.verdict) for each in differences]
        description = "(B - A) / A. Lines: paired 95 % CIs. Dashed line: no difference."
        svg = dots(drawn, one.pair.title, "B - A, % of A", at=0.0)
        yield Figure(one.pair.title, description, svg, sheet)


def _notes(found: Sequence[Compared]) -> tuple[str, ...]:
    return notes_below([each for one in found for each in one.differences])


def _sheet(one: Compared, differences: Sequence[Difference]) -> Sheet:
    notes = *judged_otherwise(differences), *along_curve(differences)
    return Sheet(one.pair.title, _HEADINGS, tuple(_row(one, each) for each in differences), notes)


def _row(one: Compared, each: Difference) -> tuple[Cell, ...]:
    assert one.pair.other is not None  # noqa: S101 -- there are differences
    unit = str(comparison.metrics_of(one.pair).get(each.metric, {}).get("unit", ""))
    difference = None if each.a is None or each.b is None else each.b - each.a
    cell = Cell(
        difference, _DIFFERENCE, each.interval, bounds=not each.deterministic, case=one.pair.title,
        n=_amount(one, each), unit=unit, reason=each.no_interval,
    )  # fmt: skip
    sides = (_side(result, each, unit) for result in (one.pair.one, one.pair.other))
    better = Cell(None if each.direction == "none" else each.direction)
    return Cell(each.name), Cell(unit), *sides, cell, _relative(one, each), better, Cell(each.verdict)


def _side(result: CaseResult, each: Difference, unit: str) -> Cell:
    measured = _as_measurement(result, each)
    return Cell(
        measured.value, _VALUE, interval_of(measured), case=result.case.key, n=amount(result, measured),
        reason=lack_of(measured), unit=unit,
    )  # fmt: skip


def _relative(one: Compared, each: Difference) -> Cell:
    share = each.share
    if share is None or each.a is None:
        return Cell(None, reason="A is 0, or has no number")
    interval = None if each.interval is None else (each.interval[0] / abs(each.a), each.interval[1] / abs(each.a))
    return Cell(share, _SHARE, interval, not each.deterministic, case=one.pair.title, n=_amount(one, each))


def _amount(one: Compared, each: Difference) -> str | None:
    return amount(one.pair.one, _as_measurement(one.pair.one, each))


def _as_measurement(result: CaseResult, each: Difference) -> Measurement:
    return next(mine for mine in result.measurements if (mine.metric, mine.part) == (each.metric, each.part))


MOST_CELLS = 6000  # of tables outside sections: a megabyte


@dataclass(frozen=True, slots=True)
class RecordFile:
    """A record with its name for readers and, if it is from a file, its path."""

    name: str
    record: Record
    path: Path | None = None


def to_report(sources: Sequence[RecordFile]) -> str:
    """Return one HTML file about records; the others are compared with the first.

    Raises:
        InputError: a library of the extra ``report`` is not installed.
    """
    return render(page_of(sources))


def page_of(sources: Sequence[RecordFile], every: bool = False) -> Page:
    """Return the page about records, with all entries of listings; ``every``: with all metrics.

    Raises:
        InputError: the library that draws charts is not installed.
    """
    if len(sources) == 1:
        record = sources[0].record
        lead = *summary_sheets(record), *cost_sheets(record)
        return Page(_title(record), tuple(_sections(record, every)), _about(sources[0]), *_ends(sources), lead)
    named = _name_records(sources)
    return Page(
        f"{len(sources)} records: {', '.join(named)}", tuple(_of_several(named, every)),
        "What differs between them, then each by itself.", *_ends(sources),
    )  # fmt: skip


def page_of_pairs(
    title: str, pairs: Sequence[Pair], sources: Sequence[RecordFile], before: Sequence[Sheet] = ()
) -> Page:
    """Return the page of a comparison.

    Args:
        title: of the comparison.
        pairs: cases of A with those of B.
        sources: their records: one, or A and B.
        before: sheets before any difference.

    Raises:
        InputError: the library that draws charts is not installed.
    """
    sections = [Section(sheet.title, (sheet,)) for sheet in before]
    if len(sources) > 1:
        sections.append(what_differs(_name_records(sources)))
    sections += comparison_sections(pairs)
    return Page(title, tuple(sections), "B - A: each difference. Brackets or ±: its 95 % CI.", *_ends(sources))


def _of_several(named: Mapping[str, Record], every: bool) -> Iterator[Section]:
    """Yield differing facts, all rows on the same text, each record against the first, and each by itself."""
    yield what_differs(named)
    if ranking := ranking_of_records(named):
        yield Section("All rows on the same text", tuple(ranking))
    (first, base), *others = named.items()
    for name, record in others:
        yield Section(f"{name} (B) against {first} (A)", tuple(_comparison_blocks(base, record)))
    for name, record in named.items():
        yield Section(name, tuple(_sections(record, every)), folded=True)


def _comparison_blocks(a: Record, b: Record) -> Iterator[Section | str]:
    """Yield differences of two records, as far as they share cases."""
    try:
        yield from comparison_sections(comparison.pairs_of_records(a, b))
    except InputError as error:
        yield f"Nothing is compared: {error}."


def _name_records(sources: Sequence[RecordFile]) -> dict[str, Record]:
    """Return records by names that are all different."""
    alike = len({source.name for source in sources}) < len(sources)
    return {
        f"{source.name} ({number})" if alike else source.name: source.record for number, source in enumerate(sources, 1)
    }


def _title(record: Record) -> str:
    """Return suite, rows, texts and date: ``quick: 6 tokenizers on 3 texts, 2026-11-23``."""
    data = record.data
    suite, rows = (data["suite"].get(name, usual) for name, usual in (("name", data["kind"]), ("rows", "tokenizer")))
    counts = (len(data["tokenizers"]), rows), (len(data["corpora"]), "text")
    sizes = " on ".join(counted(count, noun) for count, noun in counts if count)
    return f"{suite}: {', '.join(filter(None, (sizes, str(data['created'])[:10])))}"


def _about(source: RecordFile) -> str:
    """Describe a record in a sentence."""
    missing = sum(result.status != "ok" for result in source.record.results)
    lacking = f", {missing:,} of them without numbers" if missing else ""
    return f"{source.name}: {counted(len(source.record.results), 'case')}{lacking}" + (
        "." if source.record.data["complete"] else "; the run is not complete."
    )


def _ends(sources: Sequence[RecordFile]) -> tuple[tuple[Block, ...], tuple[Download, ...]]:
    """Return the provenance, and the records themselves."""
    named = _name_records(sources)
    foot = [block for one in named.values() for block in foot_blocks(one)]
    if len(named) > 1:
        foot = [Section(name, tuple(foot_blocks(one)), folded=True) for name, one in named.items()]
    return tuple(foot), tuple(filter(None, (download(source.path) for source in sources)))


def _sections(record: Record, every: bool) -> Iterator[Section]:
    sections = sections_of(record)
    yield from sections
    shown = set(_sheets_of(sections))
    rest = [sheet for sheet in tables.measured_sheets(record, every) if sheet not in shown]
    kept = _within(rest, MOST_CELLS)
    blocks: list[Block] = [sheet for sheet in rest if sheet in kept]
    if left_out := [sheet.title for sheet in rest if sheet not in kept]:
        blocks.append(f"{len(left_out):,} more tables have no room here. pyharness report lists all as text.")
        blocks.append(Section("Tables that are left out", tuple(left_out), folded=True))
    if blocks:
        yield Section("All other tables" if sections else "Tables", tuple(blocks), folded=bool(sections))


def _within(sheets: Sequence[Sheet], most: int) -> set[Sheet]:
    """Return as many sheets as fit the limit of cells: the first of each kind, then the second, and so on."""
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

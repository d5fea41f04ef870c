"""Rows by texts: what each costs, values with ranks, and differences from the reference.

Over all texts, a row is relative to the reference, with the paired interval, and has a rank as on one text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from pyharness.report import ranking as room
from pyharness.report.charts import Dot, dots
from pyharness.report.costs import best_noun, cost_note
from pyharness.report.sheet import Cell, Heading, Sheet
from pyharness.report.sheet.columns import amount
from pyharness.report.sheet.parts import Figure, Section
from pyharness.statistics.family import Overall, agreed, overall, told_apart
from pyharness.store import Record
from pyharness.types import COUNT, Direction, Format

OVERALL_NOTE = (
    "overall: geometric mean over the texts of the ratio to {reference}, with its paired 95 % CI [low, high]. "
    "Each text counts alike."
)
_TIMES = Format("{:.3f}")


def overall_cells(
    columns: room.Columns, metric: str, rows: Sequence[str], reference: str
) -> dict[str, tuple[Cell, Cell]]:
    """Return each row relative to the reference over all texts, and its rank.

    Rows are left out that do not compete on each text, lack one, read another one, or have a value that is not above 0.
    """
    by_row = {row: _between(columns, metric, reference, row) for row in rows}
    some = next(one for column in columns.values() for one in column.values())
    higher = some.row.record.data["metrics"][metric]["direction"] == "higher"
    competing = [(row, one) for row, one in by_row.items() if one is not None]
    competing.sort(key=lambda pair: -pair[1].ratio if higher else pair[1].ratio)

    judged = [row for row, _ in competing if all(column[row].rank is not None for column in columns.values())]
    several = judged if len(judged) > 1 else []  # a single row has no rank
    ranks = dict(zip(several, room.ranks_of(several, _judge(columns, metric, several)), strict=True)) if several else {}
    cells = {}
    for row, one in competing:
        interval = None if row == reference else one.interval
        cells[row] = Cell(one.ratio, _TIMES, interval, bounds=True, unit="times"), Cell(ranks.get(row), COUNT)
    return cells


def _judge(columns: room.Columns, metric: str, rows: Sequence[str]) -> Callable[[str, str], bool]:
    """Return a function: whether two rows differ over all texts, as in ``ranking`` on one text."""
    contenders = [[column[row].row for row in rows] for column in columns.values()]
    parts = np.mean([room.parts_on_text(of_text, metric) for of_text in contenders], axis=0)
    clearly = any(room.text_needs_clarity(of_text[0]) for of_text in contenders)
    told, agree, places = told_apart(parts, clearly), agreed(parts), {row: place for place, row in enumerate(rows)}

    def apart(better: str, row: str) -> bool:
        pair = places[better], places[row]
        if not told[pair] or (between := _between(columns, metric, better, row)) is None:
            return False
        if between.interval is None:
            return bool(agree[pair])
        low, high = between.interval
        return not low <= 1 <= high

    return apart


def _between(columns: room.Columns, metric: str, a: str, b: str) -> Overall | None:
    """Return B relative to A over all texts; None if one lacks a text, read another one, or does not compete.

    None also if a value is not above 0.
    """
    pairs = []
    for column in columns.values():
        one, other = column.get(a), column.get(b)
        if one is None or other is None or one.result.tally != other.result.tally:
            return None
        if not (one.competes and other.competes):
            return None
        pairs.append((one.row.measured(metric), other.row.measured(metric)))
    return overall(pairs)


# ---------------------------------------------------------------------------------------------- on each text


MOST_COLUMNS = 40  # texts of one table, and of one drawing: benchmarks' tables have all of them
_DIFFERENCE = Format("{:+.4g}")


@dataclass(frozen=True, slots=True)
class Ranking:
    """Rows on texts by one metric, from a record."""

    record: Record
    benchmark: str
    metric: str
    columns: room.Columns
    rows: list[str]  # the best over all texts first

    @property
    def name(self) -> str:
        """The metric in words."""
        return self.metric.replace("_", " ")

    @property
    def unit(self) -> str:
        """Unit of the metric's values."""
        return str(self.record.data["metrics"][self.metric]["unit"])

    @property
    def direction(self) -> Direction:
        """The better direction."""
        return cast("Direction", self.record.data["metrics"][self.metric]["direction"])

    @property
    def texts(self) -> list[str]:
        """Texts that fit a table."""
        return list(self.columns)[:MOST_COLUMNS]

    @property
    def left_out(self) -> tuple[str, ...]:
        """A note on the number of texts that a table leaves out."""
        more = len(self.columns) - MOST_COLUMNS
        return (f"{more:,} more texts: in the tables below.",) * (more > 0)

    @property
    def reference(self) -> str:
        """The row that others are compared with: the suite's reference if it competes wherever it is, or the best."""
        named = self.record.data["suite"].get("reference")
        competes = [column[named].competes for column in self.columns.values() if named in column]
        return str(named) if competes and all(competes) else self.rows[0]

    def value(self, text: str, row: str) -> Cell:
        """Return the value of a row on a text, with its interval."""
        ranked = self.columns[text].get(row)
        return Cell() if ranked is None else room.value_cell(ranked, self.metric)

    def difference(self, text: str, row: str) -> tuple[Cell, str | None]:
        """Return a row's excess over the reference, with the paired interval and the verdict."""
        mine, reference = (self.columns[text].get(label) for label in (row, self.reference))
        if mine is None or reference is None or mine is reference:
            return Cell(), None
        if not reference.competes:
            return Cell(reason=f"not compared: {self.reference} does not compete on this text"), None
        excess = room.difference(reference.row, mine.row, self.metric)
        if excess is None or excess.a is None or excess.b is None:
            return Cell(reason="not compared: not the same text, or other groups of documents"), None
        return Cell(
            excess.b - excess.a, _DIFFERENCE, excess.interval, case=excess.title,
            n=amount(mine.result, mine.row.measured(self.metric)), reason=excess.no_interval,
        ), excess.verdict or None  # fmt: skip


def rankings_of(record: Record) -> Iterator[Ranking]:
    """Return the rankings of a record: two rows on one text, at least."""
    for benchmark, metric in room.rankings(record):
        columns = room.ranked_texts(record, benchmark, metric)
        if any(len(column) > 1 for column in columns.values()):
            yield Ranking(record, benchmark, metric, columns, room.ordered(list(columns.values())))


def answer(record: Record) -> Iterator[Section]:
    """Yield one section for each metric that rows are ranked by."""
    for ranking in rankings_of(record):
        yield Section(ranking.name.capitalize(), (_overall(ranking), _differences(ranking)))


def cost_sheets(record: Record) -> Iterator[Sheet]:
    """Yield one sheet for each metric that rows are ranked by: costs of each row on each text, with its rank."""
    for ranking in rankings_of(record):
        noun = best_noun(ranking.benchmark, ranking.metric)
        columns = {text: ranking.columns[text] for text in ranking.texts}
        notes = (*ranking.left_out, cost_note(ranking.benchmark, ranking.metric), room.NOTES[0])
        title, costs = f"Cost relative to the {noun}", room.costs_of(columns, ranking.metric)
        yield room.cost_sheet(title, ranking.metric, ranking.rows, columns, costs, notes)


def _overall(ranking: Ranking) -> Sheet:
    """Return rows by texts: values and ranks; with several texts, those over all of them first."""
    headings, several = [Heading("tokenizer", "name")], len(ranking.columns) > 1
    over_all = overall_cells(ranking.columns, ranking.metric, ranking.rows, ranking.reference) if several else {}
    if several:
        headings += [Heading("overall", "number", "times", ranking.direction), Heading("#")]
    for text in ranking.texts:
        headings += [Heading(text, "number", ranking.unit, ranking.direction, ranking.metric), Heading("#")]
    rows = []
    for row in ranking.rows:
        cells = [room.name_cell(ranking.columns, row), *(over_all.get(row, (Cell(), Cell())) if several else ())]
        for text in ranking.texts:
            cells += [ranking.value(text, row), room.rank_cell(ranking.columns[text].get(row))]
        rows.append(tuple(cells))
    note = (OVERALL_NOTE.format(reference=ranking.reference),) * several
    notes = tuple(room.ranking_notes(ranking.record, ranking.benchmark, ranking.columns.values()))
    return Sheet(f"All texts, by {ranking.name}", tuple(headings), tuple(rows), (*ranking.left_out, *note, *notes))


def _differences(ranking: Ranking) -> Figure:
    """Return the difference of every row from the reference on every text."""
    title = f"Difference from {ranking.reference} in {ranking.name}"
    drawn, rows = [], []
    for row in ranking.rows:
        if row == ranking.reference:
            continue
        cells = {text: ranking.difference(text, row) for text in ranking.texts}
        drawn += [Dot(row, cell, panel=text, series=row) for text, (cell, _) in cells.items()]
        judged = [one for cell, verdict in cells.values() for one in (cell, Cell(verdict))]
        rows.append((room.name_cell(ranking.columns, row), *judged))
    unit, direction, metric = ranking.unit, ranking.direction, ranking.metric
    headings = [Heading("tokenizer", "name")]
    for text in ranking.texts:
        headings += [Heading(text, "number", unit, direction, metric), Heading("verdict", "word")]
    description = (
        f"{ranking.unit}, {direction} is better. A dot is the difference on a text, a line its paired 95 % CI. "
        "A line that crosses 0 is not significant."
    )
    notes = *ranking.left_out, "±: half-width of the paired 95 % CI of the difference. The verdict follows it."
    numbers = Sheet(title, tuple(headings), tuple(rows), notes)
    of_page = list(ranking.record.data["tokenizers"])
    return Figure(title, description, dots(drawn, title, ranking.unit, at=0.0, rows=of_page), numbers)

"""The profile of a kernel: medians of its implementations as dots, problem by problem."""

from __future__ import annotations

from collections.abc import Iterator

from pyharness.report.charts import Dot, dots
from pyharness.report.page.parts import Figure, Section
from pyharness.report.profiles import profile_sheets_of
from pyharness.report.sheet import Sheet
from pyharness.store import PROFILE_KIND, Record

MEDIAN = "median ms"  # title of the column that is drawn
MOST_DRAWN = 6  # problems: the tables have all


def profiles(record: Record) -> Iterator[Section]:
    """One section where the record is that of a profile."""
    if record.data["kind"] != PROFILE_KIND:
        return
    timed = [sheet for sheet in profile_sheets_of(record) if MEDIAN in sheet.columns]
    if timed:
        yield Section("Times by implementation", tuple(_figure(sheet) for sheet in timed[:MOST_DRAWN]))


def _figure(sheet: Sheet) -> Figure:
    column = sheet.columns.index(MEDIAN)
    drawn = [Dot(str(row[0].value), row[column]) for row in sheet.rows]
    about = "Median time of a call, on a logarithmic axis. Lower is better."
    return Figure(sheet.title, about, dots(drawn, sheet.title, "median time of a call, ms", log=True), sheet)

"""A record as a comment on a pull request: ranks and what has no numbers first, the rest folded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pyharness.report.cases import not_measured
from pyharness.report.exporters.comment import MOST_BYTES_OF_A_TABLE, Comment, Part, inert
from pyharness.report.listings import listing_sheets
from pyharness.report.page.foot import foot_blocks
from pyharness.report.ranking import ranking_sheets
from pyharness.report.sheet import Sheet
from pyharness.report.tables import measured_sheets
from pyharness.store import KIND, Record
from pyharness.types import counted

_OF_A_DATE = 10


def record_comment(record: Record, name: str, every: bool = False, all_entries: bool = False) -> Comment:
    """Return what a comment says of a record: ranks and what has no numbers, then other tables, folded.

    Args:
        record: of a run, or another record of cases.
        name: of the record, for readers.
        every: with all metrics.
        all_entries: with all that listings name.
    """
    of_a_run = record.data["kind"] == KIND
    answer = ranking_sheets(record) if of_a_run else []
    failed = _failed_first(not_measured(record.results))
    listed = [sheet for sheet in listing_sheets(record, all_entries) if sheet.rows and of_a_run]
    rest = [*measured_sheets(record, every), *listed]
    if not answer:  # of one row, or of what has no ranks
        answer, rest = rest[:1], rest[1:]
    return Comment(
        _measured(record),
        f"Record {inert(name)} of {inert(str(record.data['created'])[:_OF_A_DATE])}",
        parts=(
            Part(tuple(answer)),
            Part((failed,) if failed.rows else (), most=MOST_BYTES_OF_A_TABLE, first=True),
            Part(tuple(rest), counted(len(rest), "more table"), MOST_BYTES_OF_A_TABLE),
            Part(
                tuple(one for one in foot_blocks(record) if isinstance(one, Sheet)),
                "where this is from",
                MOST_BYTES_OF_A_TABLE,
            ),
        ),
    )


def _failed_first(sheet: Sheet) -> Sheet:
    return replace(sheet, rows=tuple(sorted(sheet.rows, key=lambda row: row[1].value != "failed")))


def _measured(record: Record) -> str:
    """How many cases there are of each outcome, in a line."""
    found = Counter(result.status for result in record.results)
    said = [f"{counted(found['ok'], 'case')} measured", f"{found['failed']:,} failed", f"{found['skipped']:,} skipped"]
    broken = "" if record.data["complete"] else " The run was interrupted."
    return f"{_of(record.data)}: {', '.join(said)}.{broken}"


def _of(data: Mapping[str, Any]) -> str:
    if not data["corpora"]:
        return str(data["suite"].get("name", "Record")).capitalize()
    rows = counted(len(data["tokenizers"]), str(data["suite"].get("rows", "tokenizer")))
    return f"{rows} on {counted(len(data['corpora']), 'text')}"

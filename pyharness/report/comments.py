"""Comments on a pull request: on a record or a comparison. Important parts come first; others are folded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from pyharness.report import differences as room
from pyharness.report.exporters.comment import MOST_BYTES_OF_A_TABLE, Comment, CommentPart, inert
from pyharness.report.failures import JudgedComparison
from pyharness.report.provenance import foot_blocks
from pyharness.report.ranking import ranking_sheets
from pyharness.report.sheet import Sheet
from pyharness.report.sheet.cases import not_measured
from pyharness.report.summary import summary_sheets
from pyharness.report.tables import listing_sheets, measured_sheets
from pyharness.store import KIND, Record
from pyharness.types import counted

_OF_A_DATE = 10


def record_comment(record: Record, name: str, every: bool = False, all_entries: bool = False) -> Comment:
    """Return the comment on a record: summary, ranks and cases without numbers, then other tables, folded.

    Args:
        record: of a run, or another record of cases.
        name: of the record, for readers.
        every: whether tables have all metrics.
        all_entries: whether listings have all entries.
    """
    of_a_run = record.data["kind"] == KIND
    summary, answer = (summary_sheets(record), ranking_sheets(record)) if of_a_run else ([], [])
    lacking = not_measured(record.results)
    failed = replace(lacking, rows=tuple(sorted(lacking.rows, key=lambda row: row[1].value != "failed")))
    listed = [sheet for sheet in listing_sheets(record, all_entries) if sheet.rows and of_a_run]
    rest = [*measured_sheets(record, every), *listed]
    if not answer:  # of one row, or without ranks
        answer, rest = rest[:1], rest[1:]
    return Comment(
        _count_outcomes(record),
        f"Record {inert(name)} of {inert(str(record.data['created'])[:_OF_A_DATE])}",
        parts=(
            CommentPart((*summary, *answer)),
            CommentPart((failed,) if failed.rows else (), most=MOST_BYTES_OF_A_TABLE, first=True),
            CommentPart(tuple(rest), counted(len(rest), "more table"), MOST_BYTES_OF_A_TABLE),
            CommentPart(
                tuple(one for one in foot_blocks(record) if isinstance(one, Sheet)),
                "where this is from",
                MOST_BYTES_OF_A_TABLE,
            ),
        ),
    )


def _count_outcomes(record: Record) -> str:
    """Return the number of cases by outcome, in a line."""
    counts = Counter(result.status for result in record.results)
    outcomes = f"{counted(counts['ok'], 'case')} measured, {counts['failed']:,} failed, {counts['skipped']:,} skipped"
    broken = "" if record.data["complete"] else " The run is not complete."
    data = record.data
    about = str(data["suite"].get("name", "Record")).capitalize()
    if data["corpora"]:
        rows = counted(len(data["tokenizers"]), str(data["suite"].get("rows", "tokenizer")))
        about = f"{rows} on {counted(len(data['corpora']), 'text')}"
    return f"{about}: {outcomes}.{broken}"


# --------------------------------------------------- a comparison: inconclusive, resolved, the worse before the better


_WITHOUT = "without a verdict"


def comparison_comment(
    differences: Sequence[room.Difference], title: str, judged: JudgedComparison | None = None
) -> Comment:
    """Return the comment on a comparison: inconclusive and significant differences, and the rest, folded.

    Args:
        differences: of the comparison; those without a number on one side are left out.
        title: of the comparison, for readers.
        judged: the same comparison after judgement: its reasons that are not ``of_a_number`` come first.
    """
    shown = [difference for difference in differences if difference.a is not None and difference.b is not None]
    resolved, rest = room.resolved_first(shown)
    inconclusive = [one for one in rest if one.verdict == room.INCONCLUSIVE]
    opened, rest = [*inconclusive, *resolved], rest[len(inconclusive) :]
    compared = f"{counted(len(shown), 'difference')} B - A: {_verdicts((*opened, *rest))}."
    notes = room.notes_below(shown)
    return Comment(
        compared if judged is None else f"{judged.verdict}; {compared}",
        f"Compared: {inert(title)}",
        () if judged is None else tuple(reason.line for reason in judged.reasons if not reason.of_a_number),
        (
            CommentPart((room.one_table(opened, (*room.judged_otherwise(opened), *notes)),) if opened else ()),
            CommentPart((room.one_table(rest, notes),) if rest else (), _verdicts(rest)),
        ),
    )


def _verdicts(differences: Iterable[room.Difference]) -> str:
    counts = Counter(difference.verdict or _WITHOUT for difference in differences)
    return ", ".join(f"{count:,} {verdict}" for verdict, count in counts.items()) or "none"

"""A gate as a comment on a pull request: verdict, versions, what did not pass, and the rest folded."""

from __future__ import annotations

from pyharness.features.gate.report import sheets
from pyharness.features.gate.types import Gate
from pyharness.report.exporters.comment import MOST_BYTES_OF_A_TABLE, Comment, CommentPart, inert

MOST_HEADLINES = 20  # with more figures, their reasons stand in the table alone


def gate_comment(gate: Gate) -> Comment:
    """Return the comment on a gate."""
    shown, passed = sheets.parted(gate.judgements)
    lines = tuple(": ".join(sheets.headline(one)) for one in shown)
    brief = len(lines) <= MOST_HEADLINES
    faults = (*gate.declaration_faults, *(f"Self-test: {fault}" for fault in gate.self_test.faults))
    about = (sheets.differing_sheet(gate), sheets.self_test_sheet(gate), sheets.environment_sheet(gate))
    versions = (" ".join((side, *map(inert, words))) for side, words in sheets.versions(gate))
    return Comment(
        sheets.verdict_line(gate),
        "; ".join((f"Suite {inert(gate.suite)}", *versions)),
        (*faults, *(lines if brief else ()), *gate.notes, *sheets.where(gate)),
        (
            CommentPart((sheets.judgement_sheet(shown, reasons=not brief),) if shown else ()),
            CommentPart((sheets.judgement_sheet(passed),) if passed else (), sheets.counts(passed)),
            CommentPart(tuple(one for one in about if one.rows), "self-test and environment", MOST_BYTES_OF_A_TABLE,
                        first=True),
        ),
    )  # fmt: skip

"""A gate as a comment on a pull request: verdict, regressions, inconclusive figures, and the rest folded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pyharness.features.gate.report.sheets import (
    WRONG,
    arms_sheet,
    by_benchmark,
    counts,
    environment_sheet,
    judgement_sheet,
    remarks,
    self_test_sheet,
    verdict_line,
)
from pyharness.features.gate.types import SIDES, Gate, GateVerdict, Judgement
from pyharness.report.exporters.comment import MOST_BYTES_OF_A_TABLE, Comment, CommentPart, inert
from pyharness.report.sheet import Sheet

_OF_A_VERSION = 12


def gate_comment(gate: Gate) -> Comment:
    """Return the comment on a gate."""
    groups = by_benchmark(gate.judgements)
    seen_first = (*WRONG, GateVerdict.INCONCLUSIVE)  # missing evidence must not pass
    wrong = [one for several in groups if several[0].verdict in seen_first for one in several]
    others = [one for several in groups if several[0].verdict not in seen_first for one in several]
    about = tuple(one for one in (arms_sheet(gate), self_test_sheet(gate), environment_sheet(gate)) if one.rows)
    return Comment(
        verdict_line(gate),
        _compared(gate),
        tuple(remarks(gate)),
        (
            CommentPart(_judged(gate, wrong)),
            CommentPart(_judged(gate, others), counts(others)),
            CommentPart(about, "self-test and environment", MOST_BYTES_OF_A_TABLE, first=True),
        ),
    )


def _compared(gate: Gate) -> str:
    arms = (gate.arms.get(side) for side in SIDES)
    named = (
        f"{arm.side} {inert(arm.source)} ({inert(arm.version[:_OF_A_VERSION])})" for arm in arms if arm is not None
    )
    return "; ".join((f"Suite {inert(gate.suite)}", *named))


def _judged(gate: Gate, judgements: Sequence[Judgement]) -> tuple[Sheet, ...]:
    """Return a table whose title is the line above it."""
    return (replace(judgement_sheet(gate, judgements), title=""),) if judgements else ()

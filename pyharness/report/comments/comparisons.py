"""A comparison as a comment on a pull request: inconclusive, resolved, the worse before the better, the rest folded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from pyharness.report.comparison import INCONCLUSIVE, Difference, resolved_first
from pyharness.report.differences import judged_otherwise
from pyharness.report.exporters.comment import Comment, Part, inert
from pyharness.report.failing import Judged
from pyharness.report.sheet import Cell, Heading, Sheet
from pyharness.types import Format, counted

_VALUE, _DIFFERENCE, _SHARE = Format("{:.5g}"), Format("{:+.4g}"), Format("{:+.3g} %", 100, "%")
_HEADINGS = (
    Heading("cases", "name"), Heading("metric", "word"), Heading("verdict", "word"), Heading("A"), Heading("B"),
    Heading("B - A"), Heading("of A"),
)  # fmt: skip
_OF_TEXT = "[low, high]: paired 95 % interval of B - A, of as much other text of this kind; none: too few documents, or"
_NOTES = (f"{_OF_TEXT} a metric without an interval.",)
_IN_TURN = "[low, high] of times: of the median over rounds of B - A, which may lie to one side of the B - A shown."
_OUT_OF_TURN = "Times without an interval have no verdict: rows did not take turns, or in fewer than 6 rounds."
_WITHOUT = "without a verdict"


def comparison_comment(differences: Sequence[Difference], title: str, judged: Judged | None = None) -> Comment:
    """Return what a comment says of a comparison: what is inconclusive, what is resolved, and the rest, folded.

    Args:
        differences: of which there are numbers on both sides.
        title: what was compared, for readers.
        judged: the same comparison, where it was asked what of it fails: reasons without a number stand before all.
    """
    shown = [one for one in differences if one.a is not None and one.b is not None]
    resolved, rest = resolved_first(shown)
    inconclusive = [one for one in rest if one.verdict == INCONCLUSIVE]
    opened, rest = [*inconclusive, *resolved], rest[len(inconclusive) :]
    compared = f"{counted(len(shown), 'difference')} B - A: {_verdicts((*opened, *rest))}."
    notes = _notes(shown)
    return Comment(
        compared if judged is None else f"{judged.verdict}; {compared}",
        f"Compared: {inert(title)}",
        () if judged is None else tuple(reason.line for reason in judged.reasons if not reason.of_a_number),
        (
            Part((_sheet(opened, (*judged_otherwise(opened), *notes)),) if opened else ()),
            Part((_sheet(rest, notes),) if rest else (), _verdicts(rest)),
        ),
    )


def _verdicts(differences: Iterable[Difference]) -> str:
    found = Counter(one.verdict or _WITHOUT for one in differences)
    return ", ".join(f"{count:,} {verdict}" for verdict, count in found.items()) or "none"


def _notes(differences: Sequence[Difference]) -> tuple[str, ...]:
    times = [one.interval is None for one in differences if not one.deterministic]
    return (*_NOTES, *(_IN_TURN,) * (False in times), *(_OUT_OF_TURN,) * (True in times))


def _sheet(differences: Sequence[Difference], notes: tuple[str, ...]) -> Sheet:
    """Return a table whose title is the line above it."""
    return Sheet("", _HEADINGS, tuple(_row(one) for one in differences), notes)


def _row(one: Difference) -> tuple[Cell, ...]:
    assert one.a is not None and one.b is not None  # noqa: S101, PT018 -- others are left out
    interval, share = one.interval, Cell(None, reason="A is 0")
    if one.a and interval is not None:
        share = Cell(one.share, _SHARE, (interval[0] / abs(one.a), interval[1] / abs(one.a)), bounds=True)
        interval = None  # once is enough
    elif one.a:
        share = Cell(one.share, _SHARE)
    return (
        Cell(one.title), Cell(one.name), Cell(one.verdict or None), Cell(one.a, _VALUE), Cell(one.b, _VALUE),
        Cell(one.b - one.a, _DIFFERENCE, interval, bounds=True), share,
    )  # fmt: skip

"""Failures of a comparison: the deterministic gate. It times nothing and only reads the records and their states.

Digests in the records tell whether ids are equal. If they are not, the records' states tell where they differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, TypeAlias

from pyharness.metrics.counting.id_digests import first_difference, kept_of
from pyharness.report.comparison import Pair, States, differences, metrics_of
from pyharness.report.differences import Difference
from pyharness.report.sheet import Cell, Heading, Sheet
from pyharness.report.sheet.strings import shorten
from pyharness.types import CaseResult, InputError, Measurement, counted


def comparable(pair: Pair) -> bool:
    """Return whether both sides keep a digest of all their ids."""
    return pair.measured and pair.one.ids is not None and pair.other is not None and pair.other.ids is not None


def pairs_of_other_ids(pairs: Iterable[Pair]) -> Iterator[tuple[Pair, str]]:
    """Yield pairs whose ids differ, with the place of the difference, in words.

    A record without digests of ids shows a difference only if it changes the number of tokens of some group of
    documents, and never its place.
    """
    with States() as states:
        for pair in pairs:
            if pair.other is None:
                continue
            if comparable(pair):
                if pair.one.ids != pair.other.ids:
                    yield pair, _where(pair, pair.other, states)
            elif pair.measured and pair.one.groups.get("tokens") != pair.other.groups.get("tokens"):
                yield pair, "by their number in groups of documents; a record is too old to say where"


def share_a_vocabulary(pair: Pair) -> bool:
    """Return whether both sides are one row with one vocabulary, which must give the same ids."""
    rows = [record.data["tokenizers"].get(pair.one.case.tokenizer) for record in (pair.a, pair.b)]
    claims = [about.get("vocabulary") if isinstance(about, Mapping) else None for about in rows]
    same_row = pair.other is not None and pair.other.case.tokenizer == pair.one.case.tokenizer
    return same_row and claims[0] is not None and claims[0] == claims[1]


def _where(pair: Pair, other: CaseResult, states: States) -> str:
    try:
        mine, theirs = (kept_of(states.of(*side)) for side in ((pair.a, pair.one), (pair.b, other)))
    except InputError as error:
        return f"where is not known: {error}"
    mismatch = first_difference(mine, theirs)
    if mismatch is None:
        return f"after the {min(len(mine.keys), len(theirs.keys)):,} documents whose digests are kept"
    number, tally = mismatch.document + 1, pair.one.tally
    read = number if tally is None else tally.documents
    behind = "" if number <= read else f", after the {read:,} of the corpus"
    return (
        f"in {mismatch.documents:,} of {counted(mismatch.compared, 'document')}, first in document {number} "
        f"(from 1{behind}), at ids {mismatch.token} to {mismatch.last_token}{_of_text(pair, mismatch.text)}"
    )


def _of_text(pair: Pair, text: range | None) -> str:
    """Return the place of ids in the text: in the document's own bytes, or in the decoded bytes if they differ."""
    if text is None:
        return ""
    about = pair.a.data["tokenizers"].get(pair.one.case.tokenizer)
    exact = isinstance(about, Mapping) and about.get("round_trip") == "exact"
    return f", in {counted(len(text), 'byte')} from byte {text.start:,}{'' if exact else ' of what they decode to'}"


# ---------------------------------------------------------------------------------------------- reasons


FailOn: TypeAlias = Literal["worse", "any"]
LONGEST_REASON = 2000  # characters
_HEADINGS = (Heading("kind", "word"), Heading("reason", "word"))  # words are not wrapped: one line per reason


class Kind(StrEnum):
    """The kind of a reason, in the order of display."""

    WORSE = "worse"
    INCONCLUSIVE = "inconclusive"  # a primary number looks worse, and nothing judges it
    DIFFERS = "differs"
    NOT_COMPARED = "not compared"  # no evidence, so no pass
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason, on one line."""

    kind: Kind
    text: str
    of_a_number: bool = False  # a comment leaves the reason out: its table of differences shows the number

    @property
    def line(self) -> str:
        """Kind and text."""
        return f"{self.kind}: {self.text}"


@dataclass(frozen=True, slots=True)
class JudgedComparison:
    """A comparison after judgement: whether it fails, and why."""

    fail_on: FailOn
    differences: tuple[Difference, ...]  # of deterministic metrics
    reasons: tuple[Reason, ...]  # worse ones first

    @property
    def exit_code(self) -> int:
        """Exit code: 0 nothing fails, 1 something fails, 2 something was not compared, 3 something is inconclusive.

        The first of 1, 2, 3 that applies, as in ``pyharness gate``.
        """
        kinds = {reason.kind for reason in self.reasons}
        if Kind.WORSE in kinds or (self.fail_on == "any" and Kind.DIFFERS in kinds):
            return 1
        if Kind.NOT_COMPARED in kinds:
            return 2
        return 3 if Kind.INCONCLUSIVE in kinds else 0

    @property
    def verdict(self) -> str:
        """The outcome in words."""
        outcome = {0: "passes", 1: "fails", 2: "cannot be judged", 3: "is inconclusive"}[self.exit_code]
        left = sum(difference.unjudged for difference in self.differences)
        judged = f", {left:,} of them not judged" if left else ""
        return f"--fail-on {self.fail_on} {outcome}: {len(self.differences):,} numbers compared{judged}"

    @property
    def lines(self) -> list[str]:
        """The outcome, and a line for every reason."""
        return [self.verdict, *(reason.line for reason in self.reasons)]

    @property
    def sheet(self) -> Sheet:
        """The outcome, and a row for every reason."""
        rows = tuple((Cell(str(reason.kind)), Cell(shorten(reason.text, LONGEST_REASON))) for reason in self.reasons)
        return Sheet(self.verdict, _HEADINGS, rows)


def judge(pairs: Sequence[Pair], fail_on: FailOn) -> JudgedComparison:
    """Compare every pair and decide what fails.

    Raises:
        InputError: a pair read different text, or put documents into other groups, so that no verdict is possible.
    """
    numbers = [difference for difference in differences(pairs) if difference.deterministic]
    reasons = [reason for pair in pairs for reason in _of_case(pair, fail_on)]
    reasons += [reason for one in numbers for reason in _of_number(one, fail_on)]
    reasons += _of_documents(numbers, fail_on)
    reasons += _of_ids(pairs, fail_on)
    if not numbers:
        reasons.append(Reason(Kind.NOT_COMPARED, "no number has a counterpart on the other side"))
    if pairs and pairs[0].a is not pairs[0].b:
        keys, others = {pair.one.case.key for pair in pairs}, pairs[0].b.results
        reasons += (Reason(Kind.NOTE, f"{one.case.key}: not in A") for one in others if one.case.key not in keys)
    kinds = list(Kind)
    return JudgedComparison(fail_on, tuple(numbers), tuple(sorted(reasons, key=lambda one: kinds.index(one.kind))))


def _of_case(pair: Pair, fail_on: FailOn) -> Iterator[Reason]:
    """Yield reasons from how a case ended on the two sides, and from numbers that one side lacks."""
    title, one, other = pair.title, pair.one, pair.other
    if other is None:
        if one.status == "ok":
            yield Reason(Kind.NOT_COMPARED, f"{title}: B does not have this case")
    elif one.status != other.status:
        if other.status == "failed":
            yield Reason(Kind.WORSE, f"{title}: fails in B: {other.reason}")
        elif other.status == "skipped" and one.status == "ok":
            yield Reason(Kind.NOT_COMPARED, f"{title}: skipped in B: {other.reason}")
        elif other.status == "ok":
            yield Reason(Kind.DIFFERS, f"{title}: {one.status} in A, measured in B")
    elif one.status == "failed":
        yield Reason(Kind.NOTE, f"{title}: fails on both sides")
    elif one.status == "ok":
        yield from _of_missing_numbers(pair, other, fail_on)


def _of_missing_numbers(pair: Pair, other: CaseResult, fail_on: FailOn) -> Iterator[Reason]:
    """Name the deterministic numbers that B lacks: those that can be worse or, if any difference counts, all.

    If any difference counts, also name those that B has, and for which A has only a reason.
    """
    metrics = metrics_of(pair)
    theirs = {(measurement.metric, measurement.part): measurement for measurement in other.measurements}
    for mine in pair.one.measurements:
        about = metrics.get(mine.metric, {"deterministic": False})
        if not about["deterministic"] or (fail_on == "worse" and about["direction"] == "none"):
            continue
        match = theirs.get((mine.metric, mine.part))
        if mine.value is not None and (match is None or match.value is None):
            why = "" if match is None else f": {match.reason}"
            yield Reason(Kind.NOT_COMPARED, f"{pair.title}: {_metric_name(mine)} has no number in B{why}")
        elif mine.value is None and match is not None and match.value is not None and fail_on == "any":
            yield Reason(Kind.DIFFERS, f"{pair.title}: {_metric_name(mine)} has a number in B alone")


def _of_number(one: Difference, fail_on: FailOn) -> Iterator[Reason]:
    if one.a is None or one.b is None or one.verdict == "same" or (one.verdict == "worse" and one.judged_by_ranks):
        return
    if one.verdict != "worse" and fail_on != "any":
        return
    beside = f" ({one.verdict})" if one.verdict and one.verdict not in (Kind.WORSE, Kind.DIFFERS) else ""
    kind = Kind.WORSE if one.verdict == "worse" else Kind.DIFFERS
    yield Reason(kind, f"{one.title}: {_describe(one)}{beside}", of_a_number=True)


def _of_documents(compared: Sequence[Difference], fail_on: FailOn) -> Iterator[Reason]:
    """Yield the judgement by documents, once for all numbers of a case, and numbers that look worse without a judge.

    A better look is no reason: no interval around it could be all on the worse side. If any difference fails, no judge
    is needed.
    """
    groups: dict[tuple[Kind, str, str], list[Difference]] = {}
    for one in compared:
        if one.verdict == "worse" and one.judged_by_ranks:
            groups.setdefault((Kind.WORSE, one.title, one.judged_by), []).append(one)
        elif one.unjudged and one.looks_worse and fail_on == "worse":
            kind, why = (
                (Kind.INCONCLUSIVE, one.no_interval or one.verdict) if one.primary else (Kind.NOTE, "not judged")
            )
            groups.setdefault((kind, one.title, why), []).append(one)
    for (kind, title, why), numbers in groups.items():
        description = f"{title}: {', '.join(map(_describe, numbers))} ({why})"
        yield Reason(kind, description, of_a_number=kind is not Kind.INCONCLUSIVE)


def _of_ids(pairs: Sequence[Pair], fail_on: FailOn) -> Iterator[Reason]:
    """Say where ids differ, whether that fails or not: a mean may stay the same."""
    for pair, where in pairs_of_other_ids(pairs):
        if share_a_vocabulary(pair):
            yield Reason(Kind.WORSE, f"{pair.title}: different ids of the same vocabulary, {where}")
        else:
            yield Reason(Kind.DIFFERS, f"{pair.title}: different ids, {where}")
    read = {pair.one.case.tokenizer: None for pair in pairs if pair.measured and pair.one.tally is not None}
    compared = {pair.one.case.tokenizer for pair in pairs if comparable(pair)}
    kind = Kind.NOT_COMPARED if fail_on == "any" else Kind.NOTE
    for row in read:
        if row not in compared:
            yield Reason(kind, f"{row}: ids, of which no case has digests on both sides; an older pyharness kept none")


def _metric_name(one: Measurement) -> str:
    return one.metric if one.part is None else f"{one.metric} {one.part}"


def _describe(one: Difference) -> str:
    """Return a number and its two values, with enough digits to show the difference."""
    a, b = one.a, one.b
    if isinstance(a, int) and isinstance(b, int):
        return f"{one.name} {a:,} -> {b:,}"
    ways = ((f"{a:.{digits}g}", f"{b:.{digits}g}") for digits in (5, 9, 17))
    return f"{one.name} {' -> '.join(next((way for way in ways if way[0] != way[1]), (str(a), str(b))))}"

"""Rows on the same text: the difference of every metric, with its paired interval.

Times are compared within one record. Where rows took turns, the rounds pair them; else there is no interval, and so no
verdict: what the machine did meanwhile is between the two.

An interval is about as much other text of the same kind. A metric that grows with the text (an entropy, the share of a
vocabulary that occurs) may order two rows one way on little text and the other way on more: its differences on nested
parts of the text are looked at, too, and there is a verdict only where all of them have one sign.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from pyharness.report.comparison.difference import Difference
from pyharness.report.comparison.documents import by_documents
from pyharness.report.comparison.pairs import Pair, metrics_of, pairs_of_records, pairs_of_rows, says
from pyharness.report.comparison.states import States
from pyharness.statistics.intervals import MOST_SAMPLES
from pyharness.statistics.jackknife import paired_interval, paired_lack
from pyharness.statistics.samples import median_interval
from pyharness.store import Record
from pyharness.types import CaseResult, InputError, Measurement


def records(a: Record, b: Record) -> list[Difference]:
    """Every case that both records hold, for the same tokenizer and text."""
    return some(differences(pairs_of_records(a, b)))


def rows(record: Record, first: str, second: str, *others: str) -> list[Difference]:
    """Tokenizers of one record, each of the others with the first."""
    return some(differences(pairs_of_rows(record, first, second, *others)))


def differences(pairs: Iterable[Pair], metric: str | None = None) -> list[Difference]:
    """Every metric that both sides of a pair have; text that is not the same is refused.

    With ``metric`` that one alone, of all of the text, and by intervals alone: ranks are made of many such pairs, and
    have none where there is no interval.
    """
    measured = [(pair, list(_differences(pair, metric))) for pair in pairs if pair.measured]
    if metric is not None:
        return [replace(one, primary=False) for _, found in measured for one in found]
    with States() as states:
        return [one for pair, found in measured for one in by_documents(pair, found, states)]


def some(found: list[Difference]) -> list[Difference]:
    """Return differences; raises ``InputError`` where there are none."""
    if not found:
        raise InputError(
            "no metric that two records can be compared by was measured on both sides: there is nothing to compare; "
            "pyharness gate compares times, in turns"
        )
    return found


def _differences(pair: Pair, only: str | None) -> Iterator[Difference]:
    one, other = pair.one, pair.other
    assert other is not None  # noqa: S101 -- it is measured
    digests = [None if result.tally is None else result.tally.digest for result in (one, other)]
    if digests[0] != digests[1]:
        raise InputError(
            f"corpus {one.case.corpus!r} is not the same text on both sides (digests {str(digests[0])[:12]} and "
            f"{str(digests[1])[:12]}): a comparison across different text is refused"
        )
    _check_groups(pair, other)
    metrics = metrics_of(pair)
    theirs = {(measurement.metric, measurement.part): measurement for measurement in other.measurements}
    title, of_one_record = pair.title, pair.a is pair.b
    in_rounds = bool(one.case.parameters.get("rounds"))
    for mine in one.measurements:
        if only is not None and (mine.metric, mine.part) != (only, None):
            continue
        metric = metrics.get(mine.metric)
        match = theirs.get((mine.metric, mine.part))
        if metric and match is not None and (metric["deterministic"] or of_one_record or metric.get("in_turn")):
            in_turn = of_one_record and (in_rounds or bool(metric.get("in_turn")))
            yield _difference(title, mine, match, metric, in_turn=in_turn and not metric["deterministic"])


def _check_groups(pair: Pair, other: CaseResult) -> None:
    """Refuse to pair replicates of other groups: of works on one side, of documents on the other.

    A record is one in how it groups a text, so that any case of it can say so. Where only one record does, the text is
    taken to be grouped alike unless its works are named, which older records did not heed.
    """
    sides = (pair.a, pair.one), (pair.b, other)
    if pair.a is pair.b or not all(any(one.replicates for one in result.measurements) for _, result in sides):
        return
    mine, theirs = (_documents(record, result) for record, result in sides)
    about = pair.b.data["corpora"].get(other.case.corpus, {})
    if mine == theirs or (None in (mine, theirs) and "work=" not in str(about.get("spec"))):
        return
    raise InputError(
        f"corpus {other.case.corpus!r} has its documents in other groups on the two sides, or one does not say, "
        "so that no interval pairs them: one record is older than groups of works; measure it anew"
    )


def _documents(record: Record, wanted: CaseResult) -> tuple[int, ...] | None:
    """Documents by group, of the text of a case; None where no case of the record says."""
    for result in (wanted, *record.results):
        if "documents" in result.groups and (result.case.corpus, result.tally) == (wanted.case.corpus, wanted.tally):
            return result.groups["documents"]
    return None


def _difference(
    title: str, mine: Measurement, match: Measurement, metric: Mapping[str, Any], *, in_turn: bool
) -> Difference:
    interval = _round_by_round(mine, match) if in_turn else paired_interval(mine, match)
    no_interval = None if in_turn or interval is not None else paired_lack(mine, match)
    pairs = zip(mine.curve, match.curve, strict=False)
    return Difference(
        title, mine.metric, mine.part, mine.value, match.value, interval, metric["direction"],
        metric.get("tolerance", 0.0), says(mine.metric, metric, "grows_with_text"),
        says(mine.metric, metric, "exact"), metric["deterministic"],
        tuple(None if a is None or b is None else b - a for a, b in pairs),
        no_interval, says(mine.metric, metric, "primary"),
    )  # fmt: skip


def _round_by_round(mine: Measurement, match: Measurement) -> tuple[float, float] | None:
    """Interval of the median over rounds of what the second takes more than the first."""
    return median_interval(
        [other - one for one, other in zip(mine.samples, match.samples, strict=False)][:MOST_SAMPLES]
    )

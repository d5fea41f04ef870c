"""Rows on the same text: the difference of every metric, with its paired interval.

Times are compared within one record. Where rows took turns, the rounds pair them; else there is no interval, and so no
verdict: what the machine did meanwhile is between the two.

An interval is about as much other text of the same kind. A metric that grows with the text (an entropy, the share of a
vocabulary that occurs) may order two rows one way on little text and the other way on more: its differences on nested
parts of the text are looked at, too, and there is a verdict only where all of them have one sign.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pyharness.metrics import all_metrics
from pyharness.plugins.registry import suggest
from pyharness.report.cases import variant
from pyharness.report.trained_on import row_cell
from pyharness.statistics.intervals import MOST_SAMPLES
from pyharness.statistics.jackknife import paired_interval
from pyharness.statistics.samples import median_interval
from pyharness.store import Record
from pyharness.types import CaseResult, InputError, Measurement


@dataclass(frozen=True, slots=True)
class Difference:
    """``b - a`` of one metric of one case."""

    title: str  # which rows and which text
    metric: str
    part: str | None
    a: float | None
    b: float | None
    interval: tuple[float, float] | None
    direction: str
    tolerance: float = 0.0  # relative
    grows_with_text: bool = False
    exact: bool = False  # a difference counts without an interval
    deterministic: bool = True
    curve: tuple[float | None, ...] = ()  # b - a on nested parts of the text, the last of them all of it

    @property
    def share(self) -> float | None:
        """``b - a`` as a share of ``a``; None of nothing."""
        return (self.b - self.a) / abs(self.a) if self.a and self.b is not None else None

    @property
    def holds_along_curve(self) -> bool:
        """Whether the difference has one sign on every part of the text."""
        known = [difference for difference in self.curve if difference is not None]
        return len(known) == len(self.curve) > 1 and (min(known) > 0 or max(known) < 0)

    def _has_a_sign(self, low: float, high: float) -> bool:
        """Whether all of the interval is on the side of ``b - a``: medians may differ one way, and rounds another."""
        return self.a is not None and self.b is not None and (low > 0 if self.b > self.a else high < 0)

    @property
    def verdict(self) -> str:
        """``better`` or ``worse`` only when the paired interval excludes zero, and more text is no reason to doubt it.

        Of an exact metric, which has no interval, any difference is enough.

        ``same`` when the values are equal, or within what machines differ by; ``size decides`` when a metric that grows
        with the text has differences of both signs on parts of it, and ``no curve`` when these are not in the record.
        """
        if self.a is None or self.b is None:
            return ""
        if math.isclose(self.a, self.b, rel_tol=self.tolerance):
            return "same"
        if self.interval is None and not self.exact:
            return ""
        if self.interval is not None and not self._has_a_sign(*self.interval):
            return "not resolved"
        if self.grows_with_text and not self.holds_along_curve:
            return "size decides" if self.curve else "no curve"
        if self.direction == "none":
            return "differs"
        return "better" if (self.b > self.a) == (self.direction == "higher") else "worse"


RESOLVED = ("worse", "better", "differs")  # verdicts that say how B is to A, in the order in which they are shown


def resolved_first(found: Iterable[Difference]) -> tuple[list[Difference], list[Difference]]:
    """Return what is resolved, the worse before the better and each largest first, and all others in their order."""
    resolved: list[Difference] = []
    others: list[Difference] = []
    for one in found:
        (resolved if one.verdict in RESOLVED else others).append(one)
    return sorted(resolved, key=_order), others


def _order(one: Difference) -> tuple[int, float]:
    return RESOLVED.index(one.verdict), -math.inf if one.share is None else -abs(one.share)


@dataclass(frozen=True, slots=True)
class Pair:
    """A case of A, and what stands for it in B: None where there is nothing."""

    a: Record
    one: CaseResult
    b: Record
    other: CaseResult | None

    @property
    def title(self) -> str:
        """Benchmark, rows and text."""
        other = self.one if self.other is None else self.other
        rows_named = dict.fromkeys(row_cell(one.case.tokenizer, [one]).text for one in (self.one, other))
        measured = [result for result in self.a.of(self.one.case.benchmark) if result.status == "ok"]
        about = [self.one.case.corpus, variant(self.one, measured)]
        return " | ".join([self.one.case.benchmark, " -> ".join(rows_named), *filter(None, about)])

    @property
    def measured(self) -> bool:
        """Whether there are numbers on both sides."""
        return self.one.status == "ok" and self.other is not None and self.other.status == "ok"


def pairs_of_records(a: Record, b: Record) -> list[Pair]:
    """Every case of A with the one of the same tokenizer, text and parameters in B."""
    known = {result.case.key: result for result in b.results}
    pairs = [Pair(a, one, b, known.get(one.case.key)) for one in a.results]
    if not any(pair.other for pair in pairs):
        raise InputError("the two records share no case: they need the same tokenizers, corpora and benchmarks")
    return pairs


def pairs_of_rows(record: Record, first: str, second: str, *others: str) -> list[Pair]:
    """Every case of one tokenizer of a record with that of each other."""
    labels = list(record.data["tokenizers"])
    for label in (first, second, *others):
        if label not in labels:
            raise suggest("tokenizer in this record", label, labels)
    return [pair for other in dict.fromkeys((second, *others)) for pair in _pairs(record, first, other)]


def _pairs(record: Record, first: str, second: str) -> list[Pair]:
    known = {_without_row(result): result for result in record.results if result.case.tokenizer == second}
    mine = [one for one in record.results if one.case.tokenizer == first]
    pairs = [Pair(record, one, record, known.get(_without_row(one))) for one in mine]
    if not any(pair.other for pair in pairs):
        raise InputError(f"the record has no case of both {first!r} and {second!r}")
    return pairs


def records(a: Record, b: Record) -> list[Difference]:
    """Every case that both records hold, for the same tokenizer and text."""
    return some(differences(pairs_of_records(a, b)))


def rows(record: Record, first: str, second: str, *others: str) -> list[Difference]:
    """Tokenizers of one record, each of the others with the first."""
    return some(differences(pairs_of_rows(record, first, second, *others)))


def differences(pairs: Iterable[Pair], metric: str | None = None) -> list[Difference]:
    """Every metric that both sides of a pair have, or one of all of the text; text that is not the same is refused."""
    return [difference for pair in pairs if pair.measured for difference in _differences(pair, metric)]


def some(found: list[Difference]) -> list[Difference]:
    """Return differences; raises ``InputError`` where there are none."""
    if not found:
        raise InputError(
            "no metric that two records can be compared by was measured on both sides: there is nothing to compare; "
            "pyharness gate compares times, in turns"
        )
    return found


def _without_row(result: CaseResult) -> tuple[str, str | None, str]:
    return result.case.benchmark, result.case.corpus, str(sorted(result.case.parameters.items()))


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


def metrics_of(pair: Pair) -> Mapping[str, Any]:
    """What the records say of the metrics of both sides."""
    return {**pair.a.data["metrics"], **pair.b.data["metrics"]}


def _difference(
    title: str, mine: Measurement, match: Measurement, metric: Mapping[str, Any], *, in_turn: bool
) -> Difference:
    interval = _round_by_round(mine, match) if in_turn else paired_interval(mine, match)
    pairs = zip(mine.curve, match.curve, strict=False)
    return Difference(
        title, mine.metric, mine.part, mine.value, match.value, interval, metric["direction"],
        metric.get("tolerance", 0.0), _says(mine.metric, metric, "grows_with_text"),
        _says(mine.metric, metric, "exact"), metric["deterministic"],
        tuple(None if a is None or b is None else b - a for a, b in pairs),
    )  # fmt: skip


def _round_by_round(mine: Measurement, match: Measurement) -> tuple[float, float] | None:
    """Interval of the median over rounds of what the second takes more than the first."""
    return median_interval(
        [other - one for one, other in zip(mine.samples, match.samples, strict=False)][:MOST_SAMPLES]
    )


def _says(name: str, metric: Mapping[str, Any], fact: str) -> bool:
    """What a record says of a metric or, where it is older than the question, the registry."""
    return bool(metric[fact] if fact in metric else getattr(all_metrics().get(name), fact, False))

"""Rows on the same text: the pairs to compare, and the difference of every metric with its paired interval.

Times are compared within one record. If rows took turns, the rounds pair them. Otherwise there is no interval, and so
no verdict: other load on the machine may explain the difference. Of two records, only metrics that are always measured
in turn (``Metric.in_turn``) are compared, and also without an interval.

An interval covers the same amount of other text of the same kind. A metric that grows with the text (an entropy, the
used share of a vocabulary) may order two rows one way on little text and the other way on more. So its differences on
nested parts of the text are checked, too: there is a verdict only if all of them have one sign.

Where metrics such as bytes per token have no interval, for lack of text, say, the documents judge. On one text, these
metrics differ as the numbers of tokens do, document by document: their log ratios are equal except for the sign. So a
case has one test, and it counts once, however many metrics it concerns.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pyharness.metrics import all_metrics
from pyharness.metrics.counting.id_digests import paired_lengths
from pyharness.plugins.registry import suggest
from pyharness.report.differences import Difference, said_of
from pyharness.report.sheet.cases import row_cell, variant
from pyharness.statistics.jackknife import paired_interval, paired_lack
from pyharness.statistics.samples import MOST_SAMPLES, median_interval
from pyharness.statistics.signed_ranks import FEWEST, SignedRanks, signed_ranks
from pyharness.store import NoState, Record, StateReader
from pyharness.types import CaseResult, InputError, Measurement, State


@dataclass(frozen=True, slots=True)
class Pair:
    """A case of A, and its counterpart in B, or None."""

    a: Record
    one: CaseResult
    b: Record
    other: CaseResult | None

    @property
    def title(self) -> str:
        """Benchmark, rows, text, and the parameters in which the measured cases of this benchmark in A differ."""
        other = self.one if self.other is None else self.other
        rows_named = dict.fromkeys(row_cell(one.case.tokenizer, [one]).text for one in (self.one, other))
        measured = [result for result in self.a.of(self.one.case.benchmark) if result.status == "ok"]
        about = [self.one.case.corpus, variant(self.one, measured)]
        return " | ".join([self.one.case.benchmark, " -> ".join(rows_named), *filter(None, about)])

    @property
    def measured(self) -> bool:
        """Whether the case was measured on both sides (status ``ok``)."""
        return self.one.status == "ok" and self.other is not None and self.other.status == "ok"


def pairs_of_records(a: Record, b: Record) -> list[Pair]:
    """Return every case of A with the case of the same benchmark, tokenizer, text and parameters in B, or None.

    Raises:
        InputError: no case of A is in B.
    """
    counterparts = {result.case.key: result for result in b.results}
    pairs = [Pair(a, one, b, counterparts.get(one.case.key)) for one in a.results]
    if not any(pair.other for pair in pairs):
        raise InputError("the two records share no case: they need the same tokenizers, corpora and benchmarks")
    return pairs


def pairs_of_rows(record: Record, first: str, second: str, *others: str) -> list[Pair]:
    """Return every case of the first tokenizer of a record with the same case of each of the others, or None.

    Raises:
        InputError: the record has no such tokenizer, the first is among the others, or two have no case in common.
    """
    labels = list(record.data["tokenizers"])
    for label in (first, second, *others):
        if label not in labels:
            raise suggest("tokenizer in this record", label, labels)
    if first in (second, *others):
        raise InputError(f"tokenizer {first[:200]!r} is named on both sides: name another to compare it with")
    pairs: list[Pair] = []
    mine = [one for one in record.results if one.case.tokenizer == first]
    for name in dict.fromkeys((second, *others)):
        counterparts = {_without_row(result): result for result in record.results if result.case.tokenizer == name}
        both = [Pair(record, one, record, counterparts.get(_without_row(one))) for one in mine]
        if not any(pair.other for pair in both):
            raise InputError(f"the record has no case of both {first!r} and {name!r}")
        pairs += both
    return pairs


def _without_row(result: CaseResult) -> tuple[str, str | None, str]:
    return result.case.benchmark, result.case.corpus, str(sorted(result.case.parameters.items()))


def metrics_of(pair: Pair) -> Mapping[str, Any]:
    """Return the records' facts of the metrics of both sides."""
    return {**pair.a.data["metrics"], **pair.b.data["metrics"]}


def says(name: str, metric: Mapping[str, Any], fact: str) -> bool:
    """Return a record's fact about a metric; for an older record without this fact, the registry's."""
    return bool(metric[fact] if fact in metric else getattr(all_metrics().get(name), fact, False))


# --------------------------------------------------------- states, which may be large: each is opened and checked once


class States(contextlib.ExitStack):
    """States by record, opened on demand and closed together."""

    def __init__(self) -> None:
        super().__init__()
        self._opened: dict[int, StateReader | NoState] = {}

    def of(self, record: Record, result: CaseResult) -> State:
        """Return the arrays of a case; raise ``NoState`` if there are none."""
        if id(record) not in self._opened:
            try:
                self._opened[id(record)] = self.enter_context(record.state())
            except NoState as lack:
                self._opened[id(record)] = lack
        state = self._opened[id(record)]
        if isinstance(state, NoState):
            raise state
        return state.of(result.case.key)


# ---------------------------------------------------------------------------------------------- documents


def by_documents(pair: Pair, found: Sequence[Difference], states: States) -> list[Difference]:
    """Add the test of the documents, or the reason why it decides nothing, to unjudged metrics that count tokens."""
    metrics = metrics_of(pair)
    open_ = [one.unjudged and says(one.metric, metrics[one.metric], "counts_tokens") for one in found]
    if not any(open_):
        return list(found)
    assert pair.other is not None  # noqa: S101 -- it is measured
    ranks: SignedRanks | str
    try:
        ranks = signed_ranks(*paired_lengths(states.of(pair.a, pair.one), states.of(pair.b, pair.other)))
    except InputError as lack:
        ranks = f"no test of its documents: {lack}"
    return [_with(one, ranks) if wanted else one for one, wanted in zip(found, open_, strict=True)]


def _with(one: Difference, ranks: SignedRanks | str) -> Difference:
    if isinstance(ranks, str):
        return replace(one, no_interval="; ".join(filter(None, (one.no_interval, ranks))))
    judged = replace(one, ranks=ranks)
    if judged.judged_by_ranks:
        return judged
    if ranks.differing < FEWEST:
        why = f"a signed-rank test needs {FEWEST} documents that differ in tokens, {ranks.differing} do"
    elif ranks.decides:
        why = f"{said_of(ranks)}, which is of the other sign: long documents outweigh the others"
    else:
        why = said_of(ranks)
    return replace(judged, no_interval="; ".join(filter(None, (one.no_interval, why))))


# ---------------------------------------------------------------------------------------------- differences


def records(a: Record, b: Record) -> list[Difference]:
    """Return differences of every case that both records hold.

    Raises:
        InputError: as ``pairs_of_records``, ``differences`` and ``some`` say.
    """
    return some(differences(pairs_of_records(a, b)))


def rows(record: Record, first: str, second: str, *others: str) -> list[Difference]:
    """Return differences of tokenizers of one record, each of the others with the first.

    Raises:
        InputError: as ``pairs_of_rows``, ``differences`` and ``some`` say.
    """
    return some(differences(pairs_of_rows(record, first, second, *others)))


def differences(pairs: Iterable[Pair], metric: str | None = None) -> list[Difference]:
    """Return the difference of every metric that both sides of a measured pair have.

    Of two records, only deterministic metrics and those measured in turn are compared.

    With ``metric``, return that one alone, of the whole case, and without the test of the documents: rankings need many
    such pairs, and judge those without an interval by groups of documents.

    Raises:
        InputError: the sides of a pair read different texts, or put their documents into other groups.
    """
    measured = [(pair, list(_differences(pair, metric))) for pair in pairs if pair.measured]
    if metric is not None:
        return [replace(one, primary=False) for _, numbers in measured for one in numbers]
    with States() as states:
        return [one for pair, numbers in measured for one in by_documents(pair, numbers, states)]


def some(found: list[Difference]) -> list[Difference]:
    """Return differences; raise ``InputError`` if there are none."""
    if not found:
        raise InputError(
            "no metric that can be compared was measured on both sides: there is nothing to compare; "
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
    """Refuse to pair replicates of different groups: of works on one side, of documents on the other.

    A record groups a text in one way, so any of its cases can tell how. If only one record tells, the grouping is taken
    to be the same, unless the text has works, which older records ignored.
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
        "so that no interval pairs them: one record is older than groups of works; measure it again"
    )


def _documents(record: Record, wanted: CaseResult) -> tuple[int, ...] | None:
    """Return documents by group, of the text of a case; None if no case of the record has them."""
    for result in (wanted, *record.results):
        if "documents" in result.groups and (result.case.corpus, result.tally) == (wanted.case.corpus, wanted.tally):
            return result.groups["documents"]
    return None


def _difference(
    title: str, mine: Measurement, match: Measurement, metric: Mapping[str, Any], *, in_turn: bool
) -> Difference:
    no_interval = None
    if in_turn:  # of the median, over rounds, of the second's excess over the first
        excesses = [other - one for one, other in zip(mine.samples, match.samples, strict=False)]
        interval = median_interval(excesses[:MOST_SAMPLES])
    elif (interval := paired_interval(mine, match)) is None:
        no_interval = paired_lack(mine, match)
    pairs = zip(mine.curve, match.curve, strict=False)
    return Difference(
        title, mine.metric, mine.part, mine.value, match.value, interval, metric["direction"],
        metric.get("tolerance", 0.0), says(mine.metric, metric, "grows_with_text"),
        says(mine.metric, metric, "exact"), metric["deterministic"],
        tuple(None if a is None or b is None else b - a for a, b in pairs),
        no_interval, says(mine.metric, metric, "primary"),
    )  # fmt: skip

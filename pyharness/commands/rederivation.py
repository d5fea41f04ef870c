"""Numbers of a record computed again from its state, and compared; other values are checked where that is possible."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from pyharness import store
from pyharness.benchmarks import Role, benchmarks
from pyharness.metrics import all_metrics
from pyharness.running.run_record import TextsRead, with_relative
from pyharness.statistics.jackknife import rounded
from pyharness.store import Record, StateReader
from pyharness.types import CaseResult, InputError, Metric, counted

MISSING: Any = object()


@dataclass(slots=True)
class LeafComparison:
    """Counts equal values, and names different ones."""

    due: str = "from the state"  # source of the other values
    values: int = 0
    differences: list[str] = field(default_factory=list)

    def compare(self, name: str, recorded: Any, derived: Any) -> None:
        """Compare two values, leaf by leaf."""
        if isinstance(recorded, dict) and isinstance(derived, dict):
            for key in recorded | derived:
                self.compare(f"{name}.{key}", recorded.get(key, MISSING), derived.get(key, MISSING))
        elif isinstance(recorded, list) and isinstance(derived, list) and len(recorded) == len(derived):
            for index, pair in enumerate(zip(recorded, derived, strict=True)):
                self.compare(f"{name}[{index}]", *pair)
        else:
            self.values += 1
            if recorded is MISSING or derived is MISSING or recorded != derived:
                self.differences.append(f"{name}: {shortened(recorded)} in the record, {shortened(derived)} {self.due}")


def plain(value: Any) -> Any:
    """Return a value as it is after writing and reading it as JSON."""
    return value if value is MISSING else json.loads(json.dumps(value, default=float))


def shortened(value: Any) -> str:
    """Return a value shortened to fit a line."""
    text = "nothing" if value is MISSING else json.dumps(value)
    return text if len(text) <= 80 else text[:77] + "..."


# ---------------------------------------------------------------------------------------------- the numbers of cases


TIMES = "measured times"
_SENTENCES = ("reason", "no_interval", "no_pair")  # of a measurement
_NUMBER = re.compile(r"\d+(?:[,.]\d+)*")
NO_STATE = "it left no state"
_COMPARED_ELSEWHERE = ("tally",)  # with the other cases of its text


@dataclass(frozen=True, slots=True)
class Rederived:
    """The result for one measured case."""

    result: CaseResult  # as recorded
    values: int = 0  # numbers computed again: values, replicates and such
    differences: tuple[str, ...] = ()
    underivable: str | None = None  # why its numbers cannot be computed again
    unchecked: tuple[str, ...] = ()  # metrics and details that were not checked
    derived: CaseResult | None = None


def rederived_cases(record: Record, states: StateReader) -> Iterator[Rederived]:
    """Compute every measured case of a record again, if its benchmark can.

    Raises:
        NoState: the state is damaged.
        InputError: the arrays of a case contradict each other.
    """
    measured = {result.case.key: result for result in record.results if result.status == "ok"}
    outcomes = {key: _derive(result, states) for key, result in measured.items()}
    derived = {key: result for key, result in outcomes.items() if isinstance(result, CaseResult)}
    reference = record.data["suite"].get("reference")
    again = {result.case.key: result for result in with_relative([*derived.values()], reference)}
    with_state = {result.case.benchmark for result in derived.values()}
    details = {
        result.case.key: data["details"] for result, data in zip(record.results, record.data["results"], strict=True)
    }
    for key, result in measured.items():
        reason = outcomes[key]
        if not isinstance(reason, str):
            yield _compare(record, result, again[key], details[key])
        elif reason == NO_STATE and result.case.benchmark in with_state:
            yield Rederived(result, 1, (f"{NO_STATE}, as other cases of its benchmark have",))
        else:
            yield Rederived(result, underivable=reason)


def _derive(result: CaseResult, states: StateReader) -> CaseResult | str:
    """Return a case computed again, or the reason why it cannot be."""
    benchmark = benchmarks().get(result.case.benchmark)
    if benchmark is None:
        return f"no benchmark {result.case.benchmark!r} is installed here"
    if benchmark.rederive is None:
        return benchmark.underivable or (TIMES if benchmark.timed else "the benchmark does not say how")
    if result.case.key not in states:
        return NO_STATE
    try:
        findings = benchmark.rederive(states.of(result.case.key), result.case)
    except InputError:
        raise
    except Exception as error:  # arithmetic on the arrays of a plug-in, or of an edited state
        message = f"{type(error).__name__}: {str(error)[:200]}"
        raise InputError(f"case {result.case.key!r} cannot be computed from its state: {message}") from None
    groups = store.groups_of(findings.details)
    return CaseResult(result.case, "ok", findings.reason, findings.measurements, findings.details, groups=groups)


def _compare(record: Record, recorded: CaseResult, derived: CaseResult, details: Mapping[str, Any]) -> Rederived:
    """Compare to the last bit, except replicates: older records hold more digits of them."""
    comparison = LeafComparison()
    metrics = record.data["metrics"]
    comparison.compare("reason", _numbers_in(recorded.reason), _numbers_in(derived.reason))
    sides = [
        {
            (one.metric, one.part): plain(store.measurement_as_json(replace(one, replicates=rounded(one.replicates))))
            for one in side.measurements
        }
        for side in (recorded, derived)
    ]
    unchecked = []
    for metric, part in sides[0] | sides[1]:
        if not is_determined(metric, metrics):
            unchecked.append(metric)
            continue
        if metric in store.LIFTED and metric not in metrics and (metric, part) not in sides[1]:
            continue  # an older record: its state lacks this
        name = metric if part is None else f"{metric} ({part})"
        recorded_one, derived_one = (_without_names(side.get((metric, part), MISSING)) for side in sides)
        comparison.compare(name, recorded_one, _as_old(derived_one, recorded_one))
    due = plain(dict(derived.details))
    for name, value in due.items():
        if name in store.ADDED_DETAILS and name not in details:
            continue  # an older record
        comparison.compare(f"details.{name}", plain(details.get(name, MISSING)), value)
    unchecked += [f"details.{name}" for name in details if name not in due and name not in _COMPARED_ELSEWHERE]
    seen = tuple(dict.fromkeys(unchecked))
    return Rederived(recorded, comparison.values, tuple(comparison.differences), None, seen, derived)


def is_determined(metric: str, described: Mapping[str, Any]) -> bool:
    """Return whether the text alone determines a metric. Of an unknown metric the record says so."""
    if (about := all_metrics().get(metric)) is not None:
        return about.deterministic
    return bool(described.get(metric, {}).get("deterministic", True))


def _as_old(derived: Any, recorded: Any) -> Any:
    """Return a derived value in the form of an older pyharness, which gave intervals that are now left out."""
    if recorded is MISSING or derived is MISSING:
        return derived
    if "no_pair" in derived and "no_pair" not in recorded:
        derived = {key: derived[key] for key in derived if key not in ("no_pair", "no_interval")}
        derived |= {key: recorded[key] for key in ("no_interval",) if key in recorded}
    if "no_interval" not in derived or "no_interval" in recorded:
        return derived
    kept = {key: derived[key] for key in derived if key != "no_interval"}
    return {key: recorded[key] for key in ("replicates",) if key in recorded} | kept


def _without_names(measurement: Any) -> Any:
    if measurement is MISSING:
        return MISSING
    values = {name: value for name, value in measurement.items() if name not in ("metric", "part")}
    return values | {name: _numbers_in(values[name]) for name in _SENTENCES if name in values}


def _numbers_in(sentence: str | None) -> list[str] | None:
    """Return the numbers of a sentence for people: another pyharness has other words for it."""
    return None if sentence is None else _NUMBER.findall(sentence)


# -------------------------------------------------------------------------------------------- other values of a record


# The facts of a metric that decide ranks and verdicts. Summaries are words for people: an older pyharness had others.
DECISIVE = tuple(member.name for member in fields(Metric) if member.name not in ("name", "summary", "format"))


def metric_differences(record: Record) -> tuple[list[str], list[str]]:
    """Return the definitions in which a record differs from this program, and the metrics unknown to the program."""
    described, metrics = record.data["metrics"], all_metrics()
    comparison = LeafComparison("in this pyharness")
    unrecorded = [fact for fact in DECISIVE if all(fact not in about for about in described.values())]
    for name in sorted(described.keys() & metrics.keys()):
        for fact in DECISIVE:
            if fact not in unrecorded:  # an older record has it for no metric
                due = getattr(metrics[name], fact)
                comparison.compare(f"metrics.{name}.{fact}", described[name].get(fact, MISSING), due)
    reported = {measurement.metric for result in record.results for measurement in result.measurements}
    for name in sorted(reported - described.keys() - store.LIFTED):
        comparison.differences.append(f"metrics.{name}: it is measured, and the record does not define it")
    for name in sorted(described.keys() - reported):
        comparison.differences.append(f"metrics.{name}: the record defines it, and no case has measured it")
    return comparison.differences, sorted(described.keys() - metrics.keys())


def case_name_differences(record: Record, cases_of_state: Collection[str]) -> Iterator[str]:
    """Yield cases whose state, name, row or text does not fit the rest of the record."""
    status = {result.case.key: result.status for result in record.results}
    for key in cases_of_state:
        if key not in status:
            yield f"case {key!r}: the state has it, and the record lacks it"
        elif status[key] != "ok":
            yield f"case {key!r}: the state has its numbers, and it is {status[key]} in the record"
    for result, data in zip(record.results, record.data["results"], strict=True):
        key, case = result.case.key, result.case
        if data.get("key") != key:
            yield f"case {key!r}: the record calls it {shortened(data.get('key'))}"
        if case.tokenizer not in record.data["tokenizers"]:
            yield f"case {key!r}: the record says nothing of the row {case.tokenizer!r}"
        if case.corpus is not None and case.corpus not in record.data["corpora"]:
            yield f"case {key!r}: the record says nothing of the text {case.corpus!r}"


def suite_differences(record: Record) -> Iterator[str]:
    """Yield the problem of a suite that does not match its digest."""
    declared = {name: value for name, value in record.data["suite"].items() if name != "digest"}
    if "digest" in record.data["suite"]:
        due = hashlib.sha256(json.dumps(declared, sort_keys=True).encode()).hexdigest()
        if record.data["suite"]["digest"] != due:
            yield "suite: it was changed, its digest is another"


def text_differences(record: Record, derived: Sequence[Rederived]) -> Iterator[str]:
    """Yield accounts of texts that contradict each other, or the sums in the state."""
    read = TextsRead()
    for result in record.results:
        if result.status == "ok" and result.case.benchmark in benchmarks():
            checked = read.checked(result)
            if checked.status != "ok":
                yield f"{result.case.key}: tally: its digests are not those of the cases before it"
    for one in derived:
        yield from _against_sums(one)
    for label, about in record.data["corpora"].items():
        of_it = [result for result in record.results if result.case.corpus == label and result.tally is not None]
        yield from _against_text(label, about, of_it)


def _against_sums(one: Rederived) -> Iterator[str]:
    """Compare the tally of a whole text with the sums by group of its documents."""
    groups = {} if one.derived is None else one.derived.groups
    if one.result.tally is None or not {"pieces", "bytes"} <= groups.keys() or not _reads_whole(one.result):
        return
    tally, unspelled = one.result.tally, sum(groups.get("unspelled", ()))
    due = sum(groups["bytes"]) + unspelled  # no sum has the bytes of unspelled texts: one each at least
    comparison = LeafComparison()
    comparison.compare("tally.documents", tally.documents, sum(groups["pieces"]))
    comparison.compare("tally.bytes", tally.bytes, max(due, tally.bytes) if unspelled else due)
    yield from (f"{one.result.case.key}: {difference}" for difference in comparison.differences)


def _against_text(label: str, about: Mapping[str, Any], results: Sequence[CaseResult]) -> Iterator[str]:
    whole = [result for result in results if _reads_whole(result)]
    fronts = [one for one in results if (known := benchmarks().get(one.case.benchmark)) and known.role is Role.VERIFIES]
    tally = about.get("tally")
    if (readers := whole or fronts) and not any(_account(result) == tally for result in readers):
        yield f"corpora.{label}.tally: no case that read the text has it"
    if readers and about.get("whole", bool(whole)) is not bool(whole):
        recorded, due = shortened(about.get("whole")), shortened(bool(whole))
        yield f"corpora.{label}.whole: {recorded} in the record, {due} by its cases"
    for result in whole:
        if result.status == "ok" and tally is not None and _account(result) != tally:
            yield f"{result.case.key}: tally: it is not that of {label!r}"


def _account(result: CaseResult) -> dict[str, Any] | None:
    return None if result.tally is None else store.text_read_as_json(result.tally)


def _reads_whole(result: CaseResult) -> bool:
    benchmark = benchmarks().get(result.case.benchmark)
    return benchmark is not None and benchmark.whole_text


# ---------------------------------------------------------------------------------------------- a whole record


# Values that nothing here can verify: they stand as recorded.
UNCHECKED = "date, machine and duration; facts of rows, and of texts except tallies; summaries of metrics"


@dataclass(frozen=True, slots=True)
class Rederivation:
    """The result of computing a record again."""

    cases: Sequence[Rederived]
    differences: Sequence[str]  # in values other than the numbers
    unchecked: Sequence[str]  # values that stand as recorded

    @property
    def differs(self) -> bool:
        """Whether any value differs from its expected one."""
        return bool(self.differences) or any(case.differences for case in self.cases)


def rederive(record: Record) -> Rederivation:
    """Compute the numbers of a record again, as far as benchmarks can, and check the record's other values.

    Raises:
        NoState: the record has no state, or one that is damaged or of another run.
        InputError: the arrays of a case contradict each other.
    """
    with record.state() as states:
        derived = list(rederived_cases(record, states))
        missing = list(case_name_differences(record, states.cases))
    differing, unknown = metric_differences(record)
    differences = [*missing, *suite_differences(record), *differing, *text_differences(record, derived)]
    return Rederivation(derived, differences, list(_note_unchecked(record, derived, unknown)))


def _note_unchecked(record: Record, derived: Sequence[Rederived], unknown: Sequence[str]) -> Iterator[str]:
    as_recorded = Counter((one.result.case.benchmark, name) for one in derived for name in one.unchecked)
    for (benchmark, name), times in as_recorded.items():
        yield f"{benchmark}: {name} of {counted(times, 'case')}"
    if unknown:
        yield f"definitions of metrics that are not known here: {', '.join(unknown)}"
    without = Counter(result.status for result in record.results if result.status != "ok")
    yield from (f"reasons of {counted(times, f'{status} case')}" for status, times in without.items())
    yield UNCHECKED


# ------------------------------------------------------------------------------------------------- lines for people


MOST_LINES = 20  # of the differences of one case, and of those apart from numbers


def lines(found: Rederivation) -> Iterator[str]:
    """Report the differences, the count of equal values, what cannot be derived and why, and what is unchecked."""
    equal: dict[str, list[int]] = {}
    underivable: Counter[tuple[str, str]] = Counter()
    for one in found.cases:
        if one.underivable is not None:
            underivable[one.result.case.benchmark, one.underivable] += 1
        elif one.differences:
            yield f"{one.result.case.key}: {len(one.differences):,} of {one.values:,} values differ"
            yield from _first(one.differences)
        else:
            equal.setdefault(one.result.case.benchmark, []).append(one.values)
    if found.differences:
        yield f"apart from the numbers: {counted(len(found.differences), 'difference')}"
        yield from _first(found.differences)
    for benchmark, sizes in equal.items():
        yield f"{benchmark}: {counted(len(sizes), 'case')}, {sum(sizes):,} values equal to the last bit"
    for (benchmark, reason), count in underivable.items():
        yield f"{benchmark}: {counted(count, 'case')} not derivable: {reason}"
    yield from (f"unchecked: {one}" for one in found.unchecked)


def _first(differences: Sequence[str]) -> Iterator[str]:
    yield from (f"  {difference}" for difference in differences[:MOST_LINES])
    if len(differences) > MOST_LINES:
        yield f"  and {len(differences) - MOST_LINES:,} more"

"""Benchmarks whose rows can take turns: the parameters they add, and one result of all their rounds.

With ``rounds=N`` the runner measures a case N times, each in a fresh process, in turn with the same case of all other
rows: round by round, in changing order. With ``reference=ROW``, or the reference of the suite, every round gives a
ratio to that row's figure of the same round.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pyharness.benchmarks import benchmarks
from pyharness.metrics import all_metrics
from pyharness.statistics.rounds import mean_ratio, ratios
from pyharness.statistics.samples import median
from pyharness.types import Case, CaseResult, Failure, InputError, Measurement, TokenizerSpec

PARAMETERS: Mapping[str, Any] = {"rounds": 0, "reference": ""}  # no rounds; the reference of the suite


def settle(parameters: Mapping[str, Any], row: TokenizerSpec, device: str) -> Mapping[str, Any]:
    """Drop parameters that are off: such a case keeps the key of older records.

    Raises:
        InputError: there is a reference, and no rounds.
    """
    del row, device
    if parameters["reference"] and not parameters["rounds"]:
        raise InputError(
            f"reference = {parameters['reference']!r} takes rounds: ratios are formed within a round; add rounds = 10"
        )
    return {name: value for name, value in parameters.items() if name not in PARAMETERS or value}


def rounds_of(case: Case) -> int:
    """Return the rounds in which a case takes turns with other rows; 0: it is measured once, by itself."""
    declared = benchmarks()[case.benchmark].parameters
    return int(case.parameters.get("rounds", 0)) if declared.keys() >= PARAMETERS.keys() else 0


def joined(results: Sequence[CaseResult], fingerprints: Sequence[str]) -> CaseResult:
    """Join all rounds of a case into one result: medians of timed figures, with the figure of every round as a sample.

    ``fingerprints`` identify the timed ids or files of each round: if two differ, there is no number. The result is the
    first round that is not ok, if any.
    """
    first = results[0]
    for number, (result, fingerprint) in enumerate(zip(results, fingerprints, strict=True), 1):
        if result.status != "ok":
            return replace(result, reason=f"round {number}: {result.reason}") if len(results) > 1 else result
        if fingerprint != fingerprints[0]:
            return _fail_contradicted(first.case, number, "different ids or files")
        if _metric_parts(result) != _metric_parts(first):
            return _fail_contradicted(first.case, number, "other measurements")
    measurements = []
    for one in zip(*(result.measurements for result in results), strict=True):
        if (measurement := _over_rounds(one)) is None:
            return _fail_contradicted(first.case, len(results), f"another {one[0].metric}")
        measurements.append(measurement)
    details = {"rounds": [dict(result.details) for result in results]}
    return replace(first, measurements=tuple(measurements), details=details)


def _metric_parts(result: CaseResult) -> list[tuple[str, str | None]]:
    return [(one.metric, one.part) for one in result.measurements]


def _fail_contradicted(case: Case, number: int, what: str) -> CaseResult:
    reason = f"round {number} gave {what} than the first, on the same text"
    return CaseResult(case, "failed", reason, failure=Failure.WRONG)


def _over_rounds(measurements: Sequence[Measurement]) -> Measurement | None:
    """Return one number of several rounds; None if a number that the text determines differs."""
    first = measurements[0]
    values = [measurement.value for measurement in measurements]
    if all_metrics()[first.metric].deterministic:
        return first if len(set(values)) == 1 else None
    samples = tuple(value for value in values if value is not None)
    if len(samples) < len(values):
        return next(one for one in measurements if one.value is None)
    return replace(first, value=median(samples), samples=samples)


def relative_to(names: Mapping[str, str]) -> Callable[[CaseResult, CaseResult | None, str], list[Measurement]]:
    """Return a function for ``Benchmark.relative``: ``names`` maps the metric of a figure to that of its ratio."""

    def relative(result: CaseResult, home: CaseResult | None, reference: str) -> list[Measurement]:
        if not rounds_of(result.case):
            return []
        theirs = {} if home is None else {(one.metric, one.part): one for one in home.measurements}
        measurements = []
        for one in result.measurements:
            if (name := names.get(one.metric)) is None or one.value is None:
                continue
            other = theirs.get((one.metric, one.part))
            if other is None or other.value is None:
                reason = _lack(one.metric, home, other, reference)
                measurements.append(Measurement(name, None, reason=reason, part=one.part))
            else:
                measurements.append(_ratio(name, one, other, reference))
        return measurements

    return relative


def no_ratio(names: Mapping[str, str]) -> Callable[[Sequence[CaseResult], Mapping[str, Any]], Iterator[str]]:
    """Return the note of a table on missing ratios, once for all rows; ``names`` as in ``relative_to``."""

    def note(results: Sequence[CaseResult], data: Mapping[str, Any]) -> Iterator[str]:
        del data
        numbers = (one for result in results for one in result.measurements if one.metric in names.values())
        yield from dict.fromkeys(f"No ratio: {one.reason}." for one in numbers if one.value is None)

    return note


def _lack(metric: str, home: CaseResult | None, theirs: Measurement | None, reference: str) -> str:
    """Return the reason why there is nothing to divide by."""
    if home is not None and home.status != "ok":
        return f"the reference {reference!r} has no number ({home.status}: {home.reason})"
    reason = f"the reference {reference!r} has no {metric}"
    return reason if theirs is None or theirs.reason is None else f"{reason}: {theirs.reason}"


def _ratio(name: str, mine: Measurement, theirs: Measurement, reference: str) -> Measurement:
    times = (*mine.samples, *theirs.samples)
    if len(mine.samples) != len(theirs.samples) or not times or min(times) <= 0:
        return Measurement(name, None, reason=f"no paired rounds with the reference {reference!r}", part=mine.part)
    per_round = ratios(mine.samples, theirs.samples)
    return Measurement(name, mean_ratio(per_round), part=mine.part, samples=per_round, paired=True)

"""The numbers of cases, computed again from their states."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pyharness import store
from pyharness.benchmarks import benchmarks
from pyharness.commands.rederiving.comparing import MISSING, Comparison, plain
from pyharness.metrics import all_metrics
from pyharness.running import rounds
from pyharness.statistics.jackknife import rounded
from pyharness.store import Record, StateReader
from pyharness.types import CaseResult, InputError

TIMES = "measured times"
NO_STATE = "it left no state"
_COMPARED_ELSEWHERE = ("tally",)  # with the other cases of its text


@dataclass(frozen=True, slots=True)
class Rederived:
    """The outcome for one measured case."""

    result: CaseResult  # as recorded
    values: int = 0  # values, replicates and such, that were computed again
    differences: tuple[str, ...] = ()
    underivable: str | None = None  # why its numbers cannot be computed again
    unchecked: tuple[str, ...] = ()  # metrics and details that stand as recorded
    derived: CaseResult | None = None


def cases(record: Record, states: StateReader) -> Iterator[Rederived]:
    """Compute every measured case of a record again, as far as its benchmark says how.

    Raises:
        NoState: the state is damaged.
        InputError: the arrays of a case contradict each other.
    """
    measured = {result.case.key: result for result in record.results if result.status == "ok"}
    known = {key: _derived(result, states) for key, result in measured.items()}
    derived = {key: result for key, result in known.items() if isinstance(result, CaseResult)}
    reference = record.data["suite"].get("reference")
    again = {result.case.key: result for result in rounds.with_relative([*derived.values()], reference)}
    with_state = {result.case.benchmark for result in derived.values()}
    details = {
        result.case.key: data["details"] for result, data in zip(record.results, record.data["results"], strict=True)
    }
    for key, result in measured.items():
        reason = known[key]
        if not isinstance(reason, str):
            yield _compared(record, result, again[key], details[key])
        elif reason == NO_STATE and result.case.benchmark in with_state:
            yield Rederived(result, 1, (f"{NO_STATE}, as other cases of its benchmark have",))
        else:
            yield Rederived(result, underivable=reason)


def _derived(result: CaseResult, states: StateReader) -> CaseResult | str:
    """A case computed again, or why it cannot be."""
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
    except Exception as error:  # arithmetic on arrays of a plug-in, or of another's hand
        said = f"{type(error).__name__}: {str(error)[:200]}"
        raise InputError(f"case {result.case.key!r} cannot be computed from its state: {said}") from None
    groups = store.groups_of(findings.details)
    return CaseResult(result.case, "ok", findings.reason, findings.measurements, findings.details, groups=groups)


def _compared(record: Record, recorded: CaseResult, derived: CaseResult, details: Mapping[str, Any]) -> Rederived:
    """Equal to the last bit, but for replicates: older records hold more digits of them."""
    comparison = Comparison()
    metrics = record.data["metrics"]
    comparison.compare("reason", recorded.reason, derived.reason)
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
            continue  # an older record: its state does not say
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
    """Whether the text determines a metric: this program knows, and of what it does not know, the record says it."""
    if (about := all_metrics().get(metric)) is not None:
        return about.deterministic
    said: bool = described.get(metric, {}).get("deterministic", True)
    return said


def _as_old(derived: Any, recorded: Any) -> Any:
    """Return what is derived as an older pyharness wrote it, which saw an interval where there is none."""
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
    return {name: value for name, value in measurement.items() if name not in ("metric", "part")}

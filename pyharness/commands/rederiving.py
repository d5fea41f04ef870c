"""A record's numbers computed again from the state beside it, and what differs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from pyharness import store
from pyharness.benchmarks import benchmarks
from pyharness.running import relative
from pyharness.statistics.jackknife import rounded
from pyharness.store import Record, StateReader
from pyharness.types import CaseResult, InputError

TIMES = "measured times"
_MISSING: Any = object()


@dataclass(frozen=True, slots=True)
class Rederived:
    """The outcome for one measured case."""

    result: CaseResult  # as recorded
    values: int = 0  # values, replicates and such, that were computed again
    differences: tuple[str, ...] = ()
    underivable: str | None = None  # why its numbers cannot be computed again


@dataclass(slots=True)
class _Comparison:
    """Recorded JSON values against derived ones."""

    values: int = 0
    differences: list[str] = field(default_factory=list)

    def compare(self, name: str, recorded: Any, derived: Any) -> None:
        """Count what is equal, and name what is not."""
        if isinstance(recorded, dict) and isinstance(derived, dict):
            for key in recorded | derived:
                self.compare(f"{name}.{key}", recorded.get(key, _MISSING), derived.get(key, _MISSING))
        elif isinstance(recorded, list) and isinstance(derived, list) and len(recorded) == len(derived):
            for index, pair in enumerate(zip(recorded, derived, strict=True)):
                self.compare(f"{name}[{index}]", *pair)
        else:
            self.values += 1
            if recorded is _MISSING or derived is _MISSING or recorded != derived:
                self.differences.append(f"{name}: {_shown(recorded)} in the record, {_shown(derived)} from the state")


def rederive(record: Record) -> Iterator[Rederived]:
    """Compute every case of a record again, as far as its benchmark says how.

    Raises:
        NoState: there is no state beside the record, or it is damaged, or of another run.
        InputError: the arrays of a case contradict each other.
    """
    measured = [result for result in record.results if result.status == "ok"]
    with record.state() as states:
        known = {result.case.key: _derived(result, states) for result in measured}
    derived = {key: result for key, result in known.items() if isinstance(result, CaseResult)}
    reference = record.data["suite"].get("reference")
    again = {result.case.key: result for result in relative.add([*derived.values()], reference)}
    for result in measured:
        state_or_reason = known[result.case.key]
        if isinstance(state_or_reason, str):
            yield Rederived(result, underivable=state_or_reason)
        else:
            comparison = _compared(record, result, again[result.case.key])
            yield Rederived(result, comparison.values, tuple(comparison.differences))


def _derived(result: CaseResult, states: StateReader) -> CaseResult | str:
    """A case computed again, or why it cannot be."""
    benchmark = benchmarks().get(result.case.benchmark)
    if benchmark is None:
        return f"no benchmark {result.case.benchmark!r} is installed here"
    if benchmark.rederive is None:
        return benchmark.underivable or (TIMES if benchmark.timed else "the benchmark does not say how")
    if result.case.key not in states:
        return "it left no state"
    try:
        findings = benchmark.rederive(states.of(result.case.key), result.case)
    except InputError:
        raise
    except Exception as error:  # arithmetic on arrays of a plug-in, or of another's hand
        said = f"{type(error).__name__}: {str(error)[:200]}"
        raise InputError(f"case {result.case.key!r} cannot be computed from its state: {said}") from None
    groups = store.groups_of(findings.details)
    return CaseResult(result.case, "ok", None, findings.measurements, findings.details, groups=groups)


def _compared(record: Record, recorded: CaseResult, derived: CaseResult) -> _Comparison:
    """Equal to the last bit, but for replicates: older records hold more digits of them."""
    comparison = _Comparison()
    metrics = record.data["metrics"]
    sides = [
        {
            (one.metric, one.part): _plain(store.measurement_as_json(replace(one, replicates=rounded(one.replicates))))
            for one in side.measurements
            if metrics.get(one.metric, {}).get("deterministic", True)
        }
        for side in (recorded, derived)
    ]
    for metric, part in sides[0] | sides[1]:
        if metric in store.LIFTED and metric not in metrics and (metric, part) not in sides[1]:
            continue  # an older record: its state does not say
        name = metric if part is None else f"{metric} ({part})"
        values = [side.get((metric, part), _MISSING) for side in sides]
        comparison.compare(name, *(_without_names(value) for value in values))
    for name, value in _plain(dict(derived.details)).items():
        if name in store.ADDED_DETAILS and name not in recorded.details:
            continue  # an older record
        comparison.compare(f"details.{name}", _plain(recorded.details.get(name, _MISSING)), value)
    return comparison


def _without_names(measurement: Any) -> Any:
    if measurement is _MISSING:
        return _MISSING
    return {name: value for name, value in measurement.items() if name not in ("metric", "part")}


def _plain(value: Any) -> Any:
    """Return a value as it is once it has been written as JSON and read again."""
    return value if value is _MISSING else json.loads(json.dumps(value, default=float))


def _shown(value: Any) -> str:
    text = "nothing" if value is _MISSING else json.dumps(value)
    return text if len(text) <= 80 else text[:77] + "..."


# ---------------------------------------------------------------------------------------------- for people

MOST_LINES = 20  # of the differences of one case


def lines(results: Iterable[Rederived]) -> Iterator[str]:
    """Say what differs, what cannot be derived and why, and how much is equal."""
    equal: dict[str, list[int]] = {}
    underivable: dict[tuple[str, str], int] = {}
    for one in results:
        if one.underivable is not None:
            key = one.result.case.benchmark, one.underivable
            underivable[key] = underivable.get(key, 0) + 1
        elif one.differences:
            yield from _differing(one)
        else:
            equal.setdefault(one.result.case.benchmark, []).append(one.values)
    for benchmark, sizes in equal.items():
        yield f"{benchmark}: {_cases(len(sizes))}, {sum(sizes):,} values equal to the last bit"
    for (benchmark, reason), count in underivable.items():
        yield f"{benchmark}: {_cases(count)} not derivable: {reason}"


def _differing(one: Rederived) -> Iterator[str]:
    yield f"{one.result.case.key}: {len(one.differences):,} of {one.values:,} values differ"
    yield from (f"  {difference}" for difference in one.differences[:MOST_LINES])
    if len(one.differences) > MOST_LINES:
        yield f"  and {len(one.differences) - MOST_LINES:,} more"


def _cases(count: int) -> str:
    return f"{count:,} case" + "s" * (count != 1)

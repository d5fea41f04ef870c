"""A profile as cases of a record, and back: one per problem, implementation and phase, with its raw samples.

The row of a case is the implementation, its benchmark the kernel, its parameters the shape, dtype, device, threads and
phase. What is about no single case (device, roofs, notes, problems of a device that is not here) is the record's
``profile``.
"""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pyharness import store
from pyharness.features.profiling.measuring import Samples
from pyharness.features.profiling.record import COPY, OURS, READ, Missing, Outcome, ProfileRecord, Roof
from pyharness.features.profiling.types import REFERENCE, Floor, Phase, Problem
from pyharness.metrics import all_metrics
from pyharness.statistics.samples import StoppingRule
from pyharness.store.json_values import as_json, from_json, short
from pyharness.types import Case, CaseResult, Failure, InputError, Measurement

PROFILE_KIND = "pyharness-profile"
SCHEMA_WITH_CASES = 2
_FLOOR = ("bytes", "flop", "matrix_flop", "tokens")


# ---------------------------------------------------------------------------------------------- into a record


def header(record: ProfileRecord) -> dict[str, Any]:
    """Everything of a record but its kind, schema and results, as JSON values."""
    names = {measurement.metric for result in results(record) for measurement in result.measurements}
    created = dt.datetime.fromtimestamp(record.started, dt.UTC)
    return {
        "created": created.isoformat(timespec="seconds"),
        "seconds": round(max(0.0, time.time() - record.started), 3),
        "complete": record.finished,
        "suite": {"name": f"profile {record.kernel}", "benchmarks": [{"name": record.kernel, "parameters": {}}]},
        "environment": dict(record.environment),
        "tokenizers": {name: {"source": about} for name, about in {**_own(record), **record.peers}.items()},
        "corpora": {},
        "metrics": {name: _metric(name) for name in all_metrics() if name in names},
        "state": None,
        "profile": _profile(record),
    }


def _own(record: ProfileRecord) -> dict[str, str]:
    own = {OURS: "this package", COPY: "of as many bytes within the device, launch included: the memory roof"}
    if any(outcome.read_bytes for outcome in record.outcomes):
        own[READ] = "of as many bytes by a kernel that adds them up: the roof of kernels that only read"
    return own


def _metric(name: str) -> dict[str, Any]:
    metric = all_metrics()[name]
    keys = ("unit", "direction", "summary", "deterministic", "in_turn")
    return {key: getattr(metric, key) for key in keys}


def _profile(record: ProfileRecord) -> dict[str, Any]:
    return {
        "kernel": record.kernel,
        "device": dict(record.device),
        "matrix": {
            dtype: {"flop": roof.amount, **as_json(Samples, roof.samples)} for dtype, roof in record.matrix.items()
        },
        "peers": dict(record.peers),
        "notes": list(record.notes),
        "stopping_rule": as_json(StoppingRule, record.rule),
        "problems": [_problem(outcome) for outcome in record.outcomes],
        "not_measured": {
            "reason": record.unmeasured_reason,
            "reference": REFERENCE,
            "problems": [
                {
                    **as_json(Problem, problem),
                    "floor": as_json(Floor, floor),
                    "reference_seconds": floor.reference_seconds(problem.dtype),
                }
                for problem, floor in record.unmeasured
            ],
        },
    }


def _problem(outcome: Outcome) -> dict[str, Any]:
    return {
        **as_json(Problem, outcome.problem),
        "data": outcome.data,
        "copy_bytes": outcome.copy_bytes,
        "read_bytes": outcome.read_bytes,
        "floor": None if outcome.floor is None else as_json(Floor, outcome.floor),
        "status": outcome.status,
        "reason": outcome.reason,
    }


def as_data(profile: ProfileRecord) -> dict[str, Any]:
    """Return the record of a profile as JSON values; one that is not finished is not complete."""
    cases = [store.result_as_json(result) for result in results(profile)]
    return {"kind": PROFILE_KIND, "schema": store.SCHEMA, **header(profile), "results": cases}


def as_record(profile: ProfileRecord) -> store.Record:
    """Return the record of a profile as it is read from a file."""
    return store.Record.from_json(as_data(profile), "the profile")


def results(record: ProfileRecord) -> list[CaseResult]:
    """Cases of a profile, those without numbers too."""
    return [result for outcome in record.outcomes for result in _of_outcome(record, outcome)]


def _of_outcome(record: ProfileRecord, outcome: Outcome) -> Iterator[CaseResult]:
    for phase, lanes in outcome.samples.items():
        for name, samples in lanes.items():
            case = _case(record.kernel, name, outcome.problem, phase)
            if samples.reason is not None or not samples.seconds:
                reason = samples.reason or "there was no time for a sample"
                yield CaseResult(case, "failed", reason, failure=Failure.WRONG)
            else:
                yield CaseResult(case, "ok", None, tuple(_measurements(record, outcome, phase, name)))
    for name, missing in outcome.missing.items():
        yield CaseResult(_case(record.kernel, name, outcome.problem), missing.status, missing.reason)
    if outcome.reason is not None and not outcome.samples:
        yield CaseResult(_case(record.kernel, OURS, outcome.problem), outcome.status, outcome.reason)


def _case(kernel: str, name: str, problem: Problem, phase: Phase | None = None) -> Case:
    text = problem.text
    parameters: dict[str, Any] = {
        "shape": "x".join(map(str, problem.shape)),
        "dtype": problem.dtype,
        "device": problem.device,
        "threads": problem.threads,
    }
    if problem.variant:
        parameters["variant"] = problem.variant
    if text is not None:
        parameters["tokenizer"] = text.tokenizer
    if phase is not None:
        parameters["phase"] = phase
    return Case(kernel, name, None if text is None else text.corpus, parameters)


def _measurements(record: ProfileRecord, outcome: Outcome, phase: Phase, name: str) -> Iterator[Measurement]:
    samples, figures = outcome.samples[phase][name], outcome.figures(phase, name)
    if figures is None or outcome.floor is None:
        return
    ours = outcome.samples[phase].get(OURS, Samples()).seconds
    bytes_of = outcome.roof_bytes
    yield Measurement("call_seconds", figures.median_seconds, samples=samples.seconds)
    yield Measurement("floor_bytes_per_second", figures.bytes_per_second)
    for roof, share in ((COPY, figures.copy_share), (READ, figures.read_share)):
        if share is not None:
            scale = bytes_of.get(name, outcome.floor.bytes) / bytes_of[roof]
            moves = zip(samples.seconds, outcome.samples[phase][roof].seconds, strict=False)
            yield Measurement(f"{roof}_share", share, samples=tuple(scale * move / mine for mine, move in moves))
    if figures.times_ours is not None:
        longer = tuple(mine / other for mine, other in zip(samples.seconds, ours, strict=False))
        yield Measurement("times_ours", figures.times_ours, samples=longer)
    if figures.host_seconds is not None:
        yield Measurement("host_seconds", figures.host_seconds, samples=samples.host_seconds)
    yield Measurement("dropped_samples", samples.dropped)
    yield Measurement("low_clock_samples", len(samples.seconds) if samples.throttled else 0)
    if name == OURS and (bound := outcome.bound(phase, record.matrix.get(outcome.problem.dtype))) is not None:
        yield Measurement("bound_seconds", bound.seconds, part=bound.roof)
    if name not in bytes_of:
        yield from (Measurement(f"floor_{one}", getattr(outcome.floor, one)) for one in _FLOOR)


# ---------------------------------------------------------------------------------------------- out of a record


def check(data: Mapping[str, Any], name: str) -> None:
    """Refuse a profile of a schema without cases.

    Raises:
        InputError: an older version wrote it.
    """
    if data["schema"] < SCHEMA_WITH_CASES:
        raise InputError(
            f"{name} is a profile of an older pyharness, which has no cases: measure again with "
            f"pyharness profile {short(data.get('kernel')).strip(chr(34))} -o FILE"
        )


def of_record(data: Mapping[str, Any], cases: Sequence[CaseResult]) -> ProfileRecord:
    """Inverse of ``header`` and ``results``.

    Raises:
        KeyError, TypeError, ValueError, AttributeError: the record was edited into something else.
    """
    profile = data["profile"]
    absent = profile["not_measured"]
    return ProfileRecord(
        from_json(str, profile["kernel"], "kernel"),
        data["environment"],
        {dtype: Roof(one["flop"], from_json(Samples, one, dtype)) for dtype, one in profile["matrix"].items()},
        from_json(StoppingRule, profile["stopping_rule"], "stopping_rule"),
        profile["device"],
        tuple(_outcome(one, profile["kernel"], cases) for one in profile["problems"]),
        {name: from_json(str, about, name) for name, about in profile["peers"].items()},
        from_json(tuple[str, ...], profile["notes"], "notes"),
        data["complete"],
        tuple(
            (from_json(Problem, one, "problem"), from_json(Floor, one["floor"], "floor")) for one in absent["problems"]
        ),
        absent["reason"],
    )


def _outcome(data: Mapping[str, Any], kernel: str, cases: Iterable[CaseResult]) -> Outcome:
    problem = from_json(Problem, data, "problem")
    floor = None if data["floor"] is None else from_json(Floor, data["floor"], "floor")
    reason = None if data["reason"] is None else from_json(str, data["reason"], "reason")
    samples: dict[Phase, dict[str, Samples]] = {}
    missing: dict[str, Missing] = {}
    for result in cases:
        name, phase = result.case.tokenizer, result.case.parameters.get("phase")
        if result.case != _case(kernel, name, problem, phase):
            continue
        if phase is not None:
            samples.setdefault(phase, {})[name] = _samples_of(result)
        elif name != OURS:
            missing[name] = Missing(result.status, str(result.reason))
    roofs = data["copy_bytes"], data.get("read_bytes", 0)  # before this there was no roof but the copy
    return Outcome(problem, data["data"], floor, roofs[0], samples, missing, data["status"], reason, roofs[1])


def _samples_of(result: CaseResult) -> Samples:
    if result.status != "ok":
        return Samples(reason=str(result.reason))
    measured = {measurement.metric: measurement for measurement in result.measurements}
    throttled = bool(measured["low_clock_samples"].value)
    on_host = measured["host_seconds"].samples if "host_seconds" in measured else ()
    dropped = int(measured["dropped_samples"].value or 0)
    return Samples(measured["call_seconds"].samples, dropped, throttled, host_seconds=on_host)

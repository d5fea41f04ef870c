"""Results of cases as JSON values, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyharness.statistics.jackknife import GROUPS
from pyharness.store.older import lifted
from pyharness.store.shape import Misshapen, check_tally, get, number, number_or_null, short
from pyharness.types import Case, CaseResult, Failure, Measurement

_STATUSES = ("ok", "skipped", "failed")


def measurement_as_json(measurement: Measurement) -> dict[str, Any]:
    """Without the fields that are empty; ``value`` is always there."""
    content: dict[str, Any] = {"metric": measurement.metric, "value": measurement.value}
    for name in ("reason", "part", "no_interval"):
        if (value := getattr(measurement, name)) is not None:
            content[name] = value
    if measurement.paired:
        content["paired"] = True
    for name in ("samples", "replicates", "curve"):
        if values := getattr(measurement, name):
            content[name] = list(values)
    return content


def measurement_from_json(data: Mapping[str, Any]) -> Measurement:
    """Inverse of ``measurement_as_json``; raises ``Misshapen`` for what it cannot have written."""
    replicates = get(data, "replicates", list, default=[])
    if len(replicates) > GROUPS:
        raise Misshapen(f"'replicates' has {len(replicates)} values; there are {GROUPS} groups")
    return Measurement(
        get(data, "metric", str),
        number_or_null(get(data, "value", object), "value"),
        get(data, "reason", str, None, default=None),
        get(data, "part", str, None, default=None),
        tuple(number(one, "samples") for one in get(data, "samples", list, default=[])),
        tuple(number_or_null(one, "replicates") for one in replicates),
        no_interval=get(data, "no_interval", str, None, default=None),
        curve=tuple(number_or_null(one, "curve") for one in get(data, "curve", list, default=[])),
        paired=get(data, "paired", bool, default=False),
    )


def result_as_json(result: CaseResult) -> dict[str, Any]:
    """One case of a record."""
    return {
        "key": result.case.key,
        "benchmark": result.case.benchmark,
        "tokenizer": result.case.tokenizer,
        "corpus": result.case.corpus,
        "parameters": dict(result.case.parameters),
        "status": result.status,
        "reason": result.reason,
        "measurements": [measurement_as_json(measurement) for measurement in result.measurements],
        "details": dict(result.details) | ({} if result.failure is None else {"failure": result.failure.value}),
    }


def result_from_json(data: Mapping[str, Any]) -> CaseResult:
    """Inverse of ``result_as_json``; raises ``Misshapen`` for what it cannot have written."""
    corpus = get(data, "corpus", str, None)
    case = Case(get(data, "benchmark", str), get(data, "tokenizer", str), corpus, get(data, "parameters", dict))
    status = get(data, "status", str)
    if status not in _STATUSES:
        raise Misshapen(f"'status' is {short(status)}; known: {', '.join(_STATUSES)}")
    measurements = tuple(measurement_from_json(item) for item in get(data, "measurements", list))
    details = get(data, "details", dict)
    if status == "ok":
        measurements = (*measurements, *lifted(case.benchmark, measurements, details))
    check_tally(details)
    if "tally" in details and details["tally"] is None:  # a case that read no text has none
        details = {name: value for name, value in details.items() if name != "tally"}
    failure = details.get("failure") if status == "failed" else None
    if failure is not None and failure in tuple(Failure):
        details = {name: value for name, value in details.items() if name != "failure"}
        return CaseResult(case, status, get(data, "reason", str, None), measurements, details, Failure(failure))
    return CaseResult(case, status, get(data, "reason", str, None), measurements, details)

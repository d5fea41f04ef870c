"""Results of cases as JSON values, and back. Some measurements of older records are read from their details."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import pairwise
from typing import Any, TypeVar

from pyharness.statistics.jackknife import GROUPS
from pyharness.store import json_values
from pyharness.store.json_values import LARGEST, Misshapen, get, number, number_or_null, short, tally_of
from pyharness.types import Case, CaseResult, Failure, Histogram, Measurement, TextRead

# By benchmark: the path of keys in the details, and the metric. Records were written so until November 2026.
_LIFTED: Mapping[str, Sequence[tuple[tuple[str, ...], str]]] = {
    "integrity": (
        (("documents",), "checked_documents"),
        (("identical_ids", "documents"), "identical_documents"),
        (("identical_ids", "left_out"), "mapped_documents"),
    ),
    "fairness": ((("rows",), "aligned_rows"),),
}
_PARTS = {"aligned_rows": "reference"}  # metric -> key of the details that says what it is about
ADDED_DETAILS = frozenset({"histograms"})  # that older records lack
LIFTED = frozenset(metric for places in _LIFTED.values() for _, metric in places)


def lifted(benchmark: str, measurements: Sequence[Measurement], details: Mapping[str, Any]) -> Iterator[Measurement]:
    """Yield measurements that an older record keeps only in the details of a case."""
    measured = {measurement.metric for measurement in measurements}
    for keys, metric in _LIFTED.get(benchmark, ()):
        value: Any = details
        for key in keys:
            value = value.get(key) if isinstance(value, Mapping) else None
        if metric not in measured and isinstance(value, int) and not isinstance(value, bool):
            part = details.get(_PARTS.get(metric, ""))
            yield Measurement(metric, value, part=part if isinstance(part, str) else None)


T = TypeVar("T")
_STATUSES = ("ok", "skipped", "failed")
_DIGEST = re.compile("[0-9a-f]{16}")


def measurement_as_json(measurement: Measurement) -> dict[str, Any]:
    """Return a measurement as JSON values without empty fields; ``value`` is always present."""
    content: dict[str, Any] = {"metric": measurement.metric, "value": measurement.value}
    for name in ("reason", "part", "no_interval", "no_pair"):
        if (value := getattr(measurement, name)) is not None:
            content[name] = value
    if measurement.paired:
        content["paired"] = True
    for name in ("samples", "replicates", "curve"):
        if values := getattr(measurement, name):
            content[name] = list(values)
    return content


def measurement_from_json(data: Mapping[str, Any]) -> Measurement:
    """Inverse of ``measurement_as_json``; raise ``Misshapen`` if a field is missing or malformed; ignore others."""
    replicates = get(data, "replicates", list, default=[])
    if len(replicates) > GROUPS:
        raise Misshapen(f"'replicates' has {len(replicates)} values; there are {GROUPS} groups")
    samples = tuple(number(one, "samples") for one in get(data, "samples", list, default=[]))
    if (paired := get(data, "paired", bool, default=False)) and not all(1 / LARGEST < one < LARGEST for one in samples):
        raise Misshapen("'samples' that are paired are ratios: each must be above 0")
    return Measurement(
        get(data, "metric", str),
        number_or_null(get(data, "value", object), "value"),
        get(data, "reason", str, None, default=None),
        get(data, "part", str, None, default=None),
        samples,
        tuple(number_or_null(replicate, "replicates") for replicate in replicates),
        no_interval=get(data, "no_interval", str, None, default=None),
        no_pair=get(data, "no_pair", str, None, default=None),
        curve=tuple(number_or_null(one, "curve") for one in get(data, "curve", list, default=[])),
        paired=paired,
    )


def first_twice(names: Iterable[T]) -> T | None:
    """Return the first name that occurs twice, or None."""
    met: set[T] = set()
    for name in names:
        if name in met:
            return name
        met.add(name)
    return None


def case_as_json(case: Case) -> dict[str, Any]:
    """Return the fields of a result that name its case."""
    return {"key": case.key, **json_values.as_json(Case, case)}


def result_as_json(result: CaseResult) -> dict[str, Any]:
    """Return one result as a record holds it: details include values that have a field of their own in a result."""
    details: dict[str, Any] = {} if result.tally is None else {"tally": text_read_as_json(result.tally)}
    if result.trained_on is not None:
        details["trained_on"] = result.trained_on
    details |= result.details
    if result.failure is not None:
        details["failure"] = result.failure.value
    return {
        **case_as_json(result.case),
        "status": result.status,
        "reason": result.reason,
        "measurements": [measurement_as_json(measurement) for measurement in result.measurements],
        "details": details,
    }


def result_from_json(data: Mapping[str, Any]) -> CaseResult:
    """Inverse of ``result_as_json``, also for older records; raise ``Misshapen`` if a field is missing or malformed."""
    corpus = get(data, "corpus", str, None)
    case = Case(get(data, "benchmark", str), get(data, "tokenizer", str), corpus, get(data, "parameters", dict))
    status = get(data, "status", str)
    if status not in _STATUSES:
        raise Misshapen(f"'status' is {short(status)}; known: {', '.join(_STATUSES)}")
    measurements = tuple(measurement_from_json(item) for item in get(data, "measurements", list))
    if (twice := first_twice((one.metric, one.part) for one in measurements)) is not None:
        raise Misshapen(f"{short(twice[0])}{'' if twice[1] is None else f' ({twice[1][:60]})'} is measured twice")
    details = get(data, "details", dict)
    if status == "ok":
        measurements = (*measurements, *lifted(case.benchmark, measurements, details))
    tally = tally_of(details)
    failure = details.get("failure") if status == "failed" and details.get("failure") in tuple(Failure) else None
    trained_on = trained_on_of(details)
    typed = {"tally", *(("failure",) if failure else ()), *(("trained_on",) if trained_on is not None else ())}
    return CaseResult(
        case,
        status,
        get(data, "reason", str, None),
        measurements,
        {name: value for name, value in details.items() if name not in typed},
        None if failure is None else Failure(failure),
        tally,
        groups_of(details),
        ids_of(details),
        histograms_of(details),
        trained_on,
    )


def text_read_as_json(tally: TextRead) -> dict[str, Any]:
    """Return the account of a text; without beginnings if it was not read from its front."""
    values = asdict(tally)
    beginnings = values.pop("beginnings")
    return values if beginnings is None else {**values, "beginnings": list(beginnings)}


def trained_on_of(details: Mapping[str, Any]) -> float | None:
    """Return the share of trained-on text from details; None if it is missing or malformed."""
    share = details.get("trained_on")
    return share if isinstance(share, int | float) and not isinstance(share, bool) and 0 <= share <= 1 else None


def groups_of(details: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """Return sums by group of documents from details, only those of integers."""
    groups = details.get("groups")
    sums = groups.items() if isinstance(groups, dict) else ()
    return {
        name: tuple(values)
        for name, values in sums
        if isinstance(values, list) and all(isinstance(value, int) for value in values)
    }


def histograms_of(details: Mapping[str, Any]) -> dict[str, Histogram]:
    """Return valid histograms from details: ascending edges, and a count of 0 or more per bin."""
    named = details.get("histograms")
    histograms = {}
    for name, one in named.items() if isinstance(named, dict) else ():
        try:
            histogram = json_values.from_json(Histogram, one, name)
        except Misshapen:
            continue
        bins, counts = list(pairwise(histogram.edges)), histogram.counts.values()
        counted = all(len(values) == len(bins) and min(values, default=0) >= 0 for values in counts)
        if counted and all(low < high for low, high in bins):
            histograms[name] = histogram
    return histograms


def ids_of(details: Mapping[str, Any]) -> str | None:
    """Return the digest of all ids from details; None if it is missing or malformed."""
    ids = details.get("ids")
    return ids if isinstance(ids, str) and _DIGEST.fullmatch(ids) else None

"""Checks, in the worker, of values that plug-ins return. A wrong value raises ``WrongValue``, which fails one case.

Messages name the origin of a value or an exception. Long values and texts in them are cut.
"""

from __future__ import annotations

import math
import numbers
import operator
import traceback
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from pyharness import store
from pyharness.benchmarks import Benchmark, Findings
from pyharness.metrics import all_metrics, corpus_metrics
from pyharness.store.json_values import LARGEST, Misshapen, tally_of
from pyharness.types import Failure, Instead, Measurement, Tally, TextRead

LONGEST_TEXT = 2000  # characters of a reason or a note
LONGEST_TRACEBACK = 20_000


def maker(thing: object) -> str:
    """Name the origin of a function, class or object: ``module.name``, and its package if known and not ours."""
    named = thing if hasattr(thing, "__qualname__") else type(thing)
    module = str(getattr(named, "__module__", "?"))
    name = f"{module}.{getattr(named, '__qualname__', '?')}"
    distribution = _distribution(module)
    return f"{name} of package {distribution}" if distribution else name


@cache  # the look-up takes a second where many packages are installed
def _distribution(module: str) -> str | None:
    from importlib.metadata import packages_distributions

    top = module.partition(".")[0]
    owners = packages_distributions().get(top) if top != "pyharness" else None
    return owners[0] if owners else None


def said_by(error: BaseException) -> str:
    """Describe an exception in one line: type, start of the message, and innermost function that is not ours."""
    try:
        message = (str(error)[: 4 * LONGEST_TEXT].strip().splitlines() or [""])[0]
        message += "".join(f", {note}" for note in getattr(error, "__notes__", ()))
    except Exception:  # a stranger's __str__
        message = "its message cannot be read"
    where = ""
    for frame, _ in traceback.walk_tb(error.__traceback__):
        module = str(frame.f_globals.get("__name__", "?"))
        if module.partition(".")[0] not in ("pyharness", "__main__"):  # the main module is that of a process of ours
            where = f" (raised in {module}.{frame.f_code.co_qualname})"
    return shortened(f"{type(error).__name__}: {message}") + where


def trace_of(error: BaseException) -> str:
    """Return the traceback of an exception; only the end of a long one."""
    shown = traceback.TracebackException.from_exception(error, limit=-100, compact=True)
    return "".join(line[:LONGEST_TEXT] for line in shown.format())[-LONGEST_TRACEBACK:]


def shortened(text: str) -> str:
    """Cut a text to a length that fits a table or a log."""
    return text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 1] + "…"


def shown(value: object) -> str:
    """Return a value for a message, at most 80 characters. The ``__repr__`` of a plug-in may raise."""
    try:
        text = repr(value)
        if isinstance(value, int) and abs(value) >= 10**18:
            text = f"a number of about {int(value.bit_length() * math.log10(2)) + 1:,} digits"
    except Exception:  # a stranger's __repr__
        text = f"a {type(value).__name__}"
    return text if len(text) <= 80 else text[:77] + "..."


STATUSES = ("ok", "skipped", "failed")
ROUND_TRIPS = ("exact", "normalised", "lossy")
LARGEST_DETAILS = 32 << 20  # bytes of a case's details as JSON, about; ours take 2 MB at most
ITEM_BYTES = 8  # that each item counts for; a text value counts its characters, too
DEEPEST = 48  # levels of details: a record allows 64, of which it needs some itself


class WrongValue(Exception):
    """A plug-in returned a value that no record can hold; the message names it."""


def facts(tokenizer: object) -> dict[str, Any]:
    """Return the checked attributes of a loaded tokenizer that a record keeps."""
    whose = f"tokenizer {maker(tokenizer)}"
    notes = _notes(getattr(tokenizer, "notes", None), whose)
    round_trip = getattr(tokenizer, "round_trip", None)
    if round_trip not in ROUND_TRIPS:
        raise WrongValue(f"round_trip of {whose} is {shown(round_trip)}; known: {', '.join(ROUND_TRIPS)}")
    sizes = {name: _size(getattr(tokenizer, name, None), name, whose) for name in ("vocab_size", "id_limit")}
    return {**sizes, "round_trip": round_trip, "notes": notes}


def facts_instead(instead: Instead, made: object) -> dict[str, Any]:
    """Return the checked facts of a row without a tokenizer, such as one with a segmenter."""
    whose = maker(made)
    details = _details(instead.facts(made), whose)
    sizes = {"vocab_size": _size(details["vocab_size"], "vocab_size", whose)} if "vocab_size" in details else {}
    return {**details, **sizes, "notes": _notes(details.get("notes", ()), whose)}


def _notes(notes: object, whose: str) -> list[str]:
    if isinstance(notes, str) or not isinstance(notes, Iterable) or not all(isinstance(one, str) for one in notes):
        raise WrongValue(f"notes of {whose} is {shown(notes)}; it must be a tuple of texts")
    return [shortened(note) for note in notes]


def _size(value: Any, name: str, whose: str) -> int:
    if isinstance(value, numbers.Integral) and not isinstance(value, bool):
        size = operator.index(value)
        if 0 <= size < 1 << 32:
            return size
    raise WrongValue(f"{name} of {whose} is {shown(value)}; it must be a whole number from 0 to below 2^32")


def findings(benchmark: Benchmark, given: Any, trained_on: float | None = None) -> dict[str, Any]:
    """Return the checked findings of a benchmark for a record; ``trained_on``: share that the row was trained on."""
    whose = f"benchmark {benchmark.name!r} ({maker(benchmark.run)})"
    if not isinstance(given, Findings):
        raise WrongValue(f"{whose} gave {shown(given)}, not Findings")
    if given.status not in STATUSES:
        raise WrongValue(f"{whose} gave the status {shown(given.status)}; known: {', '.join(STATUSES)}")
    reason: Any = given.reason
    measurements: Any = given.measurements
    if not isinstance(reason, str | None) or (given.status != "ok" and not reason):
        raise WrongValue(f"{whose} gave the reason {shown(reason)} for the status {given.status!r}; text is due")
    if not isinstance(given.fingerprint, str):
        raise WrongValue(f"{whose} gave the fingerprint {shown(given.fingerprint)}; text is due")
    if not isinstance(measurements, tuple | list) or (given.status != "ok" and measurements):
        raise WrongValue(f"{whose} gave measurements that are no tuple, or any with the status {given.status!r}")
    tally: Any = given.tally
    if not isinstance(tally, Tally | None):
        raise WrongValue(f"{whose} gave the tally {shown(tally)}; it must be a Tally, of the text that was read")
    checked = [_measurement(measurement, whose) for measurement in measurements]
    if (twice := store.first_twice((one["metric"], one.get("part")) for one in checked)) is not None:
        part = "" if twice[1] is None else f" of the part {shown(twice[1])}"
        raise WrongValue(f"{whose} measured {shown(twice[0])}{part} twice")
    read = {} if tally is None else {"tally": store.text_read_as_json(TextRead.of(tally))}
    share = {} if trained_on is None else {"trained_on": trained_on}
    wrong = {"failure": Failure.WRONG} if given.status == "failed" else {}
    return {
        "status": given.status,
        "reason": None if reason is None else shortened(reason),
        "measurements": checked,
        "details": {**read, **share, **_details(given.details, whose), **share, **wrong},
    }


def keep_state(benchmark: Benchmark, given: Findings, path: Path, case: str) -> None:
    """Write the state of a case to the file that the parent reads; write no file if the state is empty."""
    whose = f"benchmark {benchmark.name!r} ({maker(benchmark.run)})"
    state: Any = given.state
    if not isinstance(state, Mapping):
        raise WrongValue(f"state of {whose} is {shown(state)}; it must be a mapping of arrays of integers")
    if not state:
        return
    try:
        store.write_case_state(path, case, state)
    except ValueError as error:
        raise WrongValue(f"state of {whose}: {error}") from None


def _measurement(one: Any, whose: str) -> dict[str, Any]:
    if not isinstance(one, Measurement):
        raise WrongValue(f"{whose} gave {shown(one)} among its measurements")
    name: Any = one.metric
    if not isinstance(name, str) or name not in all_metrics():
        raise WrongValue(f"{whose} measured {shown(name)}, which is not a metric: METRICS and REPORTED declare them")
    metric = corpus_metrics().get(name)
    whose = f"metric {name!r} ({maker(metric.compute)})" if metric is not None else f"{name!r} of {whose}"
    for field in ("reason", "part", "no_interval", "no_pair"):
        if not isinstance(text := getattr(one, field), str | None):
            raise WrongValue(f"{field} of {whose} is {shown(text)}; it must be text")
    if one.value is None and not one.reason:
        raise WrongValue(f"{whose} has neither a value nor a reason")
    checked = replace(
        one,
        value=None if one.value is None else _number(one.value, "the value", whose),
        reason=None if one.reason is None else shortened(one.reason),
        samples=tuple(_number(value, "a sample", whose) for value in _check_items(one.samples, "samples", whose)),
        replicates=tuple(
            None if value is None else _number(value, "a replicate", whose)
            for value in _check_items(one.replicates, "replicates", whose)
        ),
    )
    return store.measurement_as_json(checked)


def _check_items(values: object, name: str, whose: str) -> tuple[Any, ...] | list[Any]:
    if not isinstance(values, tuple | list):
        raise WrongValue(f"{name} of {whose} is {shown(values)}; it must be a tuple of numbers")
    return values


def _number(value: Any, what: str, whose: str) -> int | float:
    if not isinstance(value, bool) and isinstance(value, numbers.Real):
        plain = operator.index(value) if isinstance(value, numbers.Integral) else float(value)
        if -LARGEST <= plain <= LARGEST:  # which NaN is not
            return plain
    raise WrongValue(f"{what} of {whose} is {shown(value)}; it must be a finite number up to {LARGEST:g}")


def _details(details: object, whose: str) -> dict[str, Any]:
    if not isinstance(details, Mapping):
        raise WrongValue(f"details of {whose} is {shown(details)}; it must be a mapping")
    size = 0
    left: list[tuple[str, Any, int]] = [("details", dict(details), 0)]
    while left:
        place, values, depth = left.pop()
        size += ITEM_BYTES * len(values)
        if size > LARGEST_DETAILS:
            raise WrongValue(f"details of {whose} are larger than {LARGEST_DETAILS:,} bytes")
        if depth > DEEPEST:
            raise WrongValue(f"details of {whose} are nested more than {DEEPEST} levels deep")
        for name, value in _name_items(place, values, whose):
            if isinstance(value, str):
                size += len(value)
            elif isinstance(value, dict | list | tuple):
                left.append((name, value, depth + 1))
            elif value is not None and not isinstance(value, bool):
                _check_plain(name, value, whose)
    if size > LARGEST_DETAILS:
        raise WrongValue(f"details of {whose} are larger than {LARGEST_DETAILS:,} bytes")
    try:
        tally_of(details)
    except Misshapen as error:
        raise WrongValue(f"details of {whose}: {error}") from None
    return dict(details)


def _name_items(place: str, values: Any, whose: str) -> Iterator[tuple[str, Any]]:
    """Yield the items of a dict with the names of their places; items of a list share its name."""
    if not isinstance(values, dict):
        yield from ((place, value) for value in values)
        return
    for key, value in values.items():
        if not isinstance(key, str):
            raise WrongValue(f"{place} of {whose} has the key {shown(key)}; keys must be text")
        yield f"{place}[{shown(key)}]", value


def _check_plain(place: str, value: object, whose: str) -> None:
    if not isinstance(value, int | float):
        raise WrongValue(f"{place} of {whose} is {shown(value)}; details are JSON values: text, numbers, lists, dicts")
    if not -LARGEST <= value <= LARGEST:
        raise WrongValue(f"{place} of {whose} is {shown(value)}; a number there is finite and up to {LARGEST:g}")

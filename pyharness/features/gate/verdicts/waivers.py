"""Declared changes in ``gate.toml``: each entry names exactly one benchmark and one metric.

[[accepted]]
benchmark = "native-encode-short"
metric = "time"
ceiling = "8 %"
expires = 2026-12-31
reason = "offsets are kept from now on"
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Collection, Mapping, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any, get_args

from pyharness.features.gate.types import Figure, GateVerdict, Judgement, Waiver
from pyharness.features.gate.verdicts.wording import percent
from pyharness.plugins.registry import suggest
from pyharness.system import bounded_file
from pyharness.types import InputError

FILE = "gate.toml"
MOST_BYTES = 1 << 20
LARGEST_CEILING = 10.0  # eleven times the time: beyond that an entry would turn the check off
_TABLE = "accepted"
_KEYS = ("benchmark", "metric", "ceiling", "expires", "reason")
WORKLOAD = "workload"  # other work than the base's: not a figure, so without a ceiling
_METRICS: tuple[str, ...] = (*get_args(Figure), WORKLOAD)
_PERCENT = re.compile(r"(\d+(?:\.\d+)?) ?%", re.ASCII)
_WILD = set("*?")  # brackets occur in names of parametrised tests


def read(path: Path) -> tuple[Waiver, ...]:
    """Read the entries of a file.

    Raises:
        InputError: the file cannot be read, is no TOML, or has two entries for one figure, a pattern, or a wrong or
            missing key or value.
    """
    data = bounded_file.read_toml(path, MOST_BYTES, str(path))
    try:
        return _entries(data)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _entries(data: Mapping[str, Any]) -> tuple[Waiver, ...]:
    for key in data:
        if key != _TABLE:
            raise suggest("key", key, {_TABLE})
    tables = data.get(_TABLE, [])
    if not isinstance(tables, list):
        raise InputError(f"{_TABLE!r} must be tables [[{_TABLE}]]")
    waivers: dict[tuple[str, str], Waiver] = {}
    for number, table in enumerate(tables, 1):
        try:
            waiver = _waiver(table)
        except InputError as error:
            raise InputError(f"entry {number}: {error}") from None
        if (waiver.benchmark, waiver.metric) in waivers:
            raise InputError(f"entry {number}: {waiver.metric} of {waiver.benchmark!r} has an entry already: keep one")
        waivers[waiver.benchmark, waiver.metric] = waiver
    return tuple(waivers.values())


def _waiver(table: Any) -> Waiver:
    if not isinstance(table, dict):
        raise InputError(f"it must be a table [[{_TABLE}]] with {', '.join(_KEYS)}")
    for key in table:
        if key not in _KEYS:
            raise suggest("key", key, _KEYS)
    benchmark, metric, reason = (_text(table, key) for key in ("benchmark", "metric", "reason"))
    if _WILD & set(benchmark):
        raise InputError(f"benchmark {benchmark!r} is a pattern: an entry is for one benchmark, by its exact name")
    if metric not in _METRICS:
        raise suggest("metric", metric, _METRICS)
    if metric == WORKLOAD and "ceiling" in table:
        raise InputError(f"{WORKLOAD!r} has no 'ceiling': it is work that is other than the base's")
    ceiling = math.inf if metric == WORKLOAD else _ceiling(_text(table, "ceiling"))
    return Waiver(benchmark, metric, ceiling, _day(table), reason)


def _text(table: Mapping[str, Any], key: str) -> str:
    value = table.get(key)
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"{key!r} is missing or empty: it must be text")
    return value.strip()


def _ceiling(text: str) -> float:
    match = _PERCENT.fullmatch(text)
    ceiling = float(match[1]) / 100 if match else 0.0
    if not 0 < ceiling <= LARGEST_CEILING:
        raise InputError(f"ceiling {text!r} must be per cent above 0, at most {percent(LARGEST_CEILING)}, as in '8 %'")
    return ceiling


def _day(table: Mapping[str, Any]) -> str:
    value = table.get("expires")
    if isinstance(value, date) and not isinstance(value, datetime):
        return value.isoformat()
    try:
        return date.fromisoformat(value if isinstance(value, str) else "").isoformat()
    except ValueError:
        raise InputError("'expires' is the last day on which the entry holds: a date such as 2026-12-31") from None


def applied(judgements: Sequence[Judgement], waivers: Sequence[Waiver], today: date) -> tuple[Judgement, ...]:
    """Let a regression pass within the ceiling of an entry that has not expired."""
    by_figure = {(one.benchmark, one.metric): one for one in waivers}
    return tuple(_apply(one, by_figure.get((one.benchmark, one.figure)), today) for one in judgements)


def _apply(judgement: Judgement, waiver: Waiver | None, today: date) -> Judgement:
    if waiver is None or judgement.verdict is not GateVerdict.REGRESSION:
        return judgement
    if _has_expired(waiver, today) or _exceeds(judgement, waiver):
        return judgement
    return dataclasses.replace(judgement, verdict=GateVerdict.PASS, waiver=waiver)


def _has_expired(waiver: Waiver, today: date) -> bool:
    return date.fromisoformat(waiver.expires) < today


def _exceeds(judgement: Judgement, waiver: Waiver) -> bool:
    return judgement.verdict is GateVerdict.REGRESSION and (
        judgement.effect is None or judgement.effect > waiver.ceiling
    )


def of_workloads(waivers: Sequence[Waiver], today: date) -> dict[str, Waiver]:
    """Return entries, not expired, that allow other work than the base's; by benchmark."""
    return {one.benchmark: one for one in waivers if one.metric == WORKLOAD and not _has_expired(one, today)}


def faults(
    judgements: Sequence[Judgement], waivers: Sequence[Waiver], today: date, changed: Collection[str] = ()
) -> tuple[str, ...]:
    """Return a sentence for every entry that has expired, matches nothing in this gate, or was exceeded.

    An entry for a benchmark that could not be compared counts as matched. ``changed``: benchmarks that do other work
    than the base's.
    """
    names = {judgement.benchmark for judgement in judgements if judgement.effect is None}
    by_key = {(judgement.benchmark, str(judgement.figure)): judgement for judgement in judgements}
    sentences = []
    for waiver in waivers:
        what = f"{FILE}: {waiver.metric} of {waiver.benchmark!r}"
        judgement = by_key.get((waiver.benchmark, waiver.metric))
        matches = waiver.benchmark in changed if waiver.metric == WORKLOAD else judgement or waiver.benchmark in names
        if _has_expired(waiver, today):
            sentences.append(f"{what}: the entry expired on {waiver.expires}; remove it, or give it a later date")
        elif not matches:
            sentences.append(f"{what}: no benchmark matches the entry; correct its name, or remove it")
        elif judgement is not None and _exceeds(judgement, waiver):
            grown = "growth from nothing" if judgement.effect is None else percent(judgement.effect)
            sentences.append(f"{what}: {grown} exceeds the ceiling of {percent(waiver.ceiling)}")
    return tuple(sentences)

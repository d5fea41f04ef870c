"""Files of pytest-benchmark (``--benchmark-json``, ``--benchmark-save``) as records of runs.

A row is a test, its number the median of its rounds in seconds, and the rounds are kept where the file has them. The
name of the machine stays out. Layout: pytest-benchmark 4 and 5, ``BenchmarkSession`` and ``Metadata.as_dict``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from statistics import median
from typing import Any

from pyharness.store.json_values import LARGEST, Misshapen, get, number, short

BENCHMARK = "pytest_benchmark"
METRIC = "test_call_seconds"
_NO_SAMPLES = "the file has no rounds: --benchmark-save-data keeps them"
_METRIC = {
    "unit": "s",
    "direction": "lower",
    "summary": "time of one call, as pytest-benchmark took it: median of rounds",
    "deterministic": False,
}


def as_record(data: Any, schema: int, kind: str) -> dict[str, Any]:
    """Return the values of a record; raise ``Misshapen`` if something that it needs is missing or malformed."""
    results, seconds = {}, 0.0
    for place, one in enumerate(get(data, "benchmarks", list), 1):
        try:
            name = get(one, "fullname", str)
            if name in results:
                raise Misshapen(f"{short(name)} occurs twice")
            results[name] = _result(name, one)
            seconds += _seconds(get(one, "stats", dict), "total", default=0.0)
        except Misshapen as error:
            raise Misshapen(f"benchmark {place}: {error}") from None
    return {
        "kind": kind,
        "schema": schema,
        "created": get(data, "datetime", str),
        "seconds": seconds,
        "complete": True,
        "suite": _suite(results),
        "environment": _environment(get(data, "machine_info", dict), get(data, "version", str, default="unknown")),
        "tokenizers": {name: _about(data) for name in results},
        "corpora": {},
        "metrics": {METRIC: _METRIC},
        "results": [*results.values()],
    }


def _result(name: str, one: Mapping[str, Any]) -> dict[str, Any]:
    group = get(one, "group", str, None, default=None)
    parameters = {} if group is None else {"group": group}
    stats = get(one, "stats", dict)
    samples = [_sample(value) for value in get(stats, "data", list, None, default=None) or ()]
    measured: dict[str, Any] = {"metric": METRIC, "value": median(samples) if samples else _seconds(stats, "median")}
    measured |= {"samples": samples} if samples else {"no_interval": _NO_SAMPLES}
    details = {"extra_info": get(one, "extra_info", dict, default={}), "iterations": get(stats, "iterations", int)}
    return {
        "key": " | ".join(filter(None, (BENCHMARK, name, group and f"group={group}"))),
        "benchmark": BENCHMARK,
        "tokenizer": name,
        "corpus": None,
        "parameters": parameters,
        "status": "ok",
        "reason": None,
        "measurements": [measured],
        "details": {**details, "rounds": get(stats, "rounds", int)},
    }


def _seconds(stats: Mapping[str, Any], name: str, **default: float) -> float:
    return _sample(get(stats, name, object, **default), name)


def _sample(value: Any, name: str = "data") -> float:
    seconds: float = number(value, name)
    if not 0 <= seconds < LARGEST:
        raise Misshapen(f"{name!r} is {seconds}, which is not a time in seconds")
    return seconds


def _suite(names: Mapping[str, Any]) -> dict[str, Any]:
    digest = hashlib.sha256("\n".join(sorted(names)).encode(errors="surrogatepass")).hexdigest()
    return {
        "name": "pytest-benchmark",
        "summary": "tests that use the benchmark fixture",
        "rows": "test",
        "reference": None,
        "time_limit_seconds": None,
        "tokenizers": {},
        "corpora": {},
        "benchmarks": [{"name": BENCHMARK, "parameters": {}}],
        "digest": digest,
    }


def _environment(machine: Mapping[str, Any], version: str) -> dict[str, Any]:
    processor = get(machine, "cpu", dict, default={})
    return {
        "pyharness": None,
        "python": get(machine, "python_version", str, None, default=None),
        "implementation": get(machine, "python_implementation", str, None, default=None),
        "system": " ".join(get(machine, name, str, default="") for name in ("system", "release")).strip(),
        "machine": get(machine, "machine", str, default=""),
        "cpu": get(processor, "brand_raw", str, None, default=None),
        "cores": get(processor, "count", int, None, default=None),
        "memory_bytes": None,
        "libraries": {"pytest-benchmark": version},
    }


def _about(data: Mapping[str, Any]) -> dict[str, Any]:
    commit = get(data, "commit_info", dict, None, default=None) or {}
    return {
        "spec": BENCHMARK,
        "source": get(commit, "project", str, None, default=None),
        "licence": None,
        "revision": get(commit, "id", str, None, default=None),
        "sha256": None,
        "vocabulary": None,
        "compared_with": None,
    }

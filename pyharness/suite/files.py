"""Suites from TOML files, shipped with pyharness or a user's own, and from arguments."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pyharness.benchmarks import benchmarks as benchmarks_by_name
from pyharness.corpora.options import size
from pyharness.plugins.registry import pick, suggest
from pyharness.suite import axes
from pyharness.suite.declaration import (
    DEVICES,
    TIME_LIMIT_SECONDS,
    Entry,
    Selection,
    Suite,
    cut,
    entries,
    override,
    selections,
    shown,
    variables,
)  # fmt: skip
from pyharness.system import bounded_file
from pyharness.types import InputError

PACKAGED = Path(__file__).parents[1] / "suites"
OF_FEATURES = "features/*/suites/*.toml"  # below the package
DEFAULT = "quick"
BENCHMARKS = ("compression", "fairness", "reachability", "throughput", "latency", "load")
CORPORA = ("sample",)
MOST_BYTES = 1 << 20  # the largest that ships with pyharness has 8 kB
DEFAULT_NAME = "suite"
_KEYS = {
    "name", "summary", "tokenizers", "corpora", "benchmarks", "reference", "time_limit_seconds", "oversubscribe",
    "device", "memory_limit", "workers", "variables", "axes",
}  # fmt: skip
_LISTS = ("tokenizers", "corpora", "benchmarks")
_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,63}", re.ASCII)  # it becomes part of a file name
_MOST_WORKERS = 256
_LONGEST_LIMIT = 2**63 - 1  # seconds


def find(name: str) -> Path:
    """Return the path of a suite, given the name of a shipped one or a TOML file; ``InputError`` for any other."""
    path, by_name = Path(name), shipped()
    if name.endswith(".toml") or "/" in name:
        if not path.is_file():
            what = "is a folder, not a suite file" if path.is_dir() else "does not exist"
            raise InputError(f"suite file {name!r} {what}")
        return path
    return path if name not in by_name and path.is_file() else pick("suite", name, by_name)


def shipped() -> dict[str, Path]:
    """Return the suites that ship with pyharness, by name."""
    # An editable install runs from the checkout, where the suites stay in bench/.
    folder = PACKAGED if PACKAGED.is_dir() else PACKAGED.parents[1] / "bench" / "suites"
    files = [*folder.glob("*.toml"), *PACKAGED.parent.glob(OF_FEATURES)]
    return {file.stem: file for file in sorted(files, key=lambda file: file.stem)}


def summary_of(path: Path) -> str:
    """Return a suite's summary, without filling in its variables."""
    return str(tomllib.loads(path.read_text(encoding="utf-8")).get("summary", ""))


def read(path: Path) -> Suite:
    """Parse a suite file; an ``InputError`` names the file and what is wrong in it."""
    data = bounded_file.read_toml(path, MOST_BYTES, f"suite {path}")
    for key in data.keys() - _KEYS:
        raise InputError(f"suite {path}: {suggest('key', key, _KEYS)}")
    for key in ("tokenizers", "benchmarks"):
        if key not in data:
            raise InputError(f"suite {path} lacks {key!r}; a suite has tokenizers, corpora and benchmarks")
    try:
        filled, along = variables(data.get("variables", {})), axes.read(data.get("axes", {}))
        rows, texts, chosen = (axes.spread(data.get(key, []), along, key) for key in _LISTS)
        return Suite(
            name=_name(data, path),
            summary=_text(data, "summary") or "",
            tokenizers=entries(rows, "tokenizers", filled),
            corpora=entries(texts, "corpora", filled),
            selections=selections(chosen),
            reference=_text(data, "reference"),
            time_limit_seconds=_time_limit(data.get("time_limit_seconds", TIME_LIMIT_SECONDS)),
            oversubscribe=_switch(data, "oversubscribe"),
            device=DEVICES[0] if (device := _text(data, "device")) is None else device,
            memory_limit=bytes_of_limit(data.get("memory_limit")),
            workers=_workers(data.get("workers", 1)),
        )
    except InputError as error:
        raise InputError(f"suite {path}: {error}") from None


def _name(data: Mapping[str, Any], path: Path) -> str:
    if (name := _text(data, "name")) is None:  # the file's name, as far as possible
        stem = re.sub(r"[^A-Za-z0-9_.-]+", "-", path.stem).lstrip("-._")
        return stem[:64] if stem else DEFAULT_NAME
    if not _NAME.fullmatch(name):
        raise InputError(
            f"name = {name!r} cannot be part of a file name; use up to 64 of A-Z a-z 0-9 _ . -, a letter or digit first"
        )
    return name


def _text(data: Mapping[str, Any], key: str) -> str | None:
    value = data.get(key)
    if value is not None and not isinstance(value, str):
        raise InputError(f"{key} = {shown(value)} is not text; write it in quotes")
    return value


def _switch(data: Mapping[str, Any], key: str) -> bool:
    value = data.get(key, False)
    if not isinstance(value, bool):
        raise InputError(f"{key} = {shown(value)} is neither true nor false")
    return value


def bytes_of_limit(value: Any) -> int | None:
    """Return the bytes of a case's limit: a whole number or text such as ``4GB``; None stays None."""
    if value is None:
        return None
    if isinstance(value, str):
        return size("memory_limit", value)
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InputError(f'memory_limit = {shown(value)} is not an amount of memory, such as "4GB"')
    return value


def _workers(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _MOST_WORKERS:
        raise InputError(f"workers = {shown(value)} is not a whole number from 1 to {_MOST_WORKERS}")
    return value


def _time_limit(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= _LONGEST_LIMIT:
        raise InputError(f"time_limit_seconds = {shown(value)} is not a finite number above 0, such as 600")
    return float(value)


# ---------------------------------------------------------------------------------------------- arguments


def declare(
    tokenizers: Sequence[str] = (), corpora: Sequence[str] = (), benchmarks: Sequence[str | dict[str, Any]] = (),
    base: Suite | None = None, device: str | None = None, memory_limit: int | str | None = None,
    max_bytes: int | str | None = None, reference: str | None = None,
) -> Suite:  # fmt: skip
    """Build a suite from names. Missing parts come from ``base``, or else from the defaults of a quick look.

    Raises:
        InputError: something cannot be read as a part of a suite.
    """
    chosen = _with_corpora(selections(benchmarks), entries(corpora, "corpora")) if benchmarks else None
    if base is None:
        rows, texts = entries(tokenizers), entries(corpora or CORPORA, "corpora")
        declared = Suite("custom", rows, texts, chosen or selections(BENCHMARKS))
    else:
        declared = override(base, entries(tokenizers), entries(corpora, "corpora"), chosen or ())
    if max_bytes is not None:
        declared = cut(declared, str(max_bytes))
    if memory_limit is not None:
        declared = replace(declared, memory_limit=bytes_of_limit(memory_limit))
    if reference is not None:
        declared = replace(declared, reference=reference)
    return declared if device is None else replace(declared, device=device)


def _with_corpora(chosen: tuple[Selection, ...], texts: tuple[Entry, ...]) -> tuple[Selection, ...]:
    """Give corpora that are named together with benchmarks also to those benchmarks whose corpus is optional."""
    labels = tuple(entry.label for entry in texts) or None
    by_name = benchmarks_by_name()
    may = [one for one in chosen if one.benchmark in by_name and by_name[one.benchmark].corpus == "optional"]
    return tuple(replace(one, corpora=labels) if one in may and one.corpora is None else one for one in chosen)

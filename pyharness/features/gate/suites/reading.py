"""Suites of a gate: TOML, shipped with pyharness or anyone's own."""

from __future__ import annotations

import ast
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyharness.features.gate.types import GateBenchmark
from pyharness.plugins.registry import pick, suggest
from pyharness.store import shape
from pyharness.suite.reading import PACKAGED
from pyharness.system import bounded_file
from pyharness.types import InputError

DEFAULT = "gate"
MOST_BYTES = 1 << 20
MOST_TEXT = 16 << 20  # bytes of one call
MOST_THREADS = 1024
DRIVER = Path(__file__).parents[1] / "driving" / "driver.py"
WORKLOADS = DRIVER.with_name("workloads.py")
CORPORA = {"english": "installed:python-docs", "code": "installed:python-code", "multilingual": "sample"}
_KEYS = {"name", "summary", "library", "workloads", "corpora", "benchmarks"}
_BENCHMARK_KEYS = {"name", "workload", "library", "text", "bytes", "threads", "options", "budget"}
_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,63}", re.ASCII)  # stands in tables, file names and links


@dataclass(frozen=True, slots=True)
class GateSuite:
    """What a gate measures."""

    name: str
    summary: str
    benchmarks: tuple[GateBenchmark, ...]
    corpora: Mapping[str, str]  # kind of text -> specification of a corpus; those that benchmarks read
    workloads: Path
    digest: str  # of the suite, its workloads and the driver: figures compare where it is the same
    gone: tuple[str, ...] = ()  # benchmarks that only the base's file has
    changed: Mapping[str, str] = field(default_factory=dict)  # those that do other work there, and what differs
    notes: tuple[str, ...] = ()  # how it differs from the base's


def find(name: str) -> Path:
    """Path of a suite: the name of one that is shipped, or a TOML file."""
    path, known = Path(name), shipped()
    if name.endswith(".toml") or "/" in name:
        if not path.is_file():
            raise InputError(f"suite file {name!r} {'is a folder' if path.is_dir() else 'does not exist'}")
        return path
    return pick("suite of the gate", name, known)


def shipped() -> dict[str, Path]:
    """Suites of the gate that come with pyharness, by name."""
    # An editable install runs from the checkout, where the suites stay in bench/.
    suites = PACKAGED if PACKAGED.is_dir() else PACKAGED.parents[1] / "bench" / "suites"
    return {file.stem: file for file in sorted((suites / "gate").glob("*.toml"))}


def read(path: Path) -> GateSuite:
    """Parse a suite of the gate; says which key of which benchmark is wrong.

    Raises:
        InputError: it cannot be read, is no TOML, or holds what no suite holds.
    """
    data = bounded_file.read_toml(path, MOST_BYTES, f"suite {path}")
    try:
        return _suite(data, path)
    except InputError as error:
        raise InputError(f"suite {path}: {error}") from None


def _suite(data: Mapping[str, Any], path: Path) -> GateSuite:
    _known_keys(data, _KEYS, "key")
    workloads = path.parent / own if (own := shape.get(data, "workloads", str, default="")) else WORKLOADS
    source = _source(workloads)
    corpora = {**CORPORA, **shape.get(data, "corpora", dict, default={})}
    functions = _functions(source, workloads)
    entries = shape.get(data, "benchmarks", list)
    library = shape.get(data, "library", str, default="")
    benchmarks = tuple(_benchmark(entry, library, corpora, functions) for entry in entries)
    if not benchmarks:
        raise InputError("it has no benchmarks: nothing could be compared")
    names = [benchmark.name for benchmark in benchmarks]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(f"more than one benchmark is called {twice[0]!r}")
    read = dict.fromkeys(kind for benchmark in benchmarks for kind in kinds(benchmark.text, benchmark.options))
    return GateSuite(
        name=shape.get(data, "name", str, default=path.stem),
        summary=shape.get(data, "summary", str, default=""),
        benchmarks=benchmarks,
        corpora={kind: shape.get(corpora, kind, str) for kind in read},
        workloads=workloads,
        digest=_digest(json.dumps(data, sort_keys=True, default=str).encode(), source, DRIVER.read_bytes()),
    )


def _benchmark(entry: Any, library: str, corpora: Mapping[str, Any], functions: Mapping[str, None]) -> GateBenchmark:
    name = shape.get(entry, "name", str)
    if not _NAME.fullmatch(name):
        raise InputError(f"benchmark name {name!r} is none: up to 64 of A-Z a-z 0-9 _ . -, a letter or digit first")
    try:
        _known_keys(entry, _BENCHMARK_KEYS, "key")
        benchmark = GateBenchmark(
            name=name,
            workload=shape.get(entry, "workload", str),
            library=shape.get(entry, "library", str, default=library),
            text=shape.get(entry, "text", str, default="english"),
            bytes=_within(entry, "bytes", 0, MOST_TEXT, 0),
            threads=_within(entry, "threads", 1, MOST_THREADS, 1),
            options=shape.get(entry, "options", dict, default={}),
            budget=budget_of(entry),
        )
        _check(benchmark, corpora, functions)
    except InputError as error:
        raise InputError(f"benchmark {name!r}: {error}") from None
    return benchmark


def _check(benchmark: GateBenchmark, corpora: Mapping[str, Any], functions: Mapping[str, None]) -> None:
    if benchmark.workload not in functions:
        raise suggest("workload", benchmark.workload, functions)
    if benchmark.text and not benchmark.bytes:
        raise InputError(f'it reads {benchmark.text!r}, and "bytes" does not say how much in a call (text = "": none)')
    if benchmark.bytes and not benchmark.text:
        raise InputError('it reads no text (text = ""), so "bytes" says nothing: leave it out')
    for kind in kinds(benchmark.text, benchmark.options):
        if kind not in corpora:
            raise suggest("kind of text", kind, corpora)


def kinds(text: str, options: Mapping[str, Any]) -> list[str]:
    """Kinds of text that must be there: what is read on the clock, and what a vocabulary is made of."""
    learned_from = shape.get(options, "learned_from", str, default="")
    return [kind for kind in (text, learned_from) if kind]


def budget_of(entry: Mapping[str, Any]) -> float | None:
    """Slowdown that a benchmark of a suite allows itself; None: that of the gate."""
    budget = shape.number_or_null(entry.get("budget"), "budget")
    if budget is not None and not 0 < budget < 10:
        raise InputError(f"budget is {budget}; it is a slowdown above 0, such as 0.05 for 5 %")
    return None if budget is None else float(budget)


def _within(entry: Mapping[str, Any], key: str, least: int, most: int, default: int) -> int:
    value: int = shape.get(entry, key, int, default=default)
    if not least <= value <= most:
        raise InputError(f"{key!r} is {value:,}; it must be in {least:,}..{most:,}")
    return value


def _known_keys(data: Mapping[str, Any], known: set[str], what: str) -> None:
    for key in data.keys() - known:
        raise suggest(what, key, known)


def _source(workloads: Path) -> bytes:
    try:
        return bounded_file.read(workloads, MOST_BYTES, f"workloads {workloads}")
    except OSError as error:
        raise InputError(f"workloads {workloads} cannot be read: {error.strerror or error}") from None


def _functions(source: bytes, path: Path) -> dict[str, None]:
    """Names of the workloads of a file, which is not run here: it may import what only the arms have."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError) as error:
        raise InputError(f"workloads {path} is not valid Python: {error}") from None
    functions = (node.name for node in tree.body if isinstance(node, ast.FunctionDef))
    return {name: None for name in functions if not name.startswith("_")}


def _digest(*parts: bytes) -> str:
    whole = hashlib.sha256()
    for part in parts:
        whole.update(len(part).to_bytes(8, "little"))
        whole.update(part)
    return whole.hexdigest()

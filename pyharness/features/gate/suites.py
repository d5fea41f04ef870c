"""Suites of a gate: found by name, read once, and compared with the base's version of them.

A suite is a TOML file, shipped with pyharness or the user's own. It mostly lies in the head's checkout, so the head
could weaken its own judge. It could do other work under an old name, equally in both arms, or declare its own benchmark
a control: so the work of both versions is compared. A benchmark that the head removes counts as gone, and a budget
that it loosens does not hold.
"""

from __future__ import annotations

import ast
import hashlib
import json
import math
import os
import re
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

from pyharness.features.gate.builds.checkouts import Checkout, GitFailed
from pyharness.features.gate.builds.names import Pair, Revision, absent
from pyharness.features.gate.types import GateBenchmark, normalised
from pyharness.plugins.registry import pick, suggest
from pyharness.store import json_values
from pyharness.suite.files import PACKAGED
from pyharness.system import bounded_file
from pyharness.types import InputError

DEFAULT = "gate"
MOST_BYTES = 1 << 20
MOST_TEXT = 16 << 20  # bytes of one call
MOST_THREADS = 1024
DRIVER = Path(__file__).parent / "drivers" / "driver.py"
WORKLOADS = DRIVER.with_name("workloads.py")
CORPORA = {"english": "installed:python-docs", "code": "installed:python-code", "multilingual": "sample"}
_KEYS = {"name", "summary", "library", "workloads", "corpora", "benchmarks"}
_BENCHMARK_KEYS = {"name", "workload", "library", "text", "bytes", "threads", "options", "budget"}
_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,63}", re.ASCII)  # appears in tables, file names and links
_PARTS: Mapping[str, Any] = {"workload": "", "text": "english", "bytes": 0, "threads": 1, "options": {}}
CHANGED = (
    "both sides would do the head's work, which differs from the base's: {} changed; give it another name, or "
    'declare it in gate.toml (metric = "workload")'
)
Work: TypeAlias = Mapping[str, Any]  # the work of a benchmark: value of each part


@dataclass(frozen=True, slots=True)
class GateSuite:
    """Benchmarks of a gate."""

    name: str
    summary: str
    benchmarks: tuple[GateBenchmark, ...]
    corpora: Mapping[str, str]  # kind of text -> specification of a corpus; only kinds that benchmarks read
    workloads: Path
    digest: str  # of the suite, its workloads and the driver: figures are comparable where it is equal
    work: Mapping[str, Work] = field(default_factory=dict)  # by benchmark
    gone: tuple[str, ...] = ()  # benchmarks only in the base's file
    changed: Mapping[str, str] = field(default_factory=dict)  # benchmarks with other work there -> parts that differ
    notes: tuple[str, ...] = ()  # on differences to the base's file


def find(name: str) -> Path:
    """Return the path of a suite: by the name of a shipped one, or a TOML file.

    Raises:
        InputError: there is no such suite or file.
    """
    path, by_name = Path(name), shipped()
    if name.endswith(".toml") or "/" in name:
        if path.is_dir():
            raise InputError(f"--suite {name!r} is a folder: name the TOML file in it")
        if not path.is_file():
            raise absent("--suite", name, path, f"name a TOML file, or one of {', '.join(by_name)}")
        return path
    return pick("suite of the gate", name, by_name)


def shipped() -> dict[str, Path]:
    """Return the gate's shipped suites, by name."""
    # An editable install runs from the checkout, where the suites stay in bench/.
    suites = PACKAGED if PACKAGED.is_dir() else PACKAGED.parents[1] / "bench" / "suites"
    return {file.stem: file for file in sorted((suites / "gate").glob("*.toml"))}


def read(path: Path) -> GateSuite:
    """Parse a suite; errors name the benchmark and its wrong key.

    Raises:
        InputError: the file or its workloads cannot be read, it is not TOML, or it is no valid suite.
    """
    data = bounded_file.read_toml(path, MOST_BYTES, f"suite {path}")
    try:
        return _suite(data, path)
    except InputError as error:
        raise InputError(f"suite {path}: {error}") from None


def _suite(data: Mapping[str, Any], path: Path) -> GateSuite:
    _check_keys(data, _KEYS)
    workloads = path.parent / own if (own := json_values.get(data, "workloads", str, default="")) else WORKLOADS
    source = _source(workloads)
    corpora = {**CORPORA, **json_values.get(data, "corpora", dict, default={})}
    code = _code(source, f"workloads {workloads} is")
    entries = json_values.get(data, "benchmarks", list)
    library = json_values.get(data, "library", str, default="")
    benchmarks = tuple(_benchmark(entry, library, corpora, code) for entry in entries)
    if not benchmarks:
        raise InputError("it has no benchmarks: nothing could be compared")
    names = [benchmark.name for benchmark in benchmarks]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(f"more than one benchmark is called {twice[0]!r}")
    kinds_read = dict.fromkeys(kind for benchmark in benchmarks for kind in kinds(benchmark.text, benchmark.options))
    return GateSuite(
        name=json_values.get(data, "name", str, default=path.stem),
        summary=json_values.get(data, "summary", str, default=""),
        benchmarks=benchmarks,
        corpora={kind: json_values.get(corpora, kind, str) for kind in kinds_read},
        workloads=workloads,
        digest=digest_of(json.dumps(data, sort_keys=True, default=str).encode(), source, DRIVER.read_bytes()),
        work=_work(data, code),
    )


def _benchmark(entry: Any, library: str, corpora: Mapping[str, Any], code: Mapping[str, str]) -> GateBenchmark:
    name = json_values.get(entry, "name", str)
    if not _NAME.fullmatch(name):
        raise InputError(f"benchmark name {name!r}: use up to 64 of A-Z a-z 0-9 _ . -, a letter or digit first")
    try:
        _check_keys(entry, _BENCHMARK_KEYS)
        benchmark = GateBenchmark(
            name=name,
            workload=json_values.get(entry, "workload", str),
            library=json_values.get(entry, "library", str, default=library),
            text=json_values.get(entry, "text", str, default="english"),
            bytes=_within(entry, "bytes", 0, MOST_TEXT, 0),
            threads=_within(entry, "threads", 1, MOST_THREADS, 1),
            options=json_values.get(entry, "options", dict, default={}),
            budget=budget_of(entry),
        )
        _check(benchmark, corpora, code)
    except InputError as error:
        raise InputError(f"benchmark {name!r}: {error}") from None
    return benchmark


def _check(benchmark: GateBenchmark, corpora: Mapping[str, Any], code: Mapping[str, str]) -> None:
    if benchmark.workload not in (public := [name for name in code if not name.startswith("_")]):
        raise suggest("workload", benchmark.workload, public)
    if benchmark.text and not benchmark.bytes:
        raise InputError(f'it reads {benchmark.text!r}, and "bytes" does not say how much in a call (text = "": none)')
    if benchmark.bytes and not benchmark.text:
        raise InputError('it reads no text (text = ""), so "bytes" says nothing: leave it out')
    for kind in kinds(benchmark.text, benchmark.options):
        if kind not in corpora:
            raise suggest("kind of text", kind, corpora)


def kinds(text: str, options: Mapping[str, Any]) -> list[str]:
    """Return the kinds of text that a benchmark needs: for its calls, and for its vocabulary."""
    return [kind for kind in (text, json_values.get(options, "learned_from", str, default="")) if kind]


def budget_of(entry: Mapping[str, Any]) -> float | None:
    """Return a benchmark's own budget; None: that of the gate.

    Raises:
        InputError: it is no number above 0 and below 10.
    """
    budget = json_values.number_or_null(entry.get("budget"), "budget")
    if budget is not None and not 0 < budget < 10:
        raise InputError(f"budget is {budget}; it must be a slowdown above 0 and below 10, such as 0.05 for 5 %")
    return None if budget is None else float(budget)


def _within(entry: Mapping[str, Any], key: str, least: int, most: int, default: int) -> int:
    value: int = json_values.get(entry, key, int, default=default)
    if not least <= value <= most:
        raise InputError(f"{key!r} is {value:,}; it must be in {least:,}..{most:,}")
    return value


def of_library(suite: GateSuite, under_test: str) -> GateSuite:
    """Fill in the library under test for benchmarks whose suite names none; "" where it is not known.

    Raises:
        InputError: no benchmark measures the library under test.
    """
    benchmarks = tuple(replace(one, library=one.library or under_test) for one in suite.benchmarks)
    libraries = {one.library for one in benchmarks}
    if under_test and normalised(under_test) not in map(normalised, libraries):
        raise InputError(
            f"suite {suite.name!r} measures {', '.join(sorted(libraries))}, and {under_test!r} is under test: name its "
            "tests with --pytest PATH, or a suite of its own with --suite FILE.toml"
        )
    return replace(suite, benchmarks=benchmarks)


def only(suite: GateSuite, names: Collection[str], under_test: str) -> GateSuite:
    """Leave out all benchmarks but ``names`` and the controls, which test the gate itself; no names: none.

    Raises:
        InputError: no benchmark has a name.
    """
    if not names:
        return suite
    by_name = {one.name: one for one in suite.benchmarks}
    for name in names:
        pick("benchmark", name, by_name)
    kept = [one for one in suite.benchmarks if one.name in names or one.is_control(under_test)]
    changed = {one.name: suite.changed[one.name] for one in kept if one.name in suite.changed}
    return replace(suite, benchmarks=tuple(kept), gone=(), changed=changed)


def definitions(suite: GateSuite) -> dict[str, str]:
    """Return a digest of each benchmark's work, code included: figures of one name are comparable where it is equal."""
    work = {one.name: suite.work[one.name] for one in suite.benchmarks if one.name in suite.work}
    return {name: digest_of(json.dumps(one, sort_keys=True, default=str).encode()) for name, one in work.items()}


def _check_keys(data: Mapping[str, Any], keys: set[str]) -> None:
    for key in data.keys() - keys:
        raise suggest("key", key, keys)


def _source(workloads: Path) -> bytes:
    try:
        return bounded_file.read(workloads, MOST_BYTES, f"workloads {workloads}")
    except OSError as error:
        raise InputError(f"workloads {workloads} cannot be read: {error.strerror or error}") from None


def _code(source: bytes, whose: str) -> dict[str, str]:
    """Return a digest for each top-level function of a workloads file, of its code and of the file's shared code.

    The file is parsed and not run, since it may import libraries that only the arms have. Comments, docstrings and
    formatting do not count. A public function whose name the file's code does not use belongs only to its own
    benchmarks, so that a workload can be added. Everything else is shared by all benchmarks, however they use it.

    Raises:
        InputError: the file is not valid Python; ``whose`` begins the message.
    """
    tree = plain_tree(source, whose)
    named = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    own, shared = dict[str, str](), []
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef) and not (statement.name in named or statement.name.startswith("_")):
            own[statement.name] = own.get(statement.name, "") + ast.dump(statement)
        else:
            shared.append(ast.dump(statement))
    functions = [statement.name for statement in tree.body if isinstance(statement, ast.FunctionDef)]
    return {name: digest_of(*(part.encode("utf-8", "surrogatepass") for part in (own.get(name, name), *shared)))
            for name in functions}  # fmt: skip


def plain_tree(source: bytes, whose: str) -> ast.Module:
    """Return the tree of a source without docstrings; raise ``InputError`` where it is not valid Python."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError) as error:
        raise InputError(f"{whose} not valid Python: {error}") from None
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            texts = {one for one in node.body if isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant)}
            node.body = [one for one in node.body if one not in texts] or [ast.Pass()]
    return tree


def digest_of(*parts: bytes) -> str:
    """Return the SHA-256 of parts, each with its length."""
    whole = hashlib.sha256()
    for part in parts:
        whole.update(len(part).to_bytes(8, "little"))
        whole.update(part)
    return whole.hexdigest()


def _work(data: Mapping[str, Any], code: Mapping[str, str]) -> dict[str, Work]:
    """Return the work of each benchmark; ignore unknown keys, which an older file may have.

    Raises:
        InputError: the data has another shape.
    """
    corpora = {**CORPORA, **json_values.get(data, "corpora", dict, default={})}
    library = json_values.get(data, "library", str, default="")
    work: dict[str, Work] = {}
    for entry in json_values.get(data, "benchmarks", list):
        plain = {key: json_values.get(entry, key, type(default), default=default) for key, default in _PARTS.items()}
        own = {kind: corpora.get(kind) for kind in kinds(plain["text"], plain["options"])}
        measured = {"library": entry.get("library", library), "corpora": own, "code": code.get(plain["workload"])}
        work[json_values.get(entry, "name", str)] = {**plain, **measured}
    return work


def against(suite: GateSuite, path: Path, sources: Pair, budget: float) -> GateSuite:
    """Compare a suite with the same file in the base, if the base is a revision that has the file.

    Args:
        suite: the suite as read.
        path: its file.
        sources: base and head.
        budget: budget of benchmarks without their own.

    Returns:
        The suite with gone benchmarks, changed work, the base's budgets where its own are looser, and notes.
    """
    base, path = sources[0], path.resolve()
    own = Checkout.around(path.parent) if isinstance(base, Revision) else None
    tops = {source.checkout.top.resolve() for source in sources if isinstance(source, Revision)}
    if own is None or not isinstance(base, Revision) or (top := own.top.resolve()) not in tops:
        return suite
    if (content := _content(base, path.relative_to(top))) is None:
        return suite
    try:
        data = _parse(content)
        entries = {json_values.get(entry, "name", str): entry for entry in json_values.get(data, "benchmarks", list)}
        suite = _apply_smaller_budgets(suite, {name: budget_of(entry) for name, entry in entries.items()}, budget)
    except InputError as error:
        note = f"suite {suite.name!r} of the base cannot be read ({error}): a removed benchmark goes unnoticed"
        return replace(suite, notes=(note,))
    try:
        before = _work(data, _code(_workloads(base, top, path, data), "its workloads are"))
    except InputError as error:
        note = f"what the benchmarks of suite {suite.name!r} do in the base is not known: {error}"
        return replace(suite, notes=(*suite.notes, note))
    changed = {name: changes(before[name], now) for name, now in suite.work.items() if name in before}
    return replace(suite, changed={name: parts for name, parts in changed.items() if parts})


def _parse(content: bytes) -> Mapping[str, Any]:
    try:
        data: Mapping[str, Any] = tomllib.loads(content.decode())
    except (ValueError, RecursionError) as error:
        raise InputError(str(error)) from None
    return data


def changes(before: Work, now: Work) -> str:
    """Name the parts in which a benchmark's work differs; empty where it does not.

    >>> changes({"bytes": 64, "code": "a"}, {"bytes": 8, "code": "b"})
    'bytes (64, now 8), code'
    """
    differ = (part for part in now if before.get(part) != now[part])
    return ", ".join(part if part == "code" else f"{part} ({before.get(part)!r}, now {now[part]!r})" for part in differ)


def _workloads(base: Revision, top: Path, path: Path, earlier: Mapping[str, Any]) -> bytes:
    """Return the base's source of the workloads; a file outside of the checkout as it is now."""
    own = json_values.get(earlier, "workloads", str, default="")
    file = Path(os.path.normpath(path.parent / own)) if own else WORKLOADS.resolve()
    if not file.is_relative_to(top):
        try:
            return file.read_bytes()
        except OSError as error:
            raise InputError(f"{file} cannot be read: {error.strerror or error}") from None
    if (content := _content(base, file.relative_to(top))) is None:
        raise InputError(f"the base has no {str(file.relative_to(top))!r}")
    return content


def _content(base: Revision, place: Path) -> bytes | None:
    """Return the base's file; None where it is absent or cannot be read."""
    try:
        if base.changes is not None:  # the base is a working tree
            return (base.checkout.top / place).read_bytes()
        return base.checkout.content(base.commit, place)
    except (GitFailed, OSError):
        return None


def _apply_smaller_budgets(suite: GateSuite, earlier: Mapping[str, float | None], budget: float) -> GateSuite:
    notes, tighter = [], {}
    for one in suite.benchmarks:
        now, before = one.budget or budget, earlier.get(one.name, math.inf) or budget
        if now > before:
            tighter[one.name] = replace(one, budget=earlier[one.name])
            notes.append(f"{one.name}: the suite allows {now:.3g}, the base's suite {before:.3g}, which applies")
    benchmarks = tuple(tighter.get(one.name, one) for one in suite.benchmarks)
    gone = tuple(name for name in earlier if name not in {one.name for one in benchmarks})
    return replace(suite, benchmarks=benchmarks, gone=gone, notes=tuple(notes))

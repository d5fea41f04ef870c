"""What the benchmarks of a suite do, by its file and its workloads: so that two versions of them can be compared.

Code is compared as it is parsed: a function, and all in its file that it reaches by name. Comments, docstrings and the
way it is set do not count; what a file does beside naming things counts everywhere. What a workload does by other means
than names (``globals``, ``exec``, a call for the sake of what it changes) is not followed.
"""

from __future__ import annotations

import ast
import hashlib
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from pyharness.features.gate.suites.reading import CORPORA, kinds
from pyharness.store import shape
from pyharness.types import InputError

Definition: TypeAlias = Mapping[str, Any]  # value of each part
_DEFAULTS: Mapping[str, Any] = {"workload": "", "text": "english", "bytes": 0, "threads": 1, "options": {}}
_Names: TypeAlias = Mapping[str, Sequence[ast.stmt]]  # statements by what they give a name


def parsed(content: bytes) -> Mapping[str, Any]:
    """Read a suite file; raises ``InputError`` where it is none."""
    try:
        data: Mapping[str, Any] = tomllib.loads(content.decode())
    except (ValueError, RecursionError) as error:
        raise InputError(str(error)) from None
    return data


def definitions(data: Mapping[str, Any], workloads: bytes) -> dict[str, Definition]:
    """Say of each benchmark what it does. Of an older file, keys that nobody knows any more are passed over.

    Args:
        data: a suite file, parsed.
        workloads: the source of its workloads.

    Raises:
        InputError: one of the two cannot be read.
    """
    reached = _reached(workloads)
    corpora = {**CORPORA, **shape.get(data, "corpora", dict, default={})}
    library = shape.get(data, "library", str, default="")
    entries = shape.get(data, "benchmarks", list)
    return {shape.get(entry, "name", str): _definition(entry, library, corpora, reached) for entry in entries}


def changes(before: Definition, now: Definition) -> str:
    """Say in which parts a benchmark differs; empty where it does not.

    >>> changes({"bytes": 64, "code": "a"}, {"bytes": 8, "code": "b"})
    'bytes (64, now 8), code'
    """
    differ = (part for part in now if before.get(part) != now[part])
    return ", ".join(part if part == "code" else f"{part} ({before.get(part)!r}, now {now[part]!r})" for part in differ)


def _definition(
    entry: Mapping[str, Any], library: str, corpora: Mapping[str, Any], reached: Mapping[str, str]
) -> Definition:
    plain = {key: entry.get(key, default) for key, default in _DEFAULTS.items()}
    own = {kind: corpora.get(kind) for kind in kinds(plain["text"], plain["options"])}
    measured = {"library": entry.get("library", library), "corpora": own}
    return {**plain, **measured, "code": reached.get(plain["workload"])}


def _reached(source: bytes) -> dict[str, str]:
    """Digest, for each function of a file, of all that it reaches."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError) as error:
        raise InputError(f"its workloads are not valid Python: {error}") from None
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = [one for one in node.body if not _is_text(one)] or [ast.Pass()]
    named: dict[str, list[ast.stmt]] = {}
    for statement in tree.body:
        for name in _given(statement):
            named.setdefault(name, []).append(statement)
    always = [one for one in tree.body if not any(True for _ in _given(one))]
    functions = [one for one in tree.body if isinstance(one, ast.FunctionDef)]
    return {one.name: _digest(_closure([one, *always], named)) for one in functions}


def _is_text(statement: ast.stmt) -> bool:
    """Whether it is a docstring, or does as little."""
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _given(statement: ast.stmt) -> Iterator[str]:
    """Names that a statement of a file gives to something; none where it does more than that."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield statement.name
    elif isinstance(statement, ast.Import | ast.ImportFrom):  # all that a star brings counts everywhere
        yield from ((alias.asname or alias.name).partition(".")[0] for alias in statement.names if alias.name != "*")
    elif isinstance(statement, ast.Assign | ast.AnnAssign):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        if all(isinstance(target, ast.Name) for target in targets):
            yield from (target.id for target in targets if isinstance(target, ast.Name))


def _closure(roots: Sequence[ast.stmt], named: _Names) -> list[str]:
    """All statements that these reach by name, as text, in an order of their own."""
    met: dict[int, str] = {}
    waiting = list(roots)
    while waiting:
        statement = waiting.pop()
        if id(statement) in met:
            continue
        met[id(statement)] = ast.dump(statement)
        for node in ast.walk(statement):
            if isinstance(node, ast.Name):
                waiting += named.get(node.id, ())
    return sorted(met.values())


def _digest(statements: Sequence[str]) -> str:
    return hashlib.sha256("\0".join(statements).encode("utf-8", "surrogatepass")).hexdigest()

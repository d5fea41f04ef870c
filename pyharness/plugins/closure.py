"""The code that a module runs: files of all that it imports of its package, directly or through others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path

# Read as text: to parse a hundred files takes as long as to import them.
_FROM = re.compile(r"^[ \t]*from[ \t]+([\w.]+)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)", re.MULTILINE)
_PLAIN = re.compile(r"^[ \t]*import[ \t]+([^\n]*)", re.MULTILINE)
_COMMENT = re.compile(r"#[^\n]*")


def import_closure(module: str, package: str) -> dict[str, Path]:
    """Files of a module and of what it imports of a package, by the modules' names.

    Imports within functions count, and those for type checking. So do the packages that a module lies in, which are
    run with it, but for ``package`` itself: its names may stand for all there is. Extensions are files without imports.
    """
    files: dict[str, Path] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        spec = None if name in files or name == package else _spec(name)
        if spec is None or spec.origin is None:
            continue
        files[name] = Path(spec.origin)
        if files[name].suffix == ".py":
            waiting += _imports(files[name].read_text(encoding="utf-8"), package)
        if name.startswith(f"{package}."):
            waiting.append(name.rpartition(".")[0])
    return files


def _imports(source: str, package: str) -> Iterator[str]:
    source = _COMMENT.sub("", source)
    for match in _FROM.finditer(source):
        if match[1].split(".")[0] == package:
            yield from _modules(match[1], re.findall(r"(\w+)(?:\s+as\s+\w+)?", match[2].strip("() \n")))
    for match in _PLAIN.finditer(source):
        for name in match[1].split(","):
            if name.split(".")[0].strip() == package:
                yield name.split()[0]


def _modules(source: str, names: list[str]) -> Iterator[str]:
    """Modules behind ``from source import names``: the source, and those of the names that are modules in it."""
    yield source
    spec = _spec(source)
    if spec is not None and spec.submodule_search_locations is not None:
        yield from (f"{source}.{name}" for name in names)


def _spec(name: str) -> ModuleSpec | None:
    try:
        return find_spec(name)
    except (ImportError, ValueError):
        return None

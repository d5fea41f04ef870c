"""The code that a module runs: files of all its imports from its package, direct or indirect."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path

# Read as text: parsing a hundred files takes as long as importing them.
_FROM = re.compile(r"^[ \t]*from[ \t]+([\w.]+)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)", re.MULTILINE)
_PLAIN = re.compile(r"^[ \t]*import[ \t]+([^\n]*)", re.MULTILINE)
_COMMENT = re.compile(r"#[^\n]*")


def import_closure(module: str, package: str) -> dict[str, Path]:
    """Return the files of a module and of its imports from a package, by module name.

    Imports within functions and for type checking count; relative ones do not. The packages that contain a module
    count, as they run with it. ``package`` itself does not: its names may refer to everything. Extensions are files
    without imports.
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
            yield match[1]
            spec = _spec(match[1])
            if spec is not None and spec.submodule_search_locations is not None:  # of a package, names may be modules
                names = re.findall(r"(\w+)(?:\s+as\s+\w+)?", match[2].strip("() \n"))
                yield from (f"{match[1]}.{name}" for name in names)
    for match in _PLAIN.finditer(source):
        for name in match[1].split(","):
            if name.split(".")[0].strip() == package:
                yield name.split()[0]


def _spec(name: str) -> ModuleSpec | None:
    try:
        return find_spec(name)
    except (ImportError, ValueError):
        return None

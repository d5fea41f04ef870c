"""The lower bound: what is too small to stand alone, and how large the trunk may be.

The rules of ``rules.py`` push towards splitting; these push back. ``crumbs(ROOT)`` is the set of all that is too small,
one sentence each, ``size_of(ROOT)`` the figures that have a limit; ``docs/architecture.md`` has the reasons.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from layout.graphs import python_imports, python_modules

LEAST_MODULES = 4  # of a package
LEAST_LINES = 60  # code lines of a module with one reader, which lies in its folder
NO_CODE = (
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
)


@dataclass(frozen=True, slots=True)
class Size:
    """Figures of the package that later work may not exceed."""

    trunk_lines: int  # code lines: neither blank, nor comments, nor docstrings
    trunk_modules: int
    lines: int
    modules: int
    shared_classes: frozenset[str]  # names that several classes have


def crumbs(root: Path) -> set[str]:
    """Return what is too small below ``root/pyharness``: packages of few modules, small modules with one reader.

    Each sentence begins with the path. Plug-ins have no reader: nobody imports them by name.
    """
    return {*_small_packages(root), *_lone_modules(root)}


def _small_packages(root: Path) -> Iterator[str]:
    files = [file for file in python_modules(root).values() if file.name != "__init__.py"]
    for folder, count in Counter(file.parent.relative_to(root).as_posix() for file in files).items():
        if count < LEAST_MODULES and folder != "pyharness":
            yield f"{folder} holds {count} modules, fewer than {LEAST_MODULES}"


def _lone_modules(root: Path) -> Iterator[str]:
    files, readers = python_modules(root), defaultdict(set)
    for module, targets in python_imports(root).items():
        for target in targets:
            readers[target].add(module)
    for module, file in files.items():
        near = [reader for reader in readers[module] if files[reader].parent == file.parent]
        lone = len(readers[module]) == len(near) == 1 and file.name != "__init__.py"
        if lone and (count := code_lines(file)) < LEAST_LINES:
            yield f"{file.relative_to(root).as_posix()} has {count} lines and one reader, {near[0]}"


def size_of(root: Path) -> Size:
    """Measure the package below ``root/pyharness``."""
    files = list(python_modules(root).values())
    trunk = [file for file in files if "features" not in file.relative_to(root / "pyharness").parts[:1]]
    modules, of_trunk = ([file for file in some if file.name != "__init__.py"] for some in (files, trunk))
    names = Counter(name for file in files for name in _classes(file))
    lines = {file: code_lines(file) for file in files}
    return Size(
        sum(lines[file] for file in trunk),
        len(of_trunk),
        sum(lines.values()),
        len(modules),
        frozenset(name for name, count in names.items() if count > 1),
    )


def _classes(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ClassDef):
            yield node.name.strip("_")


def code_lines(file: Path) -> int:
    """Count the lines of a module that hold code: neither blank lines, nor comments, nor docstrings."""
    text = file.read_text(encoding="utf-8")
    code = {
        line
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type not in NO_CODE
        for line in range(token.start[0], token.end[0] + 1)
    }
    return len(code - set(_docstring_lines(ast.parse(text))))


def _docstring_lines(tree: ast.Module) -> Iterator[int]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node, clean=False):
            yield from range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1)

"""Tests that quote sentences of the package. Each makes a sentence harder to mend.

A test quotes if ``IN_A_ROW`` consecutive words of one of its strings stand in one string of the package. Docstrings and
names do not count. List them, those of some folders, or only how many there are::

    python tests/support/layout/quotations.py [tests/cli ...]
"""

from __future__ import annotations

import ast
import gc
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType
from typing import NamedTuple

IN_A_ROW = 4
_WORD = re.compile(r"[A-Za-z_']+")  # a name is one word
_ESCAPED = re.compile(r"\\(.)")  # of a regular expression: \. is a full stop


class Quotation(NamedTuple):
    """A test and the first words that it shares with a string of the package."""

    file: str
    test: str
    words: str


def quotations(checkout: Path) -> list[Quotation]:
    """Tests of a checkout that quote its package, one line for each test function."""
    said = {run for path in _modules(checkout / "pyharness") for text in _said(path) for run in _runs(text)}
    found = []
    with _no_collector():
        for path in _modules(checkout / "tests"):
            for test in _tests(ast.parse(path.read_text(encoding="utf-8"))):
                quoted = next((run for text in _strings(test) for run in _runs(text) if run in said), None)
                if quoted:
                    found.append(Quotation(path.relative_to(checkout).as_posix(), test.name, " ".join(quoted)))
    return found


def _modules(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.py"))


def _said(path: Path) -> Iterator[str]:
    """Strings of a module, as compiled: without docstrings, and twice as fast as from its syntax tree."""
    constants: list[object] = [compile(path.read_bytes(), path, "exec", dont_inherit=True, optimize=2)]
    while constants:
        constant = constants.pop()
        if isinstance(constant, CodeType):
            constants += constant.co_consts
        elif isinstance(constant, tuple | frozenset):
            constants += constant
        elif isinstance(constant, str) and " " in constant:  # no name, spec or address
            yield constant


@contextmanager
def _no_collector() -> Iterator[None]:
    """Syntax trees are many objects without a cycle; looking for cycles takes half of the time."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _tests(scope: ast.Module | ast.ClassDef) -> Iterator[ast.FunctionDef]:
    for node in scope.body:
        if isinstance(node, ast.ClassDef):
            yield from _tests(node)
        elif isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield node


def _strings(test: ast.FunctionDef) -> Iterator[str]:
    """Strings of a test and its decorators. A string that stands alone is a docstring."""
    alone = set()
    for node in ast.walk(test):
        if isinstance(node, ast.Expr):
            alone.add(node.value)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in alone:
            yield node.value


def _runs(text: str) -> Iterator[tuple[str, ...]]:
    words = [word.lower() for word in _WORD.findall(_ESCAPED.sub(r"\1", text))]
    return zip(*(words[start:] for start in range(IN_A_ROW)), strict=False)


if __name__ == "__main__":
    lines = quotations(Path(__file__).parents[3])
    shown = [line for line in lines if line.file.startswith(tuple(sys.argv[1:]) or "")]
    print(*(f"{file}: {test}: {words}" for file, test, words in shown), sep="\n")
    print(f"{len(shown)} of {len(lines)} tests that quote")

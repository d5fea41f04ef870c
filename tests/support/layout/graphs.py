"""Reads what imports and includes what from sources, without running any; and finds circles among them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import TypeAlias

Graph: TypeAlias = Mapping[str, AbstractSet[str]]
INCLUDE = re.compile(r"""^[ \t]*#[ \t]*include[ \t]*(?:"([^"]+)"|<([^>]+)>)""", re.MULTILINE)
HEADERS = (".hpp", ".h", ".hh", ".hxx", ".cuh", ".inc", ".inl", ".ipp", ".tpp")
NATIVE_SUFFIXES = (*HEADERS, ".cpp", ".c", ".cc", ".cxx", ".cu")


def python_modules(root: Path) -> dict[str, Path]:
    """Return the file of each module of the package, by dotted name."""
    files = sorted((root / "pyharness").rglob("*.py"))
    return {".".join(file.relative_to(root).with_suffix("").parts).removesuffix(".__init__"): file for file in files}


def python_imports(root: Path) -> dict[str, set[str]]:
    """Return the modules of the package that each imports: at the top, within functions or for type checking alone.

    A name imported from a package is a module where there is one, else the package. An extension, which has no file,
    stands under its own name.
    """
    modules = python_modules(root)
    return {
        module: {_module_of(name, modules) for name in imported_names(file, module)} - {module}
        for module, file in modules.items()
    }


def _module_of(name: str, modules: Mapping[str, Path]) -> str:
    while name not in modules and "." in name and not name.startswith("pyharness._"):
        name = name.rpartition(".")[0]
    return name


def imported_names(file: Path, module: str) -> Iterator[str]:
    """Yield the names of ours that a file imports: ``a.b.c`` for ``from a.b import c``."""
    package = module if file.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        for name in _names(node, package):
            if name.split(".")[0] == "pyharness":
                yield name


def _names(node: ast.AST, package: str) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
        source = ".".join([*above, *([node.module] if node.module else [])])
        yield from (f"{source}.{alias.name}" for alias in node.names)
    elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if called in ("import_module", "__import__"):
            yield str(node.args[0].value)


def includes(root: Path) -> dict[str, set[str]]:
    """Return what each file of ``root/csrc`` includes: a path below ``root``, or ``<header>`` of a library."""
    base = root / "csrc"
    files = sorted(file for file in base.rglob("*") if file.suffix in NATIVE_SUFFIXES)
    return {
        file.relative_to(root).as_posix(): {
            _included(root, file, own, library) for own, library in INCLUDE.findall(file.read_text(encoding="utf-8"))
        }
        for file in files
    }


def _included(root: Path, file: Path, own: str, library: str) -> str:
    """Path below ``root`` of a file of ours, in quotes or in angle brackets; else the header in angle brackets."""
    name, base = own or library, (root / "csrc").resolve()
    beside = (file.parent / name).resolve()
    target = beside if own and beside.is_file() else (base / name).resolve()
    ours = target.is_relative_to(base) and (bool(own) or (base / library.split("/")[0]).is_dir())
    return target.relative_to(root.resolve()).as_posix() if ours else f"<{name}>"


def circles(graph: Graph) -> list[set[str]]:
    """Return the groups of nodes that all reach each other, of two or more each (Tarjan, SIAM J. Comput. 1, 1972)."""
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    open_nodes: list[str] = []
    result: list[set[str]] = []

    def visit(node: str) -> None:
        order[node] = lowest[node] = len(order)
        open_nodes.append(node)
        for target in sorted(graph.get(node, ())):
            if target not in order:
                visit(target)
                lowest[node] = min(lowest[node], lowest[target])
            elif target in open_nodes:
                lowest[node] = min(lowest[node], order[target])
        if lowest[node] == order[node]:
            first = open_nodes.index(node)
            group = set(open_nodes[first:])
            del open_nodes[first:]
            if len(group) > 1:
                result.append(group)

    for node in sorted(graph):
        if node not in order:
            visit(node)
    return result

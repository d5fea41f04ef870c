"""Imports point downwards only; the core knows no Python; heavy libraries stay out of package import."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pyharness.cli import main

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "pyharness"
LAYERS = (
    "types registry atomic_file bounded_file",
    "vocabularies",
    "bpe kernels timing environment network lifeline ending process_tree",
    "child_process",
    "tokenizers corpora trainers language_models",
    "metrics",
    "benchmarks profiling",
    "suite store",
    "answers texts_read relative_lengths",
    "worker process schedule comparison rederiving",
    "runner report",
    "session catalogue training piping",
    "progress",
    "cli",
)
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names.split()}
HEAVY = {
    "pandas",
    "rich",
    "tokenizers",
    "tiktoken",
    "sentencepiece",
    "torch",
    "cupy",
    "transformers",
    "datasets",
    "pyarrow",
}
MODULES = sorted(PACKAGE.rglob("*.py"))


def room(path: Path) -> str:
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def imports(path: Path, *, top_level: bool = False) -> Iterator[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = tree.body if top_level else list(ast.walk(tree))
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from ([f"{node.module}.{alias.name}" for alias in node.names])
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_down(path: Path) -> None:
    here = room(path)
    if here in ("__init__", "__main__"):
        return
    assert here in LEVEL, f"room {here!r} has no layer: add it to LAYERS and to the design"
    used = {name.split(".")[1] for name in imports(path) if name.startswith("pyharness.")}
    above = [name for name in used if name in LEVEL and LEVEL[name] > LEVEL[here]]
    assert not above, f"{here} imports from a higher layer: {above}"
    if here not in ("kernels", "bpe"):
        assert "_core" not in used, "only kernels and bpe touch the extension"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_heavy_libraries_are_imported_where_they_are_used(path: Path) -> None:
    assert not {name.split(".")[0] for name in imports(path, top_level=True)} & HEAVY


def test_the_core_includes_no_python() -> None:
    for path in (ROOT / "csrc" / "core").iterdir():
        if path.suffix in (".hpp", ".cpp"):
            assert not re.search(r"#include [<\"](pybind11|Python|numpy|kernels/)", path.read_text(encoding="utf-8")), (
                path
            )


def test_importing_the_package_imports_almost_nothing() -> None:
    script = "import sys, pyharness; print(*{name.split('.')[0] for name in sys.modules})"
    done = subprocess.run([sys.executable, "-P", "-c", script], capture_output=True, text=True, check=True)
    assert not set(done.stdout.split()) & (HEAVY | {"numpy"})


@pytest.mark.parametrize("command", [None, *main.commands])
def test_help_imports_none_of_the_libraries(command: str | None) -> None:
    script = (
        "import atexit, sys\n"
        "atexit.register(lambda: print(*{name.split('.')[0] for name in sys.modules}, file=sys.stderr))\n"
        "from pyharness.cli import main\n"
        "main(prog_name='pyharness')\n"
    )
    arguments = [*([] if command is None else [command]), "--help"]
    done = subprocess.run([sys.executable, "-P", "-c", script, *arguments], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("Usage: pyharness")
    loaded = set(done.stderr.split())
    assert {"click", "pyharness"} <= loaded
    assert not loaded & (HEAVY | {"numpy"})


def test_listing_needs_none_of_the_libraries() -> None:
    blocked = sorted(HEAVY - {"rich"})
    script = (
        "import sys\n"
        f"for name in {blocked!r}: sys.modules[name] = None\n"
        "from pyharness import catalogue\n"
        "assert all(catalogue.KINDS[kind]() for kind in catalogue.KINDS)\n"
    )
    subprocess.run([sys.executable, "-P", "-c", script], check=True)

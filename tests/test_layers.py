"""The layout of the project holds, what breaks it is seen, and heavy libraries stay out of package import."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from layout.rules import MOST_FILES, MOST_LINES, Tables, faults
from pyharness.cli import main

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "pyharness"
TABLES = Tables(
    crowded={},
    generated={
        "csrc/core/splitting/classes.hpp": "written by generate_classes.py",
        "csrc/core/text/unicode_tables.hpp": "written by generate_unicode_tables.py",
    },
)
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


def test_the_layout_holds() -> None:
    assert faults(ROOT, TABLES) == set(), "against the layout: mend it, or change the rule and docs/architecture.md"


SKELETON = ("pyharness/types", "pyharness/plugins", "pyharness/commands/__init__.py", "csrc/core/merging")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Copy of some rooms, in order by itself."""
    for name in SKELETON:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, tmp_path / name)
    assert faults(tmp_path, Tables()) == set()
    return tmp_path


LAZY = "def call():\n    from pyharness.commands import anything\n"
TYPED = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import pyharness.commands\n"
NAMED = "import importlib\nimportlib.import_module('pyharness.commands')\n"
UPWARD = "pyharness.plugins.planted imports pyharness.commands, which is in a higher layer"
PLANTED: Mapping[str, tuple[Mapping[str, str], str]] = {
    "lazy upward import": ({"pyharness/plugins/planted.py": LAZY}, UPWARD),
    "upward import for types alone": ({"pyharness/plugins/planted.py": TYPED}, UPWARD),
    "upward import of a module that is run": (
        {"pyharness/plugins/__main__.py": LAZY},
        "pyharness.plugins.__main__ imports pyharness.commands, which is in a higher layer",
    ),
    "relative upward import": ({"pyharness/plugins/planted.py": "from ..commands import anything\n"}, UPWARD),
    "upward import by a string": ({"pyharness/plugins/planted.py": NAMED}, UPWARD),
    "public names within the package": (
        {"pyharness/plugins/planted.py": "from pyharness import run\n"},
        "pyharness.plugins.planted imports the public names of the package",
    ),
    "circle of modules": (
        {
            "pyharness/plugins/first.py": "from pyharness.plugins import second\n",
            "pyharness/plugins/second.py": "def call():\n    from pyharness.plugins.third import name\n",
            "pyharness/plugins/third.py": "import pyharness.plugins.first\n",
        },
        "modules in a circle: pyharness.plugins.first pyharness.plugins.second pyharness.plugins.third",
    ),
    "circle of rooms in one layer": (
        {
            "pyharness/plugins/first.py": "from pyharness.system import second\n",
            "pyharness/system/second.py": "",
            "pyharness/system/third.py": "from pyharness.plugins import fourth\n",
            "pyharness/plugins/fourth.py": "",
        },
        "rooms in a circle: pyharness/plugins pyharness/system",
    ),
    "circle of folders in a room": (
        {
            "pyharness/plugins/inner/first.py": "from pyharness.plugins import registry\n",
            "pyharness/plugins/second.py": "from pyharness.plugins.inner import first\n",
        },
        "folders in a circle: pyharness/plugins pyharness/plugins/inner",
    ),
    "room without a layer": ({"pyharness/helpers/first.py": ""}, "pyharness/helpers has no layer"),
    "trunk imports a feature": (
        {"pyharness/plugins/planted.py": "from pyharness.features.one import name\n", "pyharness/features/one.py": ""},
        "pyharness.plugins.planted imports pyharness.features.one, which is in a higher layer",
    ),
    "feature imports another": (
        {
            "pyharness/features/one/first.py": "from pyharness.features.two import second\n",
            "pyharness/features/two/second.py": "",
        },
        "pyharness.features.one.first imports pyharness.features.two.second, of another feature",
    ),
    "extension used three folders down": (
        {"pyharness/metrics/arguments/deep/planted.py": "def call():\n    from pyharness import _core\n"},
        "pyharness.metrics.arguments.deep.planted touches the extension pyharness._core",
    ),
    "core includes a kernel header": (
        {"csrc/core/merging/piece_merger/planted.hpp": '#include "kernels/pairs/rows.hpp"\n'},
        "csrc/core/merging/piece_merger/planted.hpp includes csrc/kernels/pairs/rows.hpp",
    ),
    "core includes a kernel header by a relative path": (
        {
            "csrc/core/merging/piece_merger/planted.hpp": ' # include "../../../kernels/pairs/rows.hpp"\n',
            "csrc/kernels/pairs/rows.hpp": "",
        },
        "csrc/core/merging/piece_merger/planted.hpp includes csrc/kernels/pairs/rows.hpp",
    ),
    "core includes a kernel header in angle brackets": (
        {
            "csrc/core/merging/piece_merger/planted.inl": "#include <kernels/pairs/rows.hpp>\n",
            "csrc/kernels/pairs/rows.hpp": "",
        },
        "csrc/core/merging/piece_merger/planted.inl includes csrc/kernels/pairs/rows.hpp",
    ),
    "kernel includes a core header": (
        {"csrc/kernels/pairs/planted.cu": '#include "core/machine/checks.hpp"\n'},
        "csrc/kernels/pairs/planted.cu includes csrc/core/machine/checks.hpp",
    ),
    "shared includes a core header": (
        {"csrc/shared/planted.hpp": '#include "core/machine/checks.hpp"\n'},
        "csrc/shared/planted.hpp includes csrc/core/machine/checks.hpp",
    ),
    "core includes pybind11": (
        {"csrc/core/merging/piece_merger/planted.hpp": "#include <pybind11/pybind11.h>\n"},
        "csrc/core/merging/piece_merger/planted.hpp includes <pybind11/pybind11.h>",
    ),
    "core includes CUDA": (
        {"csrc/core/merging/planted.hpp": "#include <cuda_runtime_api.h>\n"},
        "csrc/core/merging/planted.hpp includes <cuda_runtime_api.h>",
    ),
    "upward include within core": (
        {"csrc/core/text/planted.hpp": '#include "core/merging/dropout.hpp"\n'},
        "csrc/core/text/planted.hpp includes csrc/core/merging/dropout.hpp, which is in a higher layer",
    ),
    "circle of headers": (
        {
            "csrc/core/merging/first.hpp": '#include "core/merging/second.hpp"\n',
            "csrc/core/merging/second.hpp": '#include "core/merging/first.hpp"\n',
        },
        "files in a circle: csrc/core/merging/first.hpp csrc/core/merging/second.hpp",
    ),
    "circle of core's rooms in one layer": (
        {
            "csrc/core/pairs/first.hpp": '#include "core/entropy/second.hpp"\n',
            "csrc/core/entropy/second.hpp": "",
            "csrc/core/entropy/third.hpp": '#include "core/pairs/fourth.hpp"\n',
            "csrc/core/pairs/fourth.hpp": "",
        },
        "folders in a circle: csrc/core/entropy csrc/core/pairs",
    ),
    "core file in no room": ({"csrc/core/planted.hpp": ""}, "csrc/core/planted.hpp is in no room of csrc/core"),
    "native file in no room": ({"csrc/planted/planted.hpp": ""}, "csrc/planted/planted.hpp is in no room of csrc"),
    "sixteenth file": (
        {f"bench/deep/file_{number}.py": "" for number in range(MOST_FILES + 1)},
        f"bench/deep holds more than {MOST_FILES} source files",
    ),
    "long file": (
        {"tests/support/planted.cpp": "\n" * (MOST_LINES + 1)},
        f"tests/support/planted.cpp has more than {MOST_LINES} lines",
    ),
}


@pytest.mark.parametrize("case", PLANTED)
def test_a_planted_fault_is_seen(tree: Path, case: str) -> None:
    files, fault = PLANTED[case]
    for name, text in files.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text, encoding="utf-8")
    assert faults(tree, Tables()) == {fault}


def test_the_limits_are_allowed(tree: Path) -> None:
    (tree / "bench").mkdir()
    for number in range(MOST_FILES):
        (tree / f"bench/file_{number}.py").write_text("\n" * MOST_LINES, encoding="utf-8")
    assert faults(tree, Tables()) == set()


def test_an_exception_that_is_none_any_more_is_seen(tree: Path) -> None:
    tables = Tables(crowded={"pyharness/types": "reason"}, generated={"csrc/gone.hpp": "reason"})
    assert faults(tree, tables) == {
        "pyharness/types needs no exception any more",
        "csrc/gone.hpp needs no exception any more",
    }


def test_exceptions_have_reasons() -> None:
    assert all({**TABLES.crowded, **TABLES.generated}.values())


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_heavy_libraries_are_imported_where_they_are_used(path: Path) -> None:
    body = ast.parse(path.read_text(encoding="utf-8")).body
    assert not set(_libraries(body)) & HEAVY


def _libraries(statements: list[ast.stmt]) -> Iterator[str]:
    for node in statements:
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.split(".")[0]
        elif isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)


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
        "from pyharness.commands import catalogue\n"
        "assert all(catalogue.KINDS[kind]() for kind in catalogue.KINDS)\n"
    )
    subprocess.run([sys.executable, "-P", "-c", script], check=True)

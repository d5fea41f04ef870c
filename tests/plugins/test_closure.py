"""The files that a module runs are all found, without running any of the module's own package."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from pyharness.plugins.closure import import_closure


def made(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def test_every_kind_of_import_is_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {
        "made/__init__.py": "from made import everything\n",
        "made/everything.py": "",
        "made/first.py": "from made.inner import (  # of two\n  second,\n  number,\n)\nimport os, made.third as x\n",
        "made/inner/__init__.py": "number = 1\n",
        "made/inner/second.py": "def call():\n    from made.fourth import name as other\n# import made.sixth\n",
        "made/third.py": "import made.first\n",
        "made/fourth.py": "from json import decoder\nif TYPE_CHECKING:\n    from made import fifth\n",
        "made/fifth.py": "raise SystemExit\n",
        "made/sixth.py": "",
    }
    made(tmp_path, files)
    monkeypatch.syspath_prepend(str(tmp_path))
    closure = import_closure("made.first", "made")
    assert set(closure) == {"made.first", "made.inner", "made.inner.second", "made.third", "made.fourth", "made.fifth"}
    assert closure["made.inner"] == tmp_path / "made/inner/__init__.py"
    for name in [name for name in sys.modules if name.split(".")[0] == "made"]:
        monkeypatch.delitem(sys.modules, name)


def test_a_stranger_counts_with_what_it_imports_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(tmp_path, {"stranger.py": "from pyharness.types import errors\nfrom elsewhere import anything\n"})
    monkeypatch.syspath_prepend(str(tmp_path))
    closure = import_closure("stranger", "pyharness")
    assert {"stranger", "pyharness.types.results"} <= set(closure)
    assert "elsewhere" not in closure


def test_a_module_that_is_not_there_has_no_files() -> None:
    assert import_closure("no_such_module.inner", "pyharness") == {}

"""A library that is not installed costs one line, which says how to get it."""

from __future__ import annotations

import doctest
import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from pyharness.plugins import libraries
from pyharness.types import InputError, Unsupported


def test_the_line_names_the_extra() -> None:
    with pytest.raises(InputError) as caught:
        libraries.require("reading tea leaves", "no_such_module", "tea")
    assert re.match(r"reading tea leaves .*no_such_module.* 'pyharness\[tea\]'$", str(caught.value))


def test_the_line_names_the_distribution_and_all_extras() -> None:
    with pytest.raises(Unsupported) as caught:
        libraries.require("tea", "no_such_module", ("tea", "milk"), "no-such", error=Unsupported)
    assert re.match(r"tea .*no-such.* 'pyharness\[tea,milk\]'$", str(caught.value))


def test_a_missing_package_of_a_submodule_is_missing() -> None:
    assert not libraries.is_installed("no_such_package.module")
    assert libraries.folder_of("no_such_package.module") is None
    with pytest.raises(InputError, match=r"needs no_such_package\.module"):
        libraries.load("tea", "no_such_package.module", "tea")


def test_a_module_made_by_hand_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("made_by_hand")
    monkeypatch.setitem(sys.modules, "made_by_hand", module)
    monkeypatch.delattr(module, "__spec__")
    assert libraries.is_installed("made_by_hand")
    assert libraries.folder_of("made_by_hand") is None
    assert libraries.load("tea", "made_by_hand", "tea") is module
    with pytest.raises(InputError, match=r"tea .*made-by-hand.*folder"):
        libraries.require_folder("tea", "made_by_hand", "tea", "made-by-hand")


def test_a_library_that_cannot_be_imported_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "torn.py").write_text("raise ImportError('no libtorn.so')\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(Unsupported) as caught:
        libraries.load("tea", "torn", "milk", error=Unsupported, otherwise="drink water")
    assert re.match(r"tea .*torn.*\(no libtorn\.so\).* 'pyharness\[milk\]'.* drink water$", str(caught.value))


def test_asking_imports_nothing() -> None:
    before = set(sys.modules)
    assert libraries.is_installed("wave")
    assert libraries.require_folder("tea", "wave", "tea") == Path(str(wave_origin())).parent
    assert "wave" not in set(sys.modules) - before


def test_all_of_a_distribution_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for path, content in {
        "tea_leaves/__init__.py": "", "teapot.py": "", "_steam.py": "raise ImportError", "tea-1.0.data/x": "",
        "tea-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: tea\nVersion: 1.0\n",
        "tea-1.0.dist-info/RECORD": "".join(
            f"{name},,\n" for name in ("tea_leaves/__init__.py", "teapot.py", "_steam.py", "../tea", "tea-1.0.data/x")
        ),
    }.items():  # fmt: skip
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(content, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("tea_leaves", "teapot"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    libraries.import_all("tea")
    assert {"tea_leaves", "teapot"} <= set(sys.modules)
    libraries.import_all("no-such-distribution")


def wave_origin() -> str | None:
    spec = importlib.util.find_spec("wave")
    return spec.origin if spec else None


def test_the_examples_hold() -> None:
    assert doctest.testmod(libraries).failed == 0

"""Two environments that import one tree are refused: nothing could differ, and a pass would mean nothing."""

from __future__ import annotations

import json
import re
import venv
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from gating import small_project
from gating.arms import prepared
from pyharness.types import InputError

Install = Callable[[Path, Path], object]  # site-packages of an environment, and the tree


def _info(packages: Path, **files: str) -> None:
    info = packages / "tinytok-1.0.dist-info"
    info.mkdir()
    metadata = "Metadata-Version: 2.1\nName: tinytok\nVersion: 1.0\n"
    for name, text in {"METADATA": metadata, "RECORD": "", **files}.items():
        (info / name).write_text(text, encoding="utf-8")


def by_path_file(packages: Path, tree: Path) -> None:
    """As hatchling does: the tree is put on the search path."""
    _info(packages, RECORD="_tinytok.pth,,\n")
    (packages / "_tinytok.pth").write_text(f"{tree}\n", encoding="utf-8")


def by_finder(packages: Path, tree: Path) -> None:
    """As setuptools and scikit-build-core do: a finder that knows where modules are."""
    _info(
        packages, **{"top_level.txt": "tinytok\n", "RECORD": "__editable__.tinytok.pth,,\n__editable___tinytok.py,,\n"}
    )
    (packages / "__editable__.tinytok.pth").write_text("import __editable___tinytok\n", encoding="utf-8")
    (packages / "__editable___tinytok.py").write_text(
        "import sys\nfrom importlib.machinery import ModuleSpec\nfrom importlib.util import spec_from_file_location\n"
        "class Finder:\n    @staticmethod\n    def find_spec(name, path=None, target=None):\n"
        f"        return spec_from_file_location(name, {str(tree / 'tinytok.py')!r}) if name == 'tinytok' else None\n"
        "sys.meta_path.append(Finder)\n",
        encoding="utf-8",
    )


def by_note(packages: Path, tree: Path) -> None:
    """As nobody should: modules of other names, and nothing but the installer's note of the folder."""
    note = {"url": tree.as_uri(), "dir_info": {"editable": True}}
    _info(packages, **{"direct_url.json": json.dumps(note)})


def by_link(packages: Path, tree: Path) -> None:
    """As uv does where it is asked for symbolic links."""
    _info(packages, RECORD="tinytok.py,,\n")
    (packages / "tinytok.py").symlink_to(tree / "tinytok.py")


def by_copy(packages: Path, tree: Path) -> None:
    """Install a wheel."""
    with zipfile.ZipFile(small_project.wheel(packages)) as wheel:
        wheel.extractall(packages)
    _ = tree


def environment(folder: Path, install: Install, tree: Path) -> str:
    venv.EnvBuilder(symlinks=True).create(folder)
    (packages,) = folder.glob("lib/python*/site-packages")
    install(packages, tree)
    return str(folder)


def with_shared_module(packages: Path, tree: Path) -> None:
    """A module of its own, and one from a shared place."""
    by_copy(packages, tree)
    (packages / "tinytok-1.0.dist-info" / "RECORD").write_text("tinytok.py,,\nvendored.py,,\n", encoding="utf-8")
    (packages / "vendored.py").symlink_to(tree / "tinytok.py")


def in_namespace(packages: Path, tree: Path) -> None:
    """A file of its own in a folder of many distributions, of which another is shared."""
    _info(packages, RECORD="space/tiny.py,,\n")
    for folder in (packages / "space", tree / "space"):
        folder.mkdir(exist_ok=True)
        (folder / "tiny.py").touch()
    (packages / "another.pth").write_text(f"{tree}\n", encoding="utf-8")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    small_project.write(tmp_path / "tree")
    return tmp_path / "tree"


@pytest.mark.parametrize("install", [by_path_file, by_finder, by_note, by_link])
def test_one_tree_under_two_names_is_refused(tmp_path: Path, tree: Path, install: Install) -> None:
    one, other = (environment(tmp_path / name, install, tree) for name in ("one", "other"))
    said = f"the same files .*: tinytok is (file://)?{re.escape(str(tree))}"
    with pytest.raises(InputError, match=said), prepared(one, other, folder=tmp_path, library="tinytok"):
        pass
    with pytest.raises(InputError, match="the same files"), prepared(one, "./one", folder=tmp_path, library="tinytok"):
        pass
    with prepared(one, one, folder=tmp_path, library="tinytok") as made:  # what somebody asks for by one name
        assert made.base.version == made.head.version


def test_two_trees_and_two_copies_are_two(tmp_path: Path, tree: Path) -> None:
    small_project.write(tmp_path / "another")
    one = environment(tmp_path / "one", by_path_file, tree)
    two = environment(tmp_path / "two", by_path_file, tmp_path / "another")
    three, four = (environment(tmp_path / name, by_copy, tree) for name in ("three", "four"))
    for pair in ((one, two), (three, four), (one, three)):
        with prepared(*pair, folder=tmp_path, library="tinytok") as made:
            assert made.base.version == made.head.version == "1.0"


@pytest.mark.parametrize("install", [with_shared_module, in_namespace])
def test_one_shared_place_among_others_is_no_refusal(tmp_path: Path, tree: Path, install: Install) -> None:
    pair = [environment(tmp_path / name, install, tree) for name in ("one", "other")]
    with prepared(*pair, folder=tmp_path, library="tinytok") as made:
        assert made.base.version == made.head.version == "1.0"

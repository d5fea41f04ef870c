"""Nothing is too small to stand alone, the trunk does not grow, and what breaks this is seen."""

from __future__ import annotations

from pathlib import Path

import pytest

from layout.bounds import LEAST_LINES, code_lines, crumbs, size_of

ROOT = Path(__file__).parents[1]
# Later work may not exceed these; a new feature raises those of all by its own size. The trunk has at most 24,000 lines
# and 260 modules. Raised last: profiles on a GPU (all, by 276 lines), two
# streams of linear_entropy (both, by 52).
MOST_TRUNK_LINES, MOST_TRUNK_MODULES = 23_850, 205
MOST_LINES, MOST_MODULES = 57_658, 469
MOST_SHARED_CLASSES = 0


def test_nothing_is_too_small() -> None:
    assert crumbs(ROOT) == set(), "fold it into its reader or its parent; docs/architecture.md, house rule 12"


def test_the_trunk_has_not_grown() -> None:
    size = size_of(ROOT)
    assert size.trunk_lines <= MOST_TRUNK_LINES
    assert size.trunk_modules <= MOST_TRUNK_MODULES
    assert size.lines <= MOST_LINES
    assert size.modules <= MOST_MODULES
    assert len(size.shared_classes) <= MOST_SHARED_CLASSES, sorted(size.shared_classes)


LONG = "".join(f"NUMBER_{number} = {number}\n" for number in range(LEAST_LINES))


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A package of four modules, none with a reader, in a room."""
    for name in ("first", "second", "third", "fourth"):
        _write(tmp_path, f"pyharness/room/{name}.py", "")
    assert crumbs(tmp_path) == set()
    return tmp_path


def _write(root: Path, name: str, text: str) -> None:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(text, encoding="utf-8")


def test_a_package_of_three_is_seen(tree: Path) -> None:
    (tree / "pyharness/room/fourth.py").unlink()
    _write(tree, "pyharness/room/__init__.py", "")
    assert crumbs(tree) == {"pyharness/room holds 3 modules, fewer than 4"}


def test_a_small_module_with_one_reader_beside_it_is_seen(tree: Path) -> None:
    _write(tree, "pyharness/room/first.py", "from pyharness.room import second\n")
    assert crumbs(tree) == {"pyharness/room/second.py has 0 lines and one reader, pyharness.room.first"}
    _write(tree, "pyharness/room/third.py", "from pyharness.room.second import name\n")
    assert crumbs(tree) == set()


def test_a_chapter_may_have_one_reader_and_a_reader_elsewhere_counts(tree: Path) -> None:
    _write(tree, "pyharness/room/first.py", "from pyharness.room import second\n")
    _write(tree, "pyharness/room/second.py", LONG)
    assert crumbs(tree) == set()
    for name in ("one", "two", "three", "four"):
        _write(tree, f"pyharness/other/{name}.py", "from pyharness.room import third\n" if name == "one" else "")
    assert crumbs(tree) == set()


FOUR = '''"""Module.

More."""

import os  # why


# A comment.
class Row:
    """Row."""

    name = """two
lines"""
'''


def test_what_is_counted(tree: Path) -> None:
    _write(tree, "pyharness/room/first.py", FOUR)
    _write(tree, "pyharness/features/one/first.py", "class _Row:\n    pass\n")
    assert code_lines(tree / "pyharness/room/first.py") == 4
    size = size_of(tree)
    assert (size.trunk_lines, size.trunk_modules, size.lines, size.modules) == (4, 4, 6, 5)
    assert size.shared_classes == {"Row"}

"""An export with changes is the working tree: after any edits, file by file, and nothing outside of it is touched."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from gating import small_project
from pyharness.features.gate.builds import names as sources
from pyharness.features.gate.builds.checkouts import Checkout, GitFailed

SEQUENCES = 40
Tree = dict[str, tuple[str, object]]


def tree(top: Path) -> Tree:
    """All files and links below a folder but those that are ignored: kind, and content and permission or target."""
    found: Tree = {}
    for folder, folders, files in os.walk(top):
        folders[:] = [one for one in folders if one != ".git" and not one.endswith(".log")]
        for name in (*folders, *files):
            path = Path(folder, name)
            if path.suffix == ".log":
                continue
            if path.is_symlink():
                found[str(path.relative_to(top))] = ("link", str(path.readlink()))
            elif path.is_file():
                found[str(path.relative_to(top))] = (f"file {path.stat().st_mode & 0o100}", path.read_bytes())
    return found


def exported(project: Path, target: Path) -> Tree:
    checkout = Checkout.around(project)
    assert checkout is not None
    checkout.export(str(checkout.commit("HEAD")), target, changed=True)
    return tree(target)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with folders, links, a program, and a folder outside of it that has files of the same names."""
    folder = tmp_path / "project"
    small_project.write(folder)
    (folder / ".gitignore").write_text("*.log\n", encoding="utf-8")
    for place in (folder, tmp_path / "outside"):
        for name in ("a/one", "a/two", "a/b/one", "c/one"):
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_text(f"{place.name} {name}", encoding="utf-8")
    (folder / "to_file").symlink_to("a/one")
    (folder / "to_folder").symlink_to("a")
    (folder / "to_outside").symlink_to(tmp_path / "outside")
    (folder / "program").write_text("#!/bin/sh\n", encoding="utf-8")
    (folder / "program").chmod(0o755)
    small_project.commit(folder)
    return folder


def gone(path: Path) -> Path:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    return path


def link(path: Path, target: str | Path) -> None:
    gone(path).symlink_to(target)


def file(path: Path, content: str = "new") -> Path:
    gone(path).parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")
    return path


EDITS: dict[str, Callable[[Path], object]] = {
    "a folder becomes a link": lambda top: link(top / "a", "c"),
    "a folder becomes a link to outside": lambda top: link(top / "a", top.parent / "outside/a"),
    "a folder becomes a link to nothing": lambda top: link(top / "a", "nowhere"),
    "a folder becomes a link to a file": lambda top: link(top / "a", "program"),
    "an inner folder becomes a link": lambda top: link(top / "a/b", ".."),
    "a link becomes a folder": lambda top: [file(top / "to_folder/one"), file(top / "to_folder/new/x")],
    "a link to outside becomes a folder": lambda top: [gone(top / "to_outside"), file(top / "to_outside/a/one")],
    "a link to outside goes, as a folder": lambda top: gone(top / "to_outside").mkdir(),
    "a link becomes a file": lambda top: file(top / "to_file", "a/one"),
    "a file becomes a link to itself as it was": lambda top: link(top / "a/one", top / "a/two"),
    "a file becomes a folder": lambda top: [gone(top / "a/one"), file(top / "a/one/deep/x")],
    "a folder becomes a file": lambda top: file(top / "a"),
    "a program is none": lambda top: (top / "program").chmod(0o644),
    "a file is a program": lambda top: (top / "a/two").chmod(0o755),
    "a folder is renamed": lambda top: (top / "a").rename(top / "renamed"),
    "a folder takes the place of another": lambda top: [gone(top / "c"), (top / "a").rename(top / "c")],
    "a file is a FIFO": lambda top: os.mkfifo(gone(top / "c/one")),
    "new files": lambda top: [file(top / "new.log"), file(top / 'new/ä\n"x'), file(top / os.fsdecode(b"\xff\xfe"))],
    "staged and changed": lambda top: [file(top / "s"), small_project.git(top, "add", "s"), file(top / "s", "later")],
    "staged and gone": lambda top: [file(top / "s"), small_project.git(top, "add", "s"), gone(top / "s")],
    "forgotten": lambda top: small_project.git(top, "rm", "--cached", "-q", "program"),
    "meant to be added": lambda top: [file(top / "n"), small_project.git(top, "add", "-N", "n")],
    "all is gone": lambda top: [gone(one) for one in top.iterdir() if one.name not in (".git", "pyproject.toml")],
}


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit(edit: str, project: Path, tmp_path: Path) -> None:
    outside = tree(tmp_path / "outside")
    EDITS[edit](project)
    before = tree(project)
    assert exported(project, tmp_path / "tree") == before
    assert tree(tmp_path / "outside") == outside
    assert tree(project) == before
    folders = {str(Path(one).relative_to(tmp_path / "tree")) for one, _, _ in os.walk(tmp_path / "tree")}
    assert not [one for one in folders if not one.startswith(".git") and not (project / one).is_dir()]


def edit_at_random(top: Path, drawn: random.Random) -> None:
    """Change one thing: any path becomes something else, or is moved, or is gone."""
    there = [path for path in top.rglob("*") if ".git" not in path.parts and path.name != "pyproject.toml"]
    names = ["x", "y", "x/y", "a/x", "a/b/x", "to_folder/z", "z.log", "d/e/f"]
    path = drawn.choice([*there, *(top / name for name in names)])
    if not path.parent.resolve().is_relative_to(top) or path.parent.is_symlink():
        return
    above = next((one for one in path.parents if one.is_symlink() or one.is_file()), None)
    if above is not None:
        return
    what = drawn.randrange(6)
    if what == 0:
        file(path, str(drawn.randrange(3)))
    elif what == 1:
        path.parent.mkdir(parents=True, exist_ok=True)
        outside = top.parent / "outside"
        link(path, drawn.choice(["a", "a/one", "nowhere", ".", str(outside), str(outside / "a/one")]))
    elif what == 2:
        gone(path)
    elif what == 3 and path.is_file() and not path.is_symlink():
        path.chmod(drawn.choice([0o644, 0o755]))
    elif what == 4:
        gone(path)
        file(path / drawn.choice(["one", "two", "b/one"]), str(drawn.randrange(3)))
    elif what == 5 and path.exists():
        other = path.with_name(drawn.choice(["one", "two", "b", "moved"]))
        if other != path:
            gone(other)
            path.rename(other)


@pytest.mark.parametrize("seed", range(SEQUENCES))
def test_edits_at_random(seed: int, project: Path, tmp_path: Path) -> None:
    drawn = random.Random(seed)
    outside = tree(tmp_path / "outside")
    for _ in range(drawn.choice([1, 2, 5, 20])):
        edit_at_random(project, drawn)
        if drawn.random() < 0.1:
            small_project.git(project, "add", "--all")
    before = tree(project)
    assert exported(project, tmp_path / "tree") == before
    assert tree(tmp_path / "outside") == outside
    assert tree(project) == before


def test_what_is_different_has_another_digest(project: Path) -> None:
    digests = set()
    for edit in EDITS:
        small_project.git(project, "reset", "--hard", "--quiet")
        small_project.git(project, "clean", "-qfdx")
        EDITS[edit](project)
        found = sources.find("HEAD", ".", project)[1]
        assert isinstance(found, sources.Revision)
        digests.add(found.changes)
    assert len(digests) == len(EDITS)  # of what is staged and gone, none
    assert "" in digests
    small_project.git(project, "reset", "--hard", "--quiet")
    small_project.git(project, "clean", "-qfdx")
    file(project / "program", "x")
    digests = {Checkout(project, ".").digest()}
    (project / "program").chmod(0o755)
    digests.add(Checkout(project, ".").digest())
    link(project / "program", "x")
    digests.add(Checkout(project, ".").digest())
    file(project / "program", repr(Path("x")))
    digests.add(Checkout(project, ".").digest())
    assert len(digests) == 4


def test_files_that_git_was_told_not_to_look_at(project: Path, tmp_path: Path) -> None:
    small_project.git(project, "update-index", "--assume-unchanged", "a/one")
    file(project / "a/one", "changed")
    before = tree(project)
    assert exported(project, tmp_path / "tree") == before


def test_other_repositories_and_submodules_are_not_in_it(project: Path, tmp_path: Path) -> None:
    small_project.write(project / "nested")
    small_project.commit(project / "nested")
    assert "nested/tinytok.py" not in exported(project, tmp_path / "one")
    small_project.git(project, "add", "nested")
    assert "nested/tinytok.py" not in exported(project, tmp_path / "two")
    small_project.commit(project)
    file(project / "nested/tinytok.py", "changed")
    assert "nested/tinytok.py" not in exported(project, tmp_path / "three")
    assert not Checkout(project, ".").is_dirty()


def test_a_new_project_of_a_working_tree(project: Path, tmp_path: Path) -> None:
    small_project.write(project / "bindings")
    checkout = Checkout.around(project / "bindings")
    assert checkout is not None
    made = checkout.export(str(checkout.commit("HEAD")), tmp_path / "tree", changed=True)
    assert (made / "pyproject.toml").is_file()


def test_a_project_that_was_a_link_to_another_folder(project: Path, tmp_path: Path) -> None:
    link(project / "bindings", tmp_path / "outside")
    small_project.commit(project)
    gone(project / "bindings")
    small_project.write(project / "bindings")
    checkout = Checkout.around(project / "bindings")
    assert checkout is not None
    with pytest.raises(GitFailed, match=r"'bindings' is a link"):
        checkout.export(str(checkout.commit("HEAD")), tmp_path / "one")
    checkout.export(str(checkout.commit("HEAD")), tmp_path / "two", changed=True)

"""A folder with the files of a commit, wherever the commit is."""

from __future__ import annotations

from pathlib import Path

import pytest

from gating import small_project
from pyharness.features.gate.builds.checkouts import Checkout, GitFailed


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    small_project.write(folder)
    first = small_project.commit(folder)
    small_project.git(folder, "tag", "v1")
    small_project.write(folder, version="2.0")
    small_project.commit(folder)
    assert first != small_project.git(folder, "rev-parse", "HEAD")
    return folder


def exported(folder: Path, revision: str, target: Path) -> Path:
    checkout = Checkout.around(folder)
    assert checkout is not None
    commit = checkout.commit(revision)
    assert commit is not None
    return checkout.export(commit, target)


def test_the_files_of_a_commit(project: Path, tmp_path: Path) -> None:
    (project / ".gitattributes").write_text("backend.py export-ignore\n", encoding="utf-8")  # archives leave it out
    small_project.commit(project)
    (project / "tinytok.py").write_text("not committed", encoding="utf-8")
    target = exported(project, "HEAD", tmp_path / "tree")
    assert target == tmp_path / "tree"
    assert {one.name for one in target.iterdir()} == {
        *(".git", ".gitattributes", "backend.py", "pyproject.toml", "tinytok.py")
    }
    assert (target / "tinytok.py").read_text(encoding="utf-8") == small_project.CODE


def test_a_project_may_ask_git_for_its_version(project: Path, tmp_path: Path) -> None:
    target = exported(project, "HEAD", tmp_path / "tree")
    assert small_project.git(target, "describe", "--tags").startswith("v1-1-g")
    assert small_project.git(target, "status", "--porcelain") == ""
    assert small_project.git(target, "remote") == ""  # whose address may have a password in it


def test_hooks_of_the_user_do_not_run(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".gitconfig").write_text(f"[core]\n\thooksPath = {tmp_path}/hooks\n", encoding="utf-8")
    (tmp_path / "hooks").mkdir()
    hook = tmp_path / "hooks/post-checkout"
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n", encoding="utf-8")
    hook.chmod(0o755)
    exported(project, "HEAD", tmp_path / "tree")
    assert not (tmp_path / "ran").exists()


def test_of_a_shallow_clone_and_of_a_linked_working_tree(project: Path, tmp_path: Path) -> None:
    small_project.git(tmp_path, "clone", "--quiet", "--depth", "1", f"file://{project}", "shallow")
    small_project.git(project, "worktree", "add", "--quiet", str(tmp_path / "linked"), "HEAD~1")
    assert len(small_project.git(exported(tmp_path / "shallow", "HEAD", tmp_path / "one"), "log", "--oneline")) > 0
    text = (exported(tmp_path / "linked", "HEAD", tmp_path / "other") / "pyproject.toml").read_text(encoding="utf-8")
    assert 'version = "1.0"' in text


def test_a_project_that_the_commit_does_not_have_yet(project: Path, tmp_path: Path) -> None:
    small_project.write(project / "bindings")
    small_project.commit(project)
    assert exported(project / "bindings", "HEAD", tmp_path / "new") == tmp_path / "new/bindings"
    with pytest.raises(GitFailed, match="no folder 'bindings'"):
        exported(project / "bindings", "HEAD~1", tmp_path / "old")


def test_variables_of_a_hook_name_no_other_repository(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "nowhere"))
    checkout = Checkout.around(project)
    assert checkout is not None
    assert checkout.commit("HEAD") is not None


def test_what_the_working_tree_has_instead(project: Path, tmp_path: Path) -> None:
    (project / "tinytok.py").unlink()
    (project / "new").mkdir()
    (project / "new/näme.txt").write_text("new", encoding="utf-8")
    (project / "link").symlink_to("/nowhere")
    (project / "backend.py").unlink()
    (project / "backend.py").symlink_to("new/näme.txt")
    checkout = Checkout.around(project)
    assert checkout is not None
    target = checkout.export(str(checkout.commit("HEAD")), tmp_path / "tree", changed=True)
    assert not (target / "tinytok.py").exists()
    assert (target / "backend.py").read_text(encoding="utf-8") == "new"
    assert str((target / "link").readlink()) == "/nowhere"
    assert checkout.changes() == ["backend.py", "link", "new/näme.txt", "tinytok.py"]
    before = checkout.digest()
    (project / "link").unlink()
    (project / "link").symlink_to("/elsewhere")
    assert checkout.digest() != before

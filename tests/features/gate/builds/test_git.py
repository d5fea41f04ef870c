"""Programs that a stranger's checkout names in its configuration: none runs, whatever the gate asks git."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from gating import small_project
from pyharness.features.gate.builds import checkouts, names
from pyharness.features.gate.builds.checkouts import Checkout, GitFailed
from pyharness.system import program
from pyharness.types import InputError

# Configuration of a checkout; PROGRAM leaves a trace, and then does as `cat` or `false`.
PLANTED = {
    "fsmonitor": "[core]\n\tfsmonitor = PROGRAM\n",
    "hooks": "[core]\n\thooksPath = HOOKS\n",
    "an included file": "[include]\n\tpath = INCLUDED\n",
    "clean": '[filter "p"]\n\tclean = PROGRAM\n\trequired = true\n',
    "smudge": '[filter "p"]\n\tsmudge = PROGRAM\n\trequired = true\n',
    "process": '[filter "p"]\n\tprocess = PROGRAM\n\trequired = true\n',
    "a filter of an odd name": '[filter "p=q"]\n\tclean = PROGRAM\n',
    "textconv": '[diff "p"]\n\ttextconv = PROGRAM\n\tcommand = PROGRAM\n',
    "external": "[diff]\n\texternal = PROGRAM\n",
    "merge": '[merge "p"]\n\tdriver = PROGRAM\n',
    "pager": "[core]\n\tpager = PROGRAM\n[pager]\n\tdiff = PROGRAM\n\tstatus = PROGRAM\n",
    "alias": "[alias]\n" + "".join(f"\t{name} = !PROGRAM\n" for name in ("status", "diff", "checkout", "ls-files")),
    "signatures": "[log]\n\tshowSignature = true\n[gpg]\n\tprogram = PROGRAM\n",
    "alternates": "[core]\n\talternateRefsCommand = PROGRAM\n",
    "asking": "[core]\n\taskPass = PROGRAM\n\teditor = PROGRAM\n[credential]\n\thelper = !PROGRAM\n",
}
EVERY_FILE = "* filter=p diff=p merge=p\n*.odd filter=p=q\n"


@pytest.fixture
def ran(tmp_path: Path) -> Path:
    """The trace of the program; there are hooks that run it, too."""
    trace, program = tmp_path / "ran", tmp_path / "program"
    program.write_text(f'#!/bin/sh\necho "$0 $*" >> {trace}\nexec cat\n', encoding="utf-8")
    program.chmod(0o755)
    (tmp_path / "hooks").mkdir()
    for name in ("post-checkout", "post-index-change", "reference-transaction", "fsmonitor-watchman"):
        shutil.copy(program, tmp_path / "hooks" / name)
    (tmp_path / "included").write_text(f"[core]\n\tfsmonitor = {program}\n", encoding="utf-8")
    return trace


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    small_project.write(folder)
    (folder / ".gitattributes").write_text(EVERY_FILE, encoding="utf-8")
    (folder / "x.odd").write_text("x", encoding="utf-8")
    small_project.commit(folder)
    return folder


def plant(configuration: str, folder: Path, tmp_path: Path) -> None:
    for word, path in {"PROGRAM": "program", "HOOKS": "hooks", "INCLUDED": "included"}.items():
        configuration = configuration.replace(word, str(tmp_path / path))
    with (folder / "config").open("a", encoding="utf-8") as file:
        file.write(configuration)
    shutil.copytree(tmp_path / "hooks", folder / "hooks", dirs_exist_ok=True)


def touch(folder: Path) -> None:
    """Change files, and the times of others: git looks into these."""
    (folder / "tinytok.py").write_text("changed", encoding="utf-8")
    (folder / "backend.py").write_text(small_project.BACKEND, encoding="utf-8")
    (folder / "x.odd").write_text("y", encoding="utf-8")
    (folder / "new.txt").write_text("new", encoding="utf-8")


def ask_everything(folder: Path, target: Path) -> None:
    """Ask git all that a gate asks it of a checkout."""
    [*names.notes(names.find("HEAD", ".", folder))]
    [*names.notes(names.find("HEAD", "HEAD", folder))]
    checkout = Checkout.around(folder)
    assert checkout is not None
    commit = checkout.commit("HEAD")
    assert commit is not None
    checkout.names()
    checkout.is_shallow()
    assert checkout.is_dirty()
    assert not checkout.has(commit, Path(".gitmodules"))
    assert checkout.content(commit, Path("x.odd")) == b"x"
    checkout.export(commit, target, changed=True)
    assert (target / "x.odd").read_bytes() == b"y"


@pytest.mark.parametrize("kind", PLANTED)
def test_no_program_of_a_checkout_runs(kind: str, project: Path, ran: Path, tmp_path: Path) -> None:
    plant(PLANTED[kind], project / ".git", tmp_path)
    touch(project)
    ask_everything(project, tmp_path / "tree")
    assert not ran.exists(), ran.read_text(encoding="utf-8")


def test_the_attacks_are_attacks(project: Path, ran: Path, tmp_path: Path) -> None:
    for kind, arguments in {"fsmonitor": ["status"], "clean": ["diff", "--quiet"], "external": ["diff"]}.items():
        plant(PLANTED[kind], project / ".git", tmp_path)
        touch(project)
        with contextlib.suppress(subprocess.CalledProcessError):  # a difference, or what the program does
            small_project.git(project, *arguments)
        assert ran.exists(), kind
        ran.unlink()


def test_no_program_of_a_linked_working_tree_runs(project: Path, ran: Path, tmp_path: Path) -> None:
    small_project.git(project, "config", "extensions.worktreeConfig", "true")
    small_project.git(project, "worktree", "add", "--quiet", str(tmp_path / "linked"), "HEAD")
    (inside,) = (project / ".git" / "worktrees").iterdir()
    (inside / "config.worktree").write_text(
        f'[core]\n\tfsmonitor = {tmp_path}/program\n[filter "p"]\n\tclean = {tmp_path}/program\n', encoding="utf-8"
    )
    touch(tmp_path / "linked")
    ask_everything(tmp_path / "linked", tmp_path / "tree")
    assert not ran.exists(), ran.read_text(encoding="utf-8")


def test_no_program_of_a_submodule_runs(project: Path, ran: Path, tmp_path: Path) -> None:
    small_project.write(tmp_path / "other")
    small_project.commit(tmp_path / "other")
    small_project.git(
        project, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(tmp_path / "other"), "sub"
    )
    small_project.commit(project)
    plant(PLANTED["fsmonitor"], project / ".git/modules/sub", tmp_path)
    touch(project)
    (project / "sub" / "tinytok.py").write_text("changed", encoding="utf-8")
    [*names.notes(names.find("HEAD", "HEAD", project))]
    checkout = Checkout.around(project)
    assert checkout is not None
    assert checkout.changes() == ["new.txt", "tinytok.py", "x.odd"]
    checkout.export(str(checkout.commit("HEAD")), tmp_path / "tree", changed=True)
    assert not ran.exists(), ran.read_text(encoding="utf-8")


def test_what_a_partial_clone_lacks_is_not_fetched_by_its_program(project: Path, ran: Path, tmp_path: Path) -> None:
    small_project.git(project, "config", "uploadpack.allowFilter", "true")
    small_project.git(
        tmp_path, "clone", "--quiet", "--no-checkout", "--filter=blob:none", f"file://{project}", "partial"
    )
    clone = tmp_path / "partial"
    small_project.git(clone, "config", "remote.origin.uploadpack", str(tmp_path / "program"))
    checkout = Checkout.around(clone)
    assert checkout is not None
    commit = checkout.commit("HEAD")
    assert commit is not None
    with pytest.raises(GitFailed):
        checkout.content(commit, Path("x.odd"))
    with pytest.raises(GitFailed, match=r"\b5 files .*--filter"):
        checkout.export(commit, tmp_path / "tree")
    assert not ran.exists(), ran.read_text(encoding="utf-8")


def test_a_filter_of_the_users_own_runs(
    project: Path, ran: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    configuration = f'[filter "p"]\n\tsmudge = {tmp_path}/program\n\tclean = cat\n'
    (tmp_path / ".gitconfig").write_text(configuration, encoding="utf-8")
    checkout = Checkout.around(project)
    assert checkout is not None
    checkout.export(str(checkout.commit("HEAD")), tmp_path / "tree")
    assert ran.exists()


def test_git_leaves_the_checkout_alone(project: Path) -> None:
    before = (project / ".git/index").read_bytes()
    file = project / "backend.py"
    os.utime(file, (file.stat().st_atime, file.stat().st_mtime + 5))
    # "diff" would write that time into the index; the setting against it lists the file as changed.
    checkouts.git(project, "status", "--porcelain")
    assert (project / ".git/index").read_bytes() == before


@pytest.mark.parametrize("place", ["shallow", "HEAD", "config", "packed-refs", "objects/info/alternates"])
def test_a_fifo_in_its_folder_does_not_hold_the_gate(
    place: str, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkouts, "ANSWER_SECONDS", 1.0)
    (project / ".git" / place).unlink(missing_ok=True)
    os.mkfifo(project / ".git" / place)
    with (
        program.until(time.monotonic() + 60),
        pytest.raises(InputError, match=rf"^git \w.* '{re.escape(str(project))}' within 1 s\b"),
    ):
        names.find("HEAD", "HEAD", project)


@pytest.mark.parametrize("place", ["index", "info/exclude"])
def test_nor_does_one_among_what_all_files_are_compared_with(
    place: str, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkouts, "LONGER", dict.fromkeys(checkouts.LONGER, 1.0))
    (project / ".git" / place).unlink()
    os.mkfifo(project / ".git" / place)
    with (
        program.until(time.monotonic() + 60),
        pytest.raises(InputError, match=rf"^git \w.* '{re.escape(str(project))}' within 1 s\b"),
    ):
        names.find("HEAD", ".", project)


def test_the_time_of_the_gate_is_no_complaint_of_git(project: Path) -> None:
    (project / ".git" / "shallow").unlink(missing_ok=True)
    os.mkfifo(project / ".git" / "shallow")
    with program.until(time.monotonic() + 1), pytest.raises(program.OutOfTime):
        names.find("HEAD", "HEAD", project)

"""What can be given to ``--base`` and ``--head``, and what is said of anything else."""

from __future__ import annotations

import re
import venv
from pathlib import Path

import pytest

from gating import small_project
from pyharness.features.gate.builds import names
from pyharness.features.gate.builds.names import Installed, Revision, Specified, Wheel
from pyharness.types import InputError


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository of two commits."""
    folder = tmp_path / "project"
    small_project.write(folder)
    small_project.commit(folder, "first")
    small_project.write(folder, version="2.0")
    small_project.commit(folder, "second")
    return folder


def head(asked: str, folder: Path) -> names.Source:
    return names.find("HEAD", asked, folder)[1]


def test_revisions_are_resolved_to_commits(project: Path) -> None:
    base, now = names.find("HEAD~1", "main", project)
    assert isinstance(base, Revision)
    assert isinstance(now, Revision)
    assert (base.commit, now.commit) == tuple(small_project.git(project, "rev-parse", "HEAD~1", "HEAD").split())
    assert base.changes is None


def test_a_checkout_elsewhere(project: Path, tmp_path: Path) -> None:
    for asked in ("project", str(project), "project@HEAD"):
        found = names.find(asked, "project@HEAD~1", tmp_path)
        assert [one.version for one in found if isinstance(one, Revision)] == small_project.git(
            project, "rev-parse", "HEAD", "HEAD~1"
        ).split()
    (project / "new.txt").write_text("new", encoding="utf-8")
    tree = names.find("project@worktree", "project", tmp_path)[0]
    assert isinstance(tree, Revision)
    assert tree.changes
    assert tree.version.startswith(small_project.git(project, "rev-parse", "HEAD") + "+")


def test_the_nearest_project_of_a_checkout_is_meant(project: Path) -> None:
    small_project.write(project / "bindings/python")
    small_project.commit(project)
    for folder, inside in (("bindings/python", "bindings/python"), ("bindings", "."), (".", ".")):
        found = names.find("HEAD", "HEAD", project / folder)[0]
        assert isinstance(found, Revision)
        assert found.checkout.project == inside


@pytest.mark.parametrize("word", [".", "worktree"])
def test_the_working_tree_as_it_is(project: Path, word: str) -> None:
    clean = head(word, project)
    assert isinstance(clean, Revision)
    assert clean.changes == ""
    assert clean.version == clean.commit
    (project / "tinytok.py").write_text("", encoding="utf-8")
    dirty = head(word, project)
    (project / "tinytok.py").unlink()
    gone = head(word, project)
    assert len({one.version for one in (clean, dirty, gone) if isinstance(one, Revision)}) == 3


def test_uncommitted_changes_are_noted_unless_they_are_measured(project: Path) -> None:
    (project / "tinytok.py").write_text("", encoding="utf-8")
    (note,) = names.notes(names.find("HEAD~1", "HEAD", project))
    assert re.search(rf"uncommitted .*{re.escape(str(project))} .*--head \. ", note)
    assert [*names.notes(names.find("HEAD", ".", project))] == []


def test_submodules_are_noted(project: Path) -> None:
    (project / ".gitmodules").write_text("[submodule]\n", encoding="utf-8")
    small_project.commit(project)
    (note,) = names.notes(names.find("HEAD~1", "HEAD", project))
    assert note.startswith("'HEAD' has submodules")


def test_a_wheel(project: Path, tmp_path: Path) -> None:
    path = small_project.wheel(tmp_path, version="3.1")
    found = head(str(path), project)
    assert isinstance(found, Wheel)
    assert (found.distribution, found.path) == ("tinytok", path)
    assert found.version.startswith("3.1 (sha256:")


def test_an_environment(project: Path, tmp_path: Path) -> None:
    venv.EnvBuilder(symlinks=True).create(tmp_path / "env")
    assert head(str(tmp_path / "env"), project) == Installed(str(tmp_path / "env"), tmp_path / "env")


def test_two_tokenizers(tmp_path: Path) -> None:
    found = names.find("raw_bytes", "raw_bytes", tmp_path)
    assert all(isinstance(one, Specified) for one in found)


def test_a_tokenizer_stands_against_no_revision(project: Path) -> None:
    with pytest.raises(InputError, match="only head is a tokenizer"):
        names.find("HEAD", "raw_bytes", project)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("mian", "'mian'.*'main'"),
        ("mian~1", "'mian~1'.*'main~1'"),
        ("origin/mian", "'origin/mian'.*'main'"),
        ("HAED", "'HAED'.*'HEAD'"),
        ("HEAD~9", "'HEAD~9'.*git log --oneline HEAD"),
        ("", "--head is empty"),
        ("--output=x", "'--output=x'"),
        ("tron.whl", "'tron.whl'.*'torn.whl'"),
        ("./dtaa", "'./dtaa'.*'./data'"),
        ("tiktoken:cl100k_bas", "'cl100k_bas'.*'cl100k_base'"),
        ("gone.whl", "'gone.whl'"),
        ("torn.whl", r"'torn\.whl' .*wheel"),
        ("data", "'data' .*'./data' or 'refs/heads/data'"),
        ("zzz", "'zzz'.*git branch --all"),
        (".@nowhere", "'nowhere'"),
        (".@mian", "'mian'.*'main'"),
        ("trained", "needs an argument"),
    ],
)
def test_what_is_nothing(project: Path, asked: str, said: str) -> None:
    (project / "torn.whl").write_bytes(b"PK\3\4")
    (project / "data").mkdir()
    small_project.git(project, "branch", "data")
    with pytest.raises(InputError, match=said) as error:
        head(asked, project)
    assert not isinstance(error.value, names.NotFetched), "no fetch could help"
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("asked", ["mian", "HEAD~1", ".@HEAD~1", "0123456789" * 4])
def test_what_may_have_to_be_fetched(project: Path, tmp_path: Path, asked: str) -> None:
    """A shallow clone may lack any name, and a whole one a commit by its id: these are not misspelt."""
    small_project.git(tmp_path, "clone", "--quiet", "--depth", "1", f"file://{project}", "shallow")
    with pytest.raises(names.NotFetched):
        head(asked, tmp_path / "shallow")
    with pytest.raises(names.NotFetched, match="git fetch origin"):
        head("0123456789" * 4, project)


def test_a_folder_that_is_nothing(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="'empty' is a folder"):
        names.find("empty", "HEAD", tmp_path)
    with pytest.raises(InputError, match=r"--base '\.' .*working tree.* no git checkout"):
        names.find(".", "raw_bytes", tmp_path)


def test_a_shallow_clone_says_how_to_get_the_rest(project: Path, tmp_path: Path) -> None:
    small_project.git(tmp_path, "clone", "--quiet", "--depth", "1", f"file://{project}", "shallow")
    with pytest.raises(names.NotFetched, match="git fetch --unshallow"):
        names.find("HEAD~1", "HEAD", tmp_path / "shallow")
    small_project.git(tmp_path / "shallow", "fetch", "--quiet", "--unshallow")
    with pytest.raises(names.UnknownName, match="'HEAD~7'") as error:
        names.find("HEAD~7", "HEAD", tmp_path / "shallow")
    assert "shallow" not in str(error.value)


def test_a_branch_that_only_the_remote_has_is_suggested(project: Path, tmp_path: Path) -> None:
    small_project.git(project, "branch", "feature")
    small_project.git(tmp_path, "clone", "--quiet", str(project), "clone")
    with pytest.raises(names.UnknownName) as error:
        names.find("feature", "HEAD", tmp_path / "clone")
    assert error.value.near == ("origin/feature",)


def test_at_most_five_near_names_the_most_similar_first(project: Path) -> None:
    for number in range(9):
        small_project.git(project, "branch", f"maint{number}")
    with pytest.raises(names.UnknownName) as error:
        head("mian", project)
    assert error.value.near[0] == "main"
    assert len(error.value.near) == 5


def test_two_names_of_one_version_are_nothing_to_compare(project: Path, tmp_path: Path) -> None:
    wheel, copy = (small_project.wheel(tmp_path), tmp_path / "copy.whl")
    copy.write_bytes(wheel.read_bytes())
    for base, other in (("main", "HEAD"), ("HEAD", "."), (str(wheel), str(copy))):
        with pytest.raises(InputError, match="nothing to compare"):
            names.check_different(names.find(base, other, project))
    for base, other in (("HEAD", "HEAD"), ("HEAD~1", "HEAD")):
        names.check_different(names.find(base, other, project))
    (project / "tinytok.py").write_text("", encoding="utf-8")
    names.check_different(names.find("HEAD", ".", project))


def test_the_library_is_known_before_a_build(project: Path, tmp_path: Path) -> None:
    assert [*map(names.distribution, names.find("HEAD", str(small_project.wheel(tmp_path)), project))] == [
        "tinytok"
    ] * 2
    (project / "pyproject.toml").write_text("[project]\nname = 'other'\n", encoding="utf-8")
    assert [*map(names.distribution, names.find("HEAD", ".", project))] == ["tinytok", "other"]
    (project / "pyproject.toml").write_text("[project", encoding="utf-8")
    assert names.distribution(head(".", project)) == ""


def test_what_git_complains_of_is_one_line(project: Path) -> None:
    (project / ".git/index").write_bytes(b"torn")
    with pytest.raises(InputError, match=r"^git \w+ fails in '.*': .*index"):
        head(".", project)

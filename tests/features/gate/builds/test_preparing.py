"""Both arms are built, installed and alike; what fails is named, and nothing is left."""

from __future__ import annotations

import json
import os
import re
import subprocess
import venv
import zipfile
from pathlib import Path
from typing import Any

import pytest

from gating import small_project
from gating.arms import prepared
from pyharness.features.gate.builds import wheel_cache
from pyharness.features.gate.builds.arms import Arm, Arms
from pyharness.features.gate.builds.workshop import NotBuilt
from pyharness.types import InputError

SECRETS = {"GITHUB_TOKEN": "ghs_1", "AWS_SECRET_ACCESS_KEY": "k", "HF_TOKEN": "hf_1", "ACTIONS_RUNTIME_TOKEN": "t"}
BROKEN = "def build_wheel(*_, **__):\n    raise RuntimeError('planted fault of a build')\n"


@pytest.fixture(autouse=True)
def surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Folders of their own for what is kept and for what goes, and a search path that must not get through."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    monkeypatch.setenv("PYHARNESS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("CC", "no-such-compiler")  # nothing is compiled, and its version would take time
    monkeypatch.setenv("CXX", "no-such-compiler")
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    small_project.write(folder)
    small_project.commit(folder, "first")
    small_project.write(folder, version="2.0")
    (folder / "data.txt").write_text("1", encoding="utf-8")
    small_project.commit(folder, "second")
    return folder


def answer(arm: Arm, expression: str) -> Any:
    """What an arm's own process says."""
    script = f"import json, os, sys, importlib.metadata, tinytok, tinytok_built\nprint(json.dumps({expression}))"
    command = [str(arm.python), "-c", script]
    done = subprocess.run(command, cwd=arm.folder, env=dict(arm.variables), capture_output=True, check=True)
    return json.loads(done.stdout)


def both(made: Arms, expression: str) -> tuple[Any, Any]:
    return answer(made.base, expression), answer(made.head, expression)


def test_two_revisions_differ_in_what_is_under_test_alone(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", "https://me:secret@127.0.0.1:9/simple")
    with prepared("HEAD~1", "HEAD", folder=project) as made:
        assert (made.base.under_test, made.head.under_test, made.base.tokenizer) == ("tinytok", "tinytok", None)
        assert made.head.version == small_project.git(project, "rev-parse", "HEAD")
        assert both(made, "importlib.metadata.version('tinytok')") == ("1.0", "2.0")
        for length in ("len(sys.prefix)", "len(sys.executable)", "len(os.getcwd())", "len(tinytok.__file__)"):
            assert len({*both(made, length)}) == 1
        assert len({*both(made, "sys.prefix"), *both(made, "os.getcwd()")}) == 4
        assert made.base.variables == made.head.variables
        assert both(made, "sys.flags.hash_randomization") == (0, 0)
        assert both(made, "[one for one in sys.path if 'project' in one]") == ([], [])
        assert len({*both(made, "len(tinytok_built.FOLDER)")}) == 1
        for names in (*both(made, "tinytok_built.VARIABLES"), made.base.variables):
            assert "PATH" in names
            assert not {*names} & {*SECRETS}
        assert "PYTHONPATH" not in made.base.variables
        (note,) = made.notes
        assert re.match("PIP_EXTRA_INDEX_URL .*password", note)
        room = made.base.folder.parent
    assert not room.exists()
    assert list((tmp_path / "temporary").iterdir()) == []


def test_a_wheel_of_today_is_used_again(project: Path) -> None:
    said: list[str] = []
    with prepared("HEAD", ".", folder=project, listener=said.append) as made:
        assert len({*both(made, "tinytok_built.FOLDER")}) == 1
    assert [line.rpartition(": ")[2] for line in said] == ["building", "built already", "installing", "installing"]


def test_a_kept_wheel_that_was_changed_is_not_used(tmp_path: Path) -> None:
    wheel_cache.keep("key", small_project.wheel(tmp_path))
    kept = wheel_cache.find("key")
    assert kept is not None
    kept.write_bytes(kept.read_bytes() + b" ")
    assert wheel_cache.find("key") is None


@pytest.mark.parametrize("of", ["wheel", "digest"])
def test_a_fifo_among_what_is_kept_is_not_waited_for(tmp_path: Path, of: str) -> None:
    wheel_cache.keep("key", small_project.wheel(tmp_path))
    kept = wheel_cache.find("key")
    assert kept is not None
    fifo = kept if of == "wheel" else kept.with_suffix(wheel_cache.DIGEST)
    fifo.unlink()
    os.mkfifo(fifo)
    assert wheel_cache.find("key") is None
    wheel_cache.keep("key", small_project.wheel(tmp_path))
    assert wheel_cache.find("key") == kept


def test_a_build_that_changes_the_other_sides_wheel_is_seen(project: Path) -> None:
    head = "import pathlib\nfor one in pathlib.Path('..').glob('wheel-base/*.whl'):\n    one.write_bytes(b'')\n"
    small_project.write(project, backend=head + small_project.BACKEND)
    small_project.commit(project)
    said = "--base 'HEAD~1': .*wheel .*changed"
    with pytest.raises(InputError, match=said), prepared("HEAD~1", "HEAD", folder=project):
        pass


def test_separate_builds_are_two_of_one_commit(project: Path) -> None:
    said: list[str] = []
    with prepared("HEAD", "HEAD", folder=project, listener=said.append, separate=True) as made:
        base, head = both(made, "tinytok_built.FOLDER")
    assert len(base) == len(head)
    assert base != head
    assert sum(line.endswith("building") for line in said) == 2
    assert not (wheel_cache.folder() / "wheels").exists()


def test_old_wheels_and_logs_go(project: Path, tmp_path: Path) -> None:
    wheel_cache.keep("key", small_project.wheel(tmp_path))
    kept, digest = sorted((wheel_cache.folder() / "wheels" / "key").iterdir(), reverse=True)
    assert wheel_cache.find("key") == kept
    wheel_cache.clear()
    assert kept.exists()
    for file in (kept, digest):
        os.utime(file, (0, 0))
    assert wheel_cache.find("key") is None
    wheel_cache.clear()
    assert not kept.parent.exists()


def test_the_working_tree_is_built_as_it_is(project: Path) -> None:
    (project / ".gitignore").write_text("*.log\n", encoding="utf-8")
    small_project.write(project, version="3.0")
    (project / "data.txt").unlink()
    (project / "new.txt").write_text("", encoding="utf-8")
    (project / "ignored.log").write_text("", encoding="utf-8")
    with prepared("HEAD", ".", folder=project, isolated=False) as made:
        base, head = both(made, "tinytok_built.FILES")
        assert {*base} - {*head} == {"data.txt"}
        assert {*head} - {*base} == {".gitignore", "new.txt"}
        assert answer(made.head, "importlib.metadata.version('tinytok')") == "3.0"
        assert made.head.version.startswith(f"{made.base.version}+")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"backend": BROKEN}, "RuntimeError: planted fault of a build"),
        (
            {"requires": '["no-such-package"]'},
            "no-such-package; where",
        ),
    ],
)
def test_a_head_that_does_not_build(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, str], said: str
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    small_project.write(project, **change)
    small_project.commit(project)
    base = str(small_project.wheel(tmp_path))
    with pytest.raises(NotBuilt, match="head 'HEAD' does not build: ") as error, prepared(base, "HEAD", folder=project):
        pass
    assert said in str(error.value)
    assert str(error.value.log) in str(error.value)
    assert error.value.log.stat().st_size > 100
    assert "\n" not in str(error.value)
    assert list((tmp_path / "temporary").iterdir()) == []


def test_no_network_for_what_a_build_needs(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"CONFIG_FILE": os.devnull, "INDEX_URL": "http://127.0.0.1:9/simple", "RETRIES": "1"}.items():
        monkeypatch.setenv(f"PIP_{name}", value)
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    small_project.write(project, requires='["no-such-package"]')
    small_project.commit(project)
    with (
        pytest.raises(NotBuilt, match=r"network \(.*--no-build-isolation"),
        prepared("HEAD", ".", folder=project),
    ):
        pass


def test_a_wheel_that_does_not_install(tmp_path: Path) -> None:
    other = small_project.wheel(tmp_path).rename(tmp_path / "tinytok-1.0-cp27-cp27m-win32.whl")
    said = r"base .*win32.whl' does not install: .*not a supported wheel"
    with pytest.raises(NotBuilt, match=said), prepared(str(other), str(small_project.wheel(tmp_path)), folder=tmp_path):
        pass


def test_wheels_of_two_libraries_are_refused(tmp_path: Path) -> None:
    paths = [str(small_project.wheel(tmp_path, name=name)) for name in ("one", "other")]
    with pytest.raises(InputError, match="--base is 'one' and --head 'other'"), prepared(*paths, folder=tmp_path):
        pass


def environment(folder: Path, version: str) -> Path:
    venv.EnvBuilder(symlinks=True).create(folder)
    (packages,) = folder.glob("lib/python*/site-packages")
    with zipfile.ZipFile(small_project.wheel(folder, version=version)) as wheel:
        wheel.extractall(packages)
    (packages / "tinytok_built.py").touch()
    return folder


def test_environments_are_used_as_they_are_at_paths_of_one_length(tmp_path: Path) -> None:
    one, other = environment(tmp_path / "e", "1.0"), environment(tmp_path / "a-much-longer-name", "2.0")
    before = {path: path.stat().st_mtime_ns for folder in (one, other) for path in folder.rglob("*")}
    with prepared(str(one), str(other), folder=tmp_path, requirements=("never-installed",)) as made:
        assert (made.base.version, made.head.version, made.base.under_test) == ("1.0", "2.0", "tinytok")
        (note,) = made.notes
        assert re.search(r"\btinytok\b.*; --library\b", note)
        for length in ("len(sys.prefix)", "len(sys.executable)", "len(tinytok.__file__)"):
            assert len({*both(made, length)}) == 1
    assert before == {path: path.stat().st_mtime_ns for folder in (one, other) for path in folder.rglob("*")}


def test_an_environment_against_a_revision(project: Path, tmp_path: Path) -> None:
    with prepared("HEAD", str(environment(tmp_path / "given", "0.9")), folder=project) as made:
        assert both(made, "importlib.metadata.version('tinytok')") == ("2.0", "0.9")


def test_a_library_that_one_side_lacks(tmp_path: Path) -> None:
    one, other = environment(tmp_path / "e", "1.0"), environment(tmp_path / "f", "2.0")
    said = r"base has no '?gonelib\b.*--library"
    with pytest.raises(InputError, match=said), prepared(str(one), str(other), folder=tmp_path, library="GoneLib"):
        pass


def depending(folder: Path, version: str, wants: str) -> str:
    """Return a wheel of tinytok that depends on another library."""
    (folder / version).mkdir()
    return str(small_project.wheel(folder / version, version=version, requires=wants))


@pytest.mark.parametrize(("wants", "gets"), [("dep>=1", "1.0"), ("dep>=2", "2.0")])
def test_the_head_gets_dependencies_of_the_base_where_it_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wants: str, gets: str
) -> None:
    (tmp_path / "index").mkdir()
    for version in ("1.0", "2.0"):
        small_project.wheel(tmp_path / "index", name="dep", version=version)
    for name, value in {"CONFIG_FILE": os.devnull, "NO_INDEX": "1", "FIND_LINKS": str(tmp_path / "index")}.items():
        monkeypatch.setenv(f"PIP_{name}", value)
    base, head = depending(tmp_path, "1.0", "dep<2"), depending(tmp_path, "2.0", wants)
    with prepared(base, head, folder=tmp_path) as made:
        said = [
            subprocess.run(
                [arm.python, "-c", "import importlib.metadata; print(importlib.metadata.version('dep'))"],
                env=dict(arm.variables),
                capture_output=True,
                check=True,
                text=True,
            ).stdout.strip()
            for arm in (made.base, made.head)
        ]
    assert said == ["1.0", gets]


def test_an_environment_of_another_python_is_seen_before_anything_is_built(project: Path, tmp_path: Path) -> None:
    folder = environment(tmp_path / "given", "1.0")
    (folder / "bin/python").unlink()
    (folder / "bin/python").write_text("#!/bin/sh\necho '[\"cpython 3.1\", []]'\n", encoding="utf-8")
    (folder / "bin/python").chmod(0o755)
    said: list[str] = []
    expected = r"--base '.*/given' .*cpython 3\.1, .*cpython 3\.\d\d: "
    with (
        pytest.raises(InputError, match=expected),
        prepared(str(folder), "HEAD", folder=project, listener=said.append),
    ):
        pass
    assert said == []


def test_two_tokenizers_share_this_environment(tmp_path: Path) -> None:
    with prepared("raw_bytes", "raw_bytes", folder=tmp_path) as made:
        assert made.base.tokenizer == "raw_bytes"
        assert made.base.python == made.head.python
        assert made.base.variables == made.head.variables
        assert len(str(made.base.folder)) == len(str(made.head.folder))
        assert made.base.variables["PYTHONPATH"] == str(tmp_path)  # belongs to this environment


def test_nothing_is_left_by_a_gate_that_is_interrupted(project: Path, tmp_path: Path) -> None:
    def interrupt(line: str) -> None:
        if line.endswith("installing"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), prepared("HEAD", "HEAD", folder=project, listener=interrupt):
        pass
    assert list((tmp_path / "temporary").iterdir()) == []

"""A wheel is used again only where all that decides it is the same."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from gating import small_project
from pyharness.features.gate.builds import names, wheel_cache
from pyharness.features.gate.builds.workshop import BuildOptions, Workshop


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "git").symlink_to("/usr/bin/git")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))  # no compiler but what a test puts there
    for name in ("CC", "CXX", "CXXFLAGS", "PIP_INDEX_URL", "PIP_TARGET"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "project"
    small_project.write(folder)
    small_project.commit(folder)
    (folder / "data.txt").write_text("", encoding="utf-8")
    small_project.commit(folder)
    wheel_cache._output.cache_clear()
    return folder


def key(project: Path, asked: str = "HEAD", *, isolated: bool = True, **passed: str) -> str:
    source = names.find(asked, "HEAD", project)[0]
    assert isinstance(source, names.Revision)
    return Workshop(project, str, BuildOptions(isolated=isolated), passed).key(source)


def test_sources_and_what_is_installed_decide(project: Path) -> None:
    keys = [key(project), key(project, "HEAD~1"), key(project, isolated=False)]
    assert key(project, ".") == keys[0]  # nothing differs from the commit
    (project / "tinytok.py").write_text("", encoding="utf-8")
    assert len({*keys, key(project, ".")}) == 4


def test_every_variable_that_a_build_gets_decides(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = [key(project), key(project, FURTHER="1"), key(project, FURTHER="2")]
    for name, value in {"CXXFLAGS": "-O1", "PIP_INDEX_URL": "https://index", "RUSTUP_TOOLCHAIN": "nightly"}.items():
        monkeypatch.setenv(name, value)
        keys.append(key(project))
    assert len({*keys}) == 6
    monkeypatch.setenv("PIP_TARGET", "elsewhere")  # which it does not get
    assert key(project) == keys[-1]


@pytest.mark.parametrize("compiler", wheel_cache.COMPILERS)
def test_every_compiler_decides(project: Path, tmp_path: Path, compiler: str) -> None:
    keys = [key(project)]
    program = tmp_path / "bin" / compiler
    for version in ("1", "2"):
        wheel_cache._output.cache_clear()
        program.write_text(f"#!/bin/sh\necho a compiler\necho release {version}\n", encoding="utf-8")
        program.chmod(0o755)
        keys.append(key(project))
    assert len({*keys}) == 3


def test_a_compiler_that_says_nothing_is_none(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    absent = key(project)
    program = tmp_path / "bin" / "rustc"
    program.write_text(f"#!{sys.executable} -S\nimport time\ntime.sleep(60)\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setattr(wheel_cache, "ANSWER_SECONDS", 0.5)
    assert key(project) == absent

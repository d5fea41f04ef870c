"""A library of one module in a git repository, which builds in a second without network or other packages."""

from __future__ import annotations

import os
import subprocess
import zipfile
from pathlib import Path

NAME = "tinytok"
PYPROJECT = """
[build-system]
requires = {requires}
build-backend = "backend"
backend-path = ["."]

[project]
name = "tinytok"
version = "{version}"
"""
# What a build sees is kept in the wheel, for tests to look at.
BACKEND = """
import os, pathlib, tomllib, zipfile

def build_wheel(directory, config_settings=None, metadata_directory=None):
    version = tomllib.loads(pathlib.Path("pyproject.toml").read_text())["project"]["version"]
    info = f"tinytok-{version}.dist-info"
    name = f"tinytok-{version}-py3-none-any.whl"
    built = f"VARIABLES = {sorted(os.environ)!r}\\nFOLDER = {os.getcwd()!r}\\nFILES = {sorted(os.listdir())!r}\\n"
    with zipfile.ZipFile(pathlib.Path(directory, name), "w") as wheel:
        wheel.write("tinytok.py")
        wheel.writestr("tinytok_built.py", built)
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\\nName: tinytok\\nVersion: {version}\\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr(f"{info}/RECORD", "")
    return name
"""
CODE = "def encode(text):\n    return [ord(one) for one in text]\n"
_AUTHOR = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}


def git(folder: Path, *arguments: str) -> str:
    """Run git as somebody, with nobody's configuration."""
    environment = {**os.environ, **_AUTHOR, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    command = ["git", "-c", "init.defaultBranch=main", "-C", str(folder), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout.strip()


def write(
    folder: Path, *, version: str = "1.0", requires: str = "[]", code: str = CODE, backend: str = BACKEND
) -> None:
    """Write the files of the project."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pyproject.toml").write_text(PYPROJECT.format(version=version, requires=requires), encoding="utf-8")
    (folder / "backend.py").write_text(backend, encoding="utf-8")
    (folder / "tinytok.py").write_text(code, encoding="utf-8")


def commit(folder: Path, message: str = "change") -> str:
    """Commit all that is there, in a repository that is made if need be; returns the commit."""
    if not (folder / ".git").exists():
        git(folder, "init", "--quiet")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--allow-empty", "-m", message)
    return git(folder, "rev-parse", "HEAD")


def wheel(folder: Path, *, version: str = "1.0", name: str = NAME, requires: str = "") -> Path:
    """Write a wheel by hand."""
    path = folder / f"{name}-{version}-py3-none-any.whl"
    info = f"{name}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{name}.py", CODE)
        archive.writestr(f"{info}/METADATA", metadata + (f"Requires-Dist: {requires}\n" if requires else ""))
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return path

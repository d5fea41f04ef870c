"""A small project of somebody else: a flat layout, with tests that use pytest-benchmark's fixture in many ways."""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gating.arms import prepared
from pyharness.features.gate.builds.arms import Arm, Arms
from pyharness.features.gate.types import Side

PACKAGE = "def double(number):\n    return number * 2\n\n\nVERSION = 'source tree'\n"
SETTINGS = """\
[pytest]
addopts = --strict-markers --strict-config --benchmark-sort name --benchmark-disable-gc --unknown-plugin=1 --other value
timeout = 300
filterwarnings = error
required_plugins = pytest-benchmark pytest-plugin-that-nobody-has
markers = slow: takes long
"""
CONFTEST = """\
import pytest

def pytest_benchmark_update_json(config, output_json):
    raise AssertionError("nothing is written")

@pytest.fixture(scope="module")
def opened(request):
    with open("diary.txt", "a") as diary:
        diary.write(f"open {request.module.__name__}\\n")
    yield 3
    with open("diary.txt", "a") as diary:
        diary.write(f"close {request.module.__name__}\\n")
"""
TESTS = """\
import gc
import sys

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

import twice

CALLS = []

def test_plain():
    assert twice.double(1) == 2

@pytest.mark.benchmark(group="doubling", min_rounds=3)
@pytest.mark.timeout(1)
def test_double(benchmark, opened):
    print("this is no answer", file=sys.stdout)
    assert benchmark(twice.double, opened) == 6
    assert benchmark.group == "doubling" and benchmark.stats is None and benchmark.disabled
    benchmark.extra_info["note"] = "kept nowhere"

@pytest.mark.parametrize("size", [1, 1000])
def test_pedantic(benchmark, size):
    made, torn = [], []
    def setup():
        made.append(size)
        return ([0] * size,), {"reverse": True}
    result = benchmark.pedantic(sorted, setup=setup, teardown=lambda *args, **kwargs: torn.append(1), rounds=5)
    assert result == [0] * size and len(made) == len(torn) > 1

def test_collector_is_off(benchmark):
    seen = []
    benchmark(lambda: seen.append(gc.isenabled()))
    assert seen[0] and not any(seen[1:-1]) and seen[-1]

def test_wrong(benchmark):
    assert benchmark(twice.double, 1) == 3, "two is no three"

def test_raises_later(benchmark):
    def call():
        CALLS.append(1)
        if len(CALLS) > 2:
            raise KeyError("third call")
    benchmark(call)

@pytest.mark.skip(reason="no such machine")
def test_skipped(benchmark):
    benchmark(twice.double, 1)

def test_unused(benchmark):
    assert twice.double(2) == 4

def test_woven(benchmark):
    benchmark.weave(twice.double)

def test_used_twice(benchmark):
    benchmark(twice.double, 1)
    benchmark(twice.double, 1)

def test_last(benchmark, opened):
    assert benchmark(twice.double, opened) == 6
"""
OTHER = "def test_elsewhere(benchmark, opened):\n    assert benchmark(abs, -1) == 1\n"


def write(folder: Path) -> Path:
    """Write the project; returns its folder."""
    files = {
        "twice/__init__.py": PACKAGE,
        "twice/data.txt": "",
        "pytest.ini": SETTINGS,
        "checks/conftest.py": CONFTEST,
        "checks/test_doubling.py": TESTS,
        "checks/test_other.py": OTHER,
        ".git/config": "",
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def install(folder: Path, files: dict[str, str], distribution: str = "twice") -> Path:
    """Write files as an installer would, with their list."""
    listed = "".join(f"{name},,\n" for name in files)
    about = f"{distribution}-1.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1\n"
    files = {**files, f"{about}/METADATA": metadata, f"{about}/RECORD": listed}
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def environment(folder: Path) -> Path:
    """Make an environment without any library; returns its interpreter."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    return folder / "bin" / "python"


def give_pytest(python: Path) -> None:
    """Let an environment have pytest, and no plug-in of anybody."""
    (site,) = python.parents[1].glob("lib/python*/site-packages")
    for distribution in ("pytest", "iniconfig", "packaging", "pluggy", "pygments"):
        installed = importlib.metadata.distribution(distribution)
        for name in {file.parts[0] for file in installed.files or ()} - {"..", "__pycache__"}:
            (site / name).symlink_to(str(installed.locate_file(name)))


@contextmanager
def built_arms(project: Path, cache: Path) -> Iterator[Arms]:
    """Both sides of the last commit of a project, built here; each has pytest."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYHARNESS_CACHE", str(cache))
        with prepared("HEAD~1", "HEAD", folder=project, isolated=False) as made:
            give_pytest(made.base.python)
            give_pytest(made.head.python)
            yield made


def installed_arm(side: Side, folder: Path, site: Path, python: Path = Path(sys.executable)) -> Arm:
    """An arm of this interpreter, with a folder of its own on the path."""
    variables = {"PATH": os.environ["PATH"], "PYTHONPATH": str(site), "PYTHONHASHSEED": "0"}
    return Arm(side, "made by a test", "1", python, folder, variables, "twice")

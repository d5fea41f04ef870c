"""Benchmarks of a foreign project's own tests, of two of its revisions: built, installed, measured in turns."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from gating import foreign, small_project
from pyharness.gate.arms import Arms, arms
from pyharness.gate.benchmarking.trees import FOLDER, plant
from pyharness.gate.benchmarking.worker import PytestWorker
from pyharness.types import SIDES, Batch, InputError, Side

SLOWER = "import time\n\ndef encode(text):\n    time.sleep(0.002)\n    return [ord(one) for one in text]\n"
TESTS = """\
import pytest
import tinytok
from alphabet import LETTERS

@pytest.mark.parametrize("size", [1, 10])
def test_encode(benchmark, size):
    assert benchmark(tinytok.encode, LETTERS[:size]) == list(range(97, 97 + size))
"""
SETTINGS = "[pytest]\npythonpath = bench/support\naddopts = --import-mode=importlib\n"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with two commits, the second slower, and changes that nobody has committed."""
    folder = tmp_path_factory.mktemp("project")
    small_project.write(folder)
    small_project.commit(folder)
    small_project.write(folder, code=SLOWER, version="2.0")
    (folder / "bench/support").mkdir(parents=True)
    (folder / "bench/support/alphabet.py").write_text("LETTERS = 'abcdefghijklm'\n", encoding="utf-8")
    (folder / "bench/test_it.py").write_text(TESTS, encoding="utf-8")
    (folder / "pytest.ini").write_text(SETTINGS, encoding="utf-8")
    small_project.commit(folder)
    (folder / "bench/test_it.py").write_text("def test_it(): pass\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def both(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Arms]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYHARNESS_CACHE", str(tmp_path_factory.mktemp("cache")))
        with arms("HEAD~1", "HEAD", folder=project, isolated=False) as made:
            foreign.give_pytest(made.base.python)
            foreign.give_pytest(made.head.python)
            yield made


def test_the_heads_tests_run_in_both_arms(both: Arms, project: Path, tmp_path: Path) -> None:
    """A little loop of its own: a session has its rounds and launches elsewhere."""
    planted = plant(both, "bench/test_it.py", project, tmp_path)
    pair: dict[Side, PytestWorker] = {}
    try:
        for side, arm in zip(SIDES, (both.base, both.head), strict=True):
            pair[side] = PytestWorker(arm, planted.path, modules=planted.modules, time_limit=60)
        facts = [dict(worker.facts().facts) for worker in pair.values()]
        assert facts[0] == facts[1]
        names = pair["base"].benchmarks()
        assert names == pair["head"].benchmarks() == tuple(f"bench/test_it.py::test_encode[{n}]" for n in (1, 10))
        for name in names:
            for worker in pair.values():
                worker.prepare(name)
            times = {side: min(pair[side].time(name, Batch(2)).timing.wall for _ in range(3)) for side in SIDES}
            assert times["head"] > 2 * 2_000_000 > times["base"]
            for worker in pair.values():
                worker.finish(name)
    finally:
        for worker in pair.values():
            worker.close()


def test_a_single_test_is_named_from_a_folder_below(both: Arms, project: Path, tmp_path: Path) -> None:
    shutil.rmtree(both.base.folder / FOLDER, ignore_errors=True)
    shutil.rmtree(both.head.folder / FOLDER, ignore_errors=True)
    planted = plant(both, "test_it.py::test_encode[1]", project / "bench", tmp_path)
    assert planted.path == "bench/test_it.py::test_encode[1]"
    assert "tinytok" in planted.modules
    with pytest.raises(InputError, match=r"--pytest 'bench/gone.py': --head 'HEAD' has no such file"):
        plant(both, "bench/gone.py", project, tmp_path / "again")

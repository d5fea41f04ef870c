"""Benchmarks of a project's own tests, in two arms that take turns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from gating import foreign
from gating.foreign import installed_arm
from pyharness.features.gate.builds.arms import Arm
from pyharness.features.gate.drivers.project_tests import FOLDER, copy_tests, provided
from pyharness.features.gate.drivers.pytest_process import PytestProcess
from pyharness.features.gate.types import SIDES, ArmFailed, ArmLacks, ArmProcess, CallBatch, Side
from pyharness.types import InputError

Arms = dict[Side, Arm]
FILE = "checks/test_doubling.py"
SLOWER = "import time\ndef double(number):\n    time.sleep(0.002)\n    return number * 2\n"
FASTER = "def double(number):\n    return number * 2\n"


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Interpreter of an environment with pytest alone."""
    made = foreign.environment(tmp_path_factory.mktemp("with_pytest"))
    foreign.give_pytest(made)
    return made


@pytest.fixture
def arms(tmp_path: Path, python: Path) -> Arms:
    """Two arms of a project, the head's slower, with the tests beside them."""
    source = foreign.write(tmp_path / "source")
    made: Arms = {}
    for side, package in zip(SIDES, (FASTER, SLOWER), strict=True):
        site = foreign.install(tmp_path / f"site-{side}", {"twice/__init__.py": package})
        (tmp_path / f"run-{side}").mkdir()
        made[side] = installed_arm(side, tmp_path / f"run-{side}", site, python)
    files = provided("twice", made)
    for arm in made.values():
        copy_tests(source, Path("checks"), files, arm.folder / FOLDER)
    return made


@contextmanager
def started(arms: Arms, side: Side, path: str = FILE, wanted: Sequence[str] | None = None) -> Iterator[PytestProcess]:
    worker = PytestProcess(arms[side], path, wanted=wanted, modules=["twice"], time_limit=60)
    try:
        yield worker
    finally:
        worker.close()


def test_two_arms_take_turns_and_the_slower_package_is_slower(arms: Arms) -> None:
    name = f"{FILE}::test_double"
    with started(arms, "base") as base, started(arms, "head") as head:
        pair: dict[Side, ArmProcess] = {"base": base, "head": head}
        assert {**pair["base"].facts().facts}.keys() == {**pair["head"].facts().facts}.keys()
        assert base.benchmarks() == head.benchmarks()
        for worker in pair.values():
            worker.prepare(name)
        times: dict[Side, list[int]] = {"base": [], "head": []}
        for number in range(6):
            for side in SIDES if number % 2 else reversed(SIDES):
                times[side].append(pair[side].time(name, CallBatch(3)).timing.wall)
        assert min(times["head"]) > 3 * 2_000_000 > max(times["base"])
        assert all(worker.finish(name).get("memory", 0) >= 0 for worker in pair.values())
        for worker in pair.values():
            worker.prepare(f"{FILE}::test_last")
            worker.finish(f"{FILE}::test_last")


def test_names_are_of_tests_with_the_fixture_in_their_order(arms: Arms) -> None:
    with started(arms, "base", "checks") as worker:
        names = worker.benchmarks()
    tests = (
        *("double", "pedantic[1]", "pedantic[1000]", "collector_is_off", "wrong", "raises_later", "skipped", "unused"),
        *("woven", "used_twice", "last"),
    )
    assert names == (*(f"{FILE}::test_{name}" for name in tests), "checks/test_other.py::test_elsewhere")


def test_those_that_are_wanted(arms: Arms) -> None:
    wanted = [f"{FILE}::test_last", f"{FILE}::test_pedantic[1]", f"{FILE}::test_gone"]
    with started(arms, "base", wanted=wanted) as worker:
        assert worker.benchmarks() == (f"{FILE}::test_pedantic[1]", f"{FILE}::test_last")


def test_one_after_the_other_in_one_process(arms: Arms) -> None:
    """Setup and teardown around each call, the collector, fixtures of a module: the tests themselves check them."""
    absent = {"skipped": "no such machine", "unused": "benchmark fixture", "woven": r"benchmark\.weave"}
    names = ["double", "pedantic[1000]", "collector_is_off", *absent]
    with started(arms, "base", "checks") as worker:
        worker.benchmarks()
        for name in (*(f"{FILE}::test_{name}" for name in names), "checks/test_other.py::test_elsewhere"):
            if (reason := absent.get(name.rpartition("_")[2])) is not None:
                with pytest.raises(ArmLacks, match=reason):
                    worker.prepare(name)
                continue
            worker.prepare(name)
            assert worker.time(name, CallBatch(5)).timing.wall > 0
            assert worker.finish(name).get("memory", 0) >= 0
        with pytest.raises(ArmFailed, match="pytest has ended"):
            worker.prepare(f"{FILE}::test_double")
    diary = (arms["base"].folder / FOLDER / "diary.txt").read_text(encoding="utf-8").split()
    assert diary[:5] == ["open", "test_doubling", "close", "test_doubling", "open"]


def test_tests_that_fail(arms: Arms) -> None:
    wrong, later, twice = (f"{FILE}::test_{name}" for name in ("wrong", "raises_later", "used_twice"))
    with started(arms, "base") as worker:
        worker.benchmarks()
        worker.prepare(wrong)
        worker.time(wrong, CallBatch(1))
        with pytest.raises(ArmFailed, match="the test fails: AssertionError: two is no three"):
            worker.finish(wrong)
        worker.prepare(later)
        worker.time(later, CallBatch(1))
        with pytest.raises(ArmFailed, match="KeyError: 'third call'"):
            worker.time(later, CallBatch(1))
        worker.prepare(twice)
        with pytest.raises(ArmFailed, match="benchmark fixture once"):
            worker.finish(twice)


def test_a_path_that_is_not_there(arms: Arms) -> None:
    with started(arms, "base", "checks/test_gone.py") as worker, pytest.raises(ArmFailed, match="test_gone"):
        worker.benchmarks()


def test_no_benchmarks_at_all(arms: Arms) -> None:
    for side in SIDES:
        (arms[side].folder / FOLDER / FILE).write_text("def test_it(): pass\n", encoding="utf-8")
    with started(arms, "base") as worker, pytest.raises(ArmFailed, match=r"none of the 1 tests .* uses the benchmark"):
        worker.benchmarks()


def test_a_file_that_the_head_cannot_import_fails_and_to_the_base_it_is_new(arms: Arms) -> None:
    for side in SIDES:
        (arms[side].folder / FOLDER / "checks/test_new.py").write_text("from twice import new\n", encoding="utf-8")
    with started(arms, "base", "checks") as worker:
        assert f"{FILE}::test_double" in worker.benchmarks()
    with (
        started(arms, "head", "checks") as worker,
        pytest.raises(ArmFailed, match=r"test_new.py cannot.*ImportError"),
    ):
        worker.benchmarks()


def test_a_syntax_error_is_told_with_its_own_file_and_line(arms: Arms) -> None:
    tests = arms["head"].folder / FOLDER / "checks"
    (tests / "helping.py").write_text("\ndef broken(:\n    pass\n", encoding="utf-8")
    (tests / "test_new.py").write_text("import helping\n", encoding="utf-8")
    with (
        started(arms, "head", "checks") as worker,
        pytest.raises(ArmFailed, match=r"test_new.py cannot.*SyntaxError: .*\(helping.py, line 2\)"),
    ):
        worker.benchmarks()


def test_an_arm_that_dies_says_how(arms: Arms) -> None:
    test = "import os\ndef test_it(benchmark):\n    benchmark(lambda: os._exit(7))\n"
    (arms["base"].folder / FOLDER / FILE).write_text(test, encoding="utf-8")
    with started(arms, "base") as worker:
        (name,) = worker.benchmarks()
        with pytest.raises(ArmFailed, match="ended with status 7"):
            worker.prepare(name)


def test_without_pytest_an_arm_says_so(arms: Arms, tmp_path: Path) -> None:
    bare = foreign.environment(tmp_path / "bare")
    arm = installed_arm("base", arms["base"].folder, Path(arms["base"].variables["PYTHONPATH"]), bare)
    with started({"base": arm}, "base") as worker, pytest.raises(ArmFailed, match="No module named 'pytest'"):
        worker.facts()


def test_beside_plug_ins_that_are_installed(arms: Arms) -> None:
    """Here is pytest-benchmark, whose fixture has the same name, and more."""
    arm = installed_arm("base", arms["base"].folder, Path(arms["base"].variables["PYTHONPATH"]))
    with started({"base": arm}, "base") as worker:
        worker.benchmarks()
        worker.prepare(f"{FILE}::test_double")
        worker.finish(f"{FILE}::test_double")


class TestTrees:
    def test_the_package_stays_out_and_the_rest_is_the_same_bytes(self, arms: Arms) -> None:
        trees = [arms[side].folder / FOLDER for side in SIDES]
        files = [{path.relative_to(tree) for path in tree.rglob("*") if path.is_file()} for tree in trees]
        assert (
            files[0]
            == files[1]
            == {
                Path(name)
                for name in ("pytest.ini", "checks/conftest.py", "checks/test_doubling.py", "checks/test_other.py")
            }
        )
        assert all((trees[0] / name).read_bytes() == (trees[1] / name).read_bytes() for name in files[0])

    def test_a_folder_of_sources_below_and_tests_that_were_installed_by_mistake(self, tmp_path: Path) -> None:
        source = tmp_path / "source"
        files = {"src/twice/__init__.py": "", "tests/__init__.py": "", "tests/test_it.py": "", "docs/twice/page.md": ""}
        for name in files:
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).touch()
        site = foreign.install(tmp_path / "site", {"twice/__init__.py": "", "tests/__init__.py": ""})
        (tmp_path / "run").mkdir()
        arm = installed_arm("base", tmp_path / "run", site)
        folder = arm.folder / FOLDER
        copy_tests(source, Path("tests/test_it.py"), provided("twice", {"base": arm}), folder)
        assert sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()) == [
            "docs/twice/page.md", "tests/__init__.py", "tests/test_it.py",
        ]  # fmt: skip

    def test_tests_that_import_their_own_tree_are_seen(self, arms: Arms) -> None:
        tree = arms["base"].folder / FOLDER
        (tree / "checks/twice").mkdir()
        (tree / "checks/twice/__init__.py").write_text(FASTER, encoding="utf-8")
        with started(arms, "base") as worker, pytest.raises(ArmFailed, match=rf"\btwice from .*: .*{FOLDER}"):
            worker.benchmarks()

    def test_a_distribution_without_files(self, arms: Arms, tmp_path: Path) -> None:
        foreign.install(tmp_path / "site-head", {})
        with pytest.raises(InputError, match=r"no files of twice: .*editable"):
            provided("twice", arms)

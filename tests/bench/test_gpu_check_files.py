"""The check's tests for a device: one process for all files, a verdict on each, and what a process that dies costs."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest
from device import machine
from device.running import Outcome
from device.stages import Part, Place, parts
from device.testing import LOST, Journal

from lent.checks import BENCH, BUILD, kept, place, run, scripted, verdicts

__all__ = ["place"]  # the fixture
HEAD = "import os, signal, time, warnings\nimport pytest\nopen('processes', 'a').write(f'{os.getpid()}\\n')\n"
SETTINGS = """[project]
dependencies = []
[tool.pytest.ini_options]
markers = ["cuda: device"]
filterwarnings = ["error"]
"""
ONE = "@MARK\ndef test_a({of}):\n    {does}\n"  # MARK: the mark, which would make tests for a device of this file's
FAILS_LATE = "@pytest.fixture\ndef late():\n    yield\n    assert 0\n" + ONE.format(of="late", does="pass")
SKIPS_ONE = "@pytest.mark.parametrize('a', [0, 1])\n" + ONE.format(of="a", does="a and pytest.skip('')")
OF_FILES = {
    "warns": (ONE.format(of="", does="warnings.warn('a version')"), "passed", "1 of 1 ran, 0 failed, 0 skipped"),
    "fails": (ONE.format(of="", does="assert 0"), "failed", "1 of 1 ran, 1 failed"),
    "fails late": (FAILS_LATE, "failed", "1 of 1 ran, 1 failed"),
    "skips": (ONE.format(of="", does="pytest.skip('no device')"), "nothing ran", "0 of 1 ran, 0 failed, 1 skipped"),
    "skips one": (SKIPS_ONE, "passed", "1 of 2 ran, 0 failed, 1 skipped"),
    "has none": ("# MARK is named only\ndef test_a():\n    assert 0\n", "passed", "has no test for a device"),
    "breaks": ("import no_such_module\n" + ONE.format(of="", does="pass"), "failed", "no_such_module"),
    "lacks": ("pytest.importorskip('no_such')\n" + ONE.format(of="", does="pass"), "nothing ran", "no_such"),
}
CRASH = "    os.kill(os.getpid(), signal.SIGSEGV)\n"
GOOD = ONE.format(of="", does="pass")


@pytest.fixture
def run_files(place: Place, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """Run files of tests as the stage does, after a build that does nothing."""
    monkeypatch.setenv("PYTHONPATH", str(BENCH))
    monkeypatch.setattr(machine, "lacking", lambda part, place: [])
    (place.root / "pyproject.toml").write_text(SETTINGS, encoding="utf-8")
    (place.root / "tests").mkdir()

    def call(files: Mapping[str, str], limit: int = 60) -> int:
        for name, text in files.items():
            content = (HEAD + text).replace("MARK", "pytest.mark" + ".cuda")
            (place.root / "tests" / f"test_{name}.py").write_text(content, encoding="utf-8")
        tests = [replace(part, limit=limit) for part in parts(place) if part.stage == "test"]
        return run(place, [scripted("build", BUILD), *tests])

    return call


def of_files(place: Place) -> dict[str, str]:
    found = {part.removeprefix("test tests/test_"): verdict for part, verdict in verdicts(place).items()}
    return {part.removesuffix(".py"): verdict for part, verdict in found.items() if part != "build"}


def processes(place: Place) -> int:
    return len(set((place.root / "processes").read_text(encoding="utf-8").split()))


@pytest.mark.process
def test_a_file_is_judged_by_its_tests_that_ran_and_all_share_a_process(
    place: Place, run_files: Callable[..., int]
) -> None:
    names = {name.replace(" ", "_"): name for name in OF_FILES}
    assert run_files({name: OF_FILES[of][0] for name, of in names.items()}) == 1
    assert of_files(place) == {name: OF_FILES[of][1] for name, of in names.items()}
    details = {part: one["detail"] for part, one in kept(place).items()}
    for name, of in names.items():
        assert OF_FILES[of][2] in details[f"test tests/test_{name}.py"]
    assert processes(place) == 1
    run_files({})
    assert processes(place) == 1  # all of them stand


@pytest.mark.process
def test_a_process_that_crashes_costs_what_had_not_finished(place: Place, run_files: Callable[..., int]) -> None:
    two = GOOD + "@MARK\ndef test_b():\n" + CRASH + "@MARK\ndef test_c():\n    pass\n"
    assert run_files({"a": GOOD, "b": two, "c": GOOD, "d": "@MARK\ndef test_a():\n" + CRASH, "e": GOOD}) == 1
    assert of_files(place) == {"a": "passed", "b": "failed", "c": "passed", "d": "failed", "e": "passed"}
    assert processes(place) == 3
    said = kept(place)["test tests/test_b.py"]["detail"]
    assert "1 of 3 ran, 0 failed, 0 skipped; then tests/test_b.py::test_b, status -11" in said
    assert "Fatal Python error" in (place.results / "test.log").read_text(encoding="utf-8")


@pytest.mark.process
def test_after_an_error_that_takes_the_device_away_the_rest_has_another_process(
    place: Place, run_files: Callable[..., int]
) -> None:
    error = "raise RuntimeError('cudaErrorIllegalAddress: an illegal memory access')"
    assert run_files({"a": ONE.format(of="", does=error) + "@MARK\ndef test_b():\n    assert 0\n", "b": GOOD}) == 1
    assert "1 of 2 ran, 1 failed" in kept(place)["test tests/test_a.py"]["detail"]
    assert of_files(place) == {"a": "failed", "b": "passed"}
    assert processes(place) == 2


@pytest.mark.process
def test_a_test_that_hangs_is_timed_out_alone(place: Place, run_files: Callable[..., int]) -> None:
    hangs = GOOD + "@MARK\ndef test_b():\n    time.sleep(60)\n"
    assert run_files({"a": GOOD, "b": hangs, "c": GOOD}, limit=4) == 3
    assert of_files(place) == {"a": "passed", "b": "timed out", "c": "passed"}


@pytest.mark.process
def test_a_process_that_never_comes_to_a_test_is_not_run_for_ever(place: Place, run_files: Callable[..., int]) -> None:
    (place.root / "tests" / "conftest.py").write_text("raise SystemExit(7)\n", encoding="utf-8")
    assert run_files({"a": GOOD, "b": GOOD}) == 1
    assert of_files(place) == {"a": "failed", "b": "failed"}


def write(place: Place, *entries: dict[str, object]) -> Journal:
    text = "".join(json.dumps(entry) + "\n" for entry in entries)
    place.journal.write_text(text + '{"begins": "cut o', encoding="utf-8")
    return Journal(place.journal)


def ended(test: str, outcome: str = "passed") -> list[dict[str, object]]:
    return [{"begins": test}, {"test": test, "outcome": outcome, "seconds": 0.5}, {"ends": test}]


FILES = {"tests/test_a.py": 2, "tests/test_b.py": 1, "tests/test_c.py": 1}
OF_A = ended("tests/test_a.py::test_a[1]") + ended("tests/test_a.py::test_a[2]")


def test_a_call_that_was_killed_leaves_the_verdicts_of_files_that_were_done(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "lacking", lambda part, place: [])
    tests = [Part(("test", file), ("true",), 30, ("source",), file=file) for file in FILES]
    every = [scripted("build", BUILD), *tests]
    run(place, every, every[:1])
    running = json.loads((place.results / "build.json").read_text(encoding="utf-8"))
    for part in tests:
        result = running | {"part": part.words, "verdict": "running"}
        (place.results / f"{part.slug}.json").write_text(json.dumps(result), encoding="utf-8")
    write(place, {"tests": FILES}, *OF_A, {"begins": "tests/test_b.py::test_b"})
    run(place, every, every[:1])
    assert verdicts(place) == {"build": "passed", "test tests/test_a.py": "passed", "test tests/test_b.py": "timed out"}
    assert kept(place)["test tests/test_a.py"]["seconds"] == 1.0


def test_a_crash_after_the_last_test_is_told(place: Place) -> None:
    journal = write(place, {"tests": {"tests/test_a.py": 2}}, *OF_A)
    assert journal.verdict("tests/test_a.py", Outcome(0, 1.0), "") == ("passed", "2 of 2 ran, 0 failed, 0 skipped")
    verdict = journal.verdict("tests/test_a.py", Outcome(-11, 1.0), "at exit")
    assert verdict == ("failed", "2 of 2 ran, 0 failed, 0 skipped; then status -11: at exit")


@pytest.mark.parametrize(
    "said",
    [
        "cudaErrorIllegalAddress (an illegal memory access was encountered)",
        "CUDA error: device-side assert triggered",
        "cudaErrorLaunchFailure: unspecified launch failure",
        "cudaErrorMisalignedAddress: misaligned address",
    ],
)
def test_errors_that_take_the_device_away(said: str) -> None:
    assert LOST.search(said)


@pytest.mark.parametrize("said", ["cudaErrorMemoryAllocation: out of memory", "cudaErrorInvalidValue", "assert 1 == 2"])
def test_errors_after_which_the_device_is_there(said: str) -> None:
    assert not LOST.search(said)

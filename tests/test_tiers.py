"""The tiers of tests: what the default one starts, and that whoever starts more is caught."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import pytest

from cases.command_line import RUN, call, program
from layout import tiers
from layout.thoroughness import examples

ROOT = Path(__file__).parents[1]


def test_the_default_tier_leaves_out_the_others() -> None:
    options = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["pytest"]["ini_options"]
    assert options["addopts"][-2:] == ["-m", " and ".join(f"not {mark}" for mark in tiers.MARKED)]
    assert {one.partition(":")[0] for one in options["markers"]} == {"cuda", "data", *tiers.MARKED}


@pytest.mark.parametrize(
    "command",
    [
        [*RUN, "--version"],
        [sys.executable, "-m", "pytest"],
        [sys.executable, "-m", "pip"],
        ["g++", "x.cpp"],
        "cmake --build .",
    ],
)
def test_a_whole_command_fails_a_test_of_the_default_tier(command: list[str] | str) -> None:
    watch = tiers.Watch()
    watch.seen("subprocess.Popen", (None, command, None, None))
    watch.test = "test_a"
    with pytest.raises(pytest.fail.Exception, match="test_a is of the default tier"):
        watch.seen("subprocess.Popen", (None, command, None, None))


@pytest.mark.parametrize("command", [["git", "ls-files"], [*RUN[:-1], "pyharness.running.workers.process"]])
def test_workers_are_started_in_each_tier(command: list[str]) -> None:
    assert not tiers.whole_command(command)


def test_a_test_that_calls_here_is_of_the_default_tier(request: pytest.FixtureRequest) -> None:
    assert call("--version").returncode == 0
    assert tiers.is_default(request.node)


def test_a_test_that_starts_a_program_is_marked(request: pytest.FixtureRequest) -> None:
    assert program("--version").returncode == 0
    assert request.node.get_closest_marker("process")


def test_all_examples_are_drawn_where_every_tier_runs(pytestconfig: pytest.Config) -> None:
    option = pytestconfig.getoption
    every = option("hypothesis_profile") == "thorough" if option("hypothesis_profile") else not option("markexpr")
    assert [examples(count) for count in (20, 60, 400)] == ([20, 60, 400] if every else [20, 25, 40])

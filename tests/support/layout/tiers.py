"""Tiers of tests, by what they need: which tests start processes, and who is caught starting more than a tier may.

A test is of the default tier unless it is marked: no build, no browser, no network, no whole command. pyproject.toml
declares the marks ``process`` and ``slow``, and deselects them. A test whose code in ``tests/`` reaches ``subprocess``
is marked ``process`` here, one that opens a browser ``slow``; what the package starts for a test, ``Watch`` sees.
"""

from __future__ import annotations

import inspect
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import pytest

MARKED = ("process", "slow")
OF_FIXTURES = {"browser": "slow"}
TESTS = Path(__file__).parents[2]
MODULES = ("pyharness", "pytest", "pip", "venv", "build")  # that are commands; a worker of ours is none
PROGRAMS = ("pyharness", "cmake", "ninja", "c++", "g++", "nvcc")
GATE = TESTS / "features" / "gate"  # which builds and starts what it compares, but for what these folders test
GATE_AT_REST = ("report", "verdicts")
LISTING = ("test_citations.py",)  # asks git for them, and starts nothing else


class Watch:
    """Sees every process that starts while a test of the default tier runs, and fails the test for a whole command."""

    test: str | None = None  # of the default tier, while it runs

    def seen(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Stand in for the process, as a failure that no ``except Exception`` takes."""
        if self.test is not None and event == "subprocess.Popen" and (what := whole_command(arguments[1])):
            pytest.fail(f"{self.test} is of the default tier and starts {what}: mark it with pytest.mark.process")


def whole_command(command: str | Sequence[Any]) -> str:
    """What is started, if that is a command and no Python of ours; empty for what the default tier may start."""
    program, *arguments = command.split() if isinstance(command, str) else [str(one) for one in command]
    name = Path(program).name
    if not name.startswith("python"):
        return name if name in PROGRAMS else ""
    module = arguments[arguments.index("-m") + 1] if "-m" in arguments[:-1] else ""
    return module if module in MODULES else ""


def mark(items: Sequence[pytest.Item]) -> None:
    """Mark tests by what they ask for and by what their code reaches; a mark that stands in a file stays."""
    known: dict[Any, bool] = {}
    for item in items:
        fixtures = getattr(item, "fixturenames", ())
        for fixture, name in OF_FIXTURES.items():
            if fixture in fixtures:
                item.add_marker(name)
        if is_default(item) and (_gates(item.path) or any(_starts(one, known) for one in _code_of(item))):
            item.add_marker("process")


def is_default(item: pytest.Item) -> bool:
    """Whether a test has no mark of another tier."""
    return not any(item.get_closest_marker(mark) for mark in MARKED)


def _gates(path: Path) -> bool:
    return path.is_relative_to(GATE) and path.relative_to(GATE).parts[0] not in GATE_AT_REST


def _code_of(item: pytest.Item) -> Iterator[Any]:
    """The function of a test, and those of its fixtures."""
    if isinstance(item, pytest.Function) and item.path.name not in LISTING:
        yield item.function
        for definitions in item._fixtureinfo.name2fixturedefs.values():
            yield from (one.func for one in definitions)


def _starts(value: Any, known: dict[Any, bool]) -> bool:
    """Whether a function of ``tests/`` names ``subprocess``, or calls one that does."""
    if isinstance(value, FunctionType) and value in known:
        return known[value]
    function = inspect.unwrap(value) if callable(value) else value
    if not isinstance(function, FunctionType) or not Path(function.__code__.co_filename).is_relative_to(TESTS):
        return False
    if function not in known:
        known[function] = False  # while it is looked at: functions may call each other
        named = set(_names(function.__code__))
        known[function] = any(_reaches(one, named, known) for one in _values(function.__globals__, named))
    return known[function]


def _reaches(value: Any, named: set[str], known: dict[Any, bool]) -> bool:
    if value is subprocess:
        return True
    if isinstance(value, ModuleType):
        ours = (getattr(value, "__file__", None) or "").startswith(str(TESTS))
        return ours and any(_starts(one, known) for one in _values(vars(value), named))
    if isinstance(value, type):
        return any(_starts(one, known) for one in vars(value).values())
    return _starts(value, known)


def _values(variables: dict[str, Any], named: set[str]) -> Iterator[Any]:
    yield from (variables[name] for name in named if name in variables)


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)

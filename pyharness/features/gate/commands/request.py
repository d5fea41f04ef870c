"""What is asked of a gate, and what is refused before anything is built."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from pyharness.features.gate import calibrating, sources, suites
from pyharness.features.gate.driving import counting
from pyharness.features.gate.judging import declared
from pyharness.features.gate.sources import variables
from pyharness.features.gate.suites import earlier
from pyharness.features.gate.types import GateRules, Waiver
from pyharness.types import InputError

DECLARED = Path("gate.toml")
TWO_TOKENIZERS = "tokenizers"  # suite of two rows of this environment


@dataclass(frozen=True)
class GateRequest:
    """What somebody wants to know."""

    base: str
    head: str
    suite: str | None = None  # name or file; None: what fits the arms
    tests: str | None = None  # path of tests for pytest-benchmark, instead of a suite
    rules: GateRules = field(default_factory=GateRules)
    library: str | None = None  # distribution under test; None: that of the wheels, or what two environments differ in
    declared: Path | None = None  # None: gate.toml, if there is one
    instructions: bool = False
    isolated: bool = True
    cache: bool = True
    separate: bool = False  # two builds, although both sides are one revision
    force: bool = False
    folder: Path = Path()
    requirements: tuple[str, ...] = ()  # what tests need besides pytest
    passed: tuple[str, ...] = ()  # names of further variables that builds get


def checked(asked: GateRequest) -> tuple[Waiver, ...]:
    """Refuse what is asked wrongly; returns what is declared."""
    if asked.instructions:
        counting.valgrind()
    if asked.tests is not None and (asked.suite is not None or asked.instructions):
        other = "--suite" if asked.suite is not None else "--counter instructions"
        raise InputError(f"--pytest {asked.tests!r} and {other} do not go together: leave one out")
    variables.further(asked.passed, os.environ)
    waivers = _declared(asked)
    sources.find(asked.base, asked.head, asked.folder)
    _check_budget(asked)
    return waivers


def _declared(asked: GateRequest) -> tuple[Waiver, ...]:
    path = asked.declared or asked.folder / DECLARED
    return declared.read(path) if asked.declared is not None or path.exists() else ()


def _check_budget(asked: GateRequest) -> None:
    """Refuse what this machine was found to be too noisy for."""
    if asked.tests is None:
        suite = suite_of(asked)
        if (known := calibrating.kept(calibrating.machine(), suite.digest)) is not None:
            calibrating.check_budget(known, asked.rules.budget, suite.benchmarks)


def suite_of(asked: GateRequest) -> suites.GateSuite:
    """Return the suite that is asked for, or that of what is to be compared."""
    found = sources.find(asked.base, asked.head, asked.folder)
    usual = TWO_TOKENIZERS if isinstance(found[0], sources.Specified) else suites.DEFAULT
    path = suites.find(asked.suite or usual)
    return earlier.against(suites.read(path), path, found, asked.rules.budget)

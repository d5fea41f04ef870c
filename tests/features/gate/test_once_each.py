"""What a request names is looked up once, and a suite is read once per arm: both mean the same throughout a gate."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from gating import small_project
from gating.arms import here
from gating.doubles import FakeArm, gate_plan
from pyharness.features.gate import commands, session, suites
from pyharness.features.gate.builds import names
from pyharness.features.gate.builds.arms import Arms
from pyharness.features.gate.builds.checkouts import Checkout
from pyharness.features.gate.measurement.plan import GateListener
from pyharness.features.gate.session import GateRequest
from pyharness.features.gate.types import ArmProcess, GateRules, GateVerdict
from pyharness.system import bounded_file

SUITE = '[[benchmarks]]\nname = "encode"\nworkload = "encode"\nlibrary = "tinytok"\nbytes = 64\n'


@contextmanager
def no_build(*_: object, **__: object) -> Iterator[Arms]:
    yield Arms(here(Path(), under_test="tinytok"), here(Path(), "head", under_test="tinytok"))


def test_a_gate_finds_both_sides_once_and_reads_the_suite_once_per_arm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "project"
    small_project.write(project)
    (project / "mine.toml").write_text(SUITE, encoding="utf-8")
    small_project.commit(project)
    (project / "mine.toml").write_text(SUITE.replace("64", "32"), encoding="utf-8")
    small_project.commit(project)
    calls: list[str] = []

    def spy(owner: Any, name: str, told: str) -> None:
        of_before = getattr(owner, name)

        def seen(*given: Any, **more: Any) -> Any:
            calls.append(told.format(*given))
            return of_before(*given, **more)

        monkeypatch.setattr(owner, name, seen)

    spy(names, "find", "find")
    spy(suites, "read", "read {0.name}")
    spy(bounded_file, "read_toml", "opened {0.name}")
    spy(Checkout, "content", "{2.name} of a commit")
    plan, _ = gate_plan()

    def started(arm: Any, *_: object, **__: object) -> ArmProcess:
        process = plan.start(arm.side, 0, None)
        assert isinstance(process, FakeArm)
        process.has = ("encode",)
        return process

    monkeypatch.setattr(session, "prepare", no_build)
    monkeypatch.setattr(session, "DriverProcess", started)
    rules = GateRules(launches=2, rounds=8)
    asked = GateRequest("HEAD~1", "HEAD", suite=str(project / "mine.toml"), rules=rules, folder=project, force=True)
    done = commands.gate(asked, GateListener())
    assert {one.benchmark: one.verdict for one in done.judgements} == {"encode": GateVerdict.INCOMPARABLE}
    by_arm = ["opened mine.toml", "read mine.toml", "mine.toml of a commit"]
    assert sorted(calls) == sorted(
        ["find", *by_arm, "pyproject.toml of a commit"]
    )  # the library's name, before a build

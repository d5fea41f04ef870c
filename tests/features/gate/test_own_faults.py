"""A fault of the gate itself is no regression: its exit status is that of what cannot be compared."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from pyharness.features.gate import commands
from pyharness.features.gate.measurement.plan import GateListener
from pyharness.features.gate.session import GateRequest
from pyharness.features.gate.types import GateVerdict
from pyharness.system import program


def asked(folder: Path) -> GateRequest:
    return GateRequest("raw_bytes", "raw_bytes", force=True, folder=folder)


def failing(monkeypatch: pytest.MonkeyPatch, fault: Exception) -> None:
    def session(*_: Any) -> Any:
        raise fault

    monkeypatch.setattr(commands, "ready", session)


def test_a_fault_of_ours_is_a_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    failing(monkeypatch, ValueError("planted\nfault"))
    done = commands.gate(asked(tmp_path), GateListener())
    assert (done.verdict, done.exit_code) == (GateVerdict.INCOMPARABLE, 2)
    (fault,) = done.self_test.faults
    assert re.search("pyharness, .*report.*: ValueError: planted fault$", fault)
    assert "Traceback" in capsys.readouterr().err


def test_time_that_runs_out_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, program.OutOfTime("time ran out"))
    assert commands.gate(asked(tmp_path), GateListener()).self_test.faults == ("time ran out",)

"""States that contradict themselves, are missing or are no states, seen by ``report --rederive``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cases.rederived import STATE, asked, edited, plan
from pyharness import store
from pyharness.benchmarks import Findings, benchmarks
from pyharness.commands import session
from pyharness.running import runner
from pyharness.running.workers import checks
from pyharness.store import states
from pyharness.store.states import write_case
from pyharness.system import bounded_file

pytestmark = pytest.mark.usefixtures("doubles")


def test_arrays_that_contradict_each_other_are_one_line(folder: Path) -> None:
    state = folder / STATE
    key = store.read(folder / "record.json").of("compression")[0].case.key
    write_case(state, key, {"facts": np.array([1, 1 << 50, 0])})
    edited(folder, lambda data: data["state"].update(bytes=state.stat().st_size, sha256=bounded_file.digest(state)))
    found = asked(folder)
    assert (found.exit_code, len(found.output.splitlines())) == (2, 1)
    assert re.search(r"ids; at most|state has no '", found.output)


@pytest.mark.parametrize("damage", ["missing", "cut", "foreign", "none", "old", "elsewhere"])
def test_bad_input_is_one_line(folder: Path, damage: str) -> None:
    state, expected = folder / STATE, "cannot be read: No such file"
    if damage == "missing":
        state.unlink()
    elif damage == "cut":
        state.write_bytes(state.read_bytes()[:-1])
        expected = f"{state.stat().st_size:,} bytes"
    elif damage == "foreign":
        state.write_bytes(bytes(state.stat().st_size))
        expected = "has SHA-256"
    elif damage in ("none", "old"):
        edited(folder, lambda data: data.update(state=None) if damage == "none" else data.pop("state"))
        expected = "no state"
    else:
        edited(folder, lambda data: data["state"].update(file="../x.zip"))
        expected = 'is "../x.zip"'
    found = asked(folder)
    assert found.exit_code == 2
    assert len(found.output.splitlines()) == 1
    assert expected in found.output


def test_only_lines_of_text(folder: Path) -> None:
    assert asked(folder, "--format", "csv").exit_code == 2
    assert asked(folder, "-o", str(folder / "said.txt")).exit_code == 0
    assert re.search(r"(?m)^compression: \d+ cases?, \d[\d,]* values equal\b", (folder / "said.txt").read_text("utf-8"))
    assert asked(folder, "-o", str(folder / "said.txt")).exit_code == 2


def test_a_benchmark_that_is_not_installed_says_so(folder: Path) -> None:
    def change(data: dict[str, Any]) -> None:
        data["results"][0] |= {"benchmark": "of_a_stranger", "key": "of_a_stranger | bytes"}

    edited(folder, change)
    assert "no benchmark 'of_a_stranger' is installed here" in asked(folder).output


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ({"x": np.zeros(3)}, "'x'.*integers"),
        (["x"], "state of benchmark 'vocabulary'"),
        ({"x": [1]}, "'x'.*integers"),
    ],
)
def test_what_is_no_state_costs_its_case(tmp_path: Path, state: Any, message: str) -> None:
    benchmark = benchmarks()["vocabulary"]
    with pytest.raises(checks.WrongValue, match=message):
        checks.keep_state(benchmark, Findings(state=state), tmp_path / "state.zip", "case")
    checks.keep_state(benchmark, Findings(), tmp_path / "state.zip", "case")
    assert not (tmp_path / "state.zip").exists()


def test_a_damaged_state_costs_its_case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def damaged(path: Path, case: str) -> None:
        raise store.NoState("damaged by the test")

    monkeypatch.setattr(states, "check", damaged)
    record = runner.run(
        plan("raw_bytes", "vocabulary"), store.Journal(tmp_path / "record.json"), session.SilentListener()
    )
    assert record.results
    for one in record.results:
        assert one.status == "failed"
        assert re.search(r"\bstate\b.*: damaged by the test$", str(one.reason))
    assert record.data["state"] is None

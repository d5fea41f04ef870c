"""Trials of the gate: what is measured against what, in which order, and what is kept."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import gate_trials
from gate_trials import GATES, Others, Trial
from gating.gates import gate, judgement
from pyharness.features.gate.records import gate_as_json

NAMES = list("abcdefghij")


def record(number: int) -> dict[str, Any]:
    about = {"loaded": False, "planted": {}, "seconds": 1.0, "swapped": True, "commit": "c", "others": 0.25}
    return {"number": number, **about, "modules": {}, "gate": gate_as_json(gate(judgement("encode")))}


def test_each_build_is_the_head_in_half_of_the_gates_of_every_kind() -> None:
    kinds = Counter(
        (gate_trials.is_loaded(one), bool(gate_trials.planted(one, NAMES)), gate_trials.is_swapped(one))
        for one in range(GATES)
    )
    assert len(kinds) == 8
    assert set(kinds.values()) == {7, 8}
    assert sum(map(gate_trials.is_swapped, range(GATES))) == GATES // 2


def test_what_is_slowed_is_slowed_in_either_build() -> None:
    seen: dict[tuple[str, float], set[bool]] = {}
    for number in range(GATES):
        for planted in gate_trials.planted(number, NAMES).items():
            seen.setdefault(planted, set()).add(gate_trials.is_swapped(number))
    assert len(seen) == 30
    assert all(len(either) == 2 for either in seen.values())


def test_arms_are_swapped(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    class Enough(Exception):
        pass

    def session(request: Any, _: object) -> None:
        asked.append((request.base, request.head))
        raise Enough

    monkeypatch.setattr(gate_trials, "resolved", lambda request: request)
    monkeypatch.setattr(gate_trials, "ready", session)
    for number in (0, 1):
        with pytest.raises(Enough):
            gate_trials.run_one(number, "one", "two", gate_trials.RULES, is_busy=False)
    assert asked == [("one", "two"), ("two", "one")]


def test_gates_alternate_and_loaded_ones_go_first_while_the_machine_is_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate_trials, "idle", lambda patience: True)
    assert list(gate_trials.in_turn(range(6))) == [0, 1, 2, 3, 4, 5]
    monkeypatch.setattr(gate_trials, "idle", lambda patience: False)
    assert list(gate_trials.in_turn(range(6))) == [1, 3, 5, 0, 2, 4]


def test_nobody_waits_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate_trials, "others_share", lambda: 0.9)
    assert not gate_trials.idle(0.01)
    assert list(gate_trials.in_turn([0, 2], patience=0.01)) == [0, 2]
    monkeypatch.setattr(gate_trials, "others_share", lambda: 0.1)
    assert gate_trials.idle(0.01)


def test_what_is_kept_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "new" / "trials.jsonl.gz"
    for number in (3, 1):
        gate_trials.keep(path, record(number))
    (third, first) = gate_trials.kept(path)
    assert isinstance(third, Trial)
    assert (third.number, first.number, third.swapped, third.commit, third.others) == (3, 1, True, "c", 0.25)
    assert "25%, 25%" in "\n".join(gate_trials.tables([third, first], gate_trials.RULES))


@pytest.mark.parametrize("cut", [1, 9, 40, 300])
def test_a_record_that_was_cut_off_is_lost_and_no_other(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "trials.jsonl.gz"
    for number in range(2):
        gate_trials.keep(path, record(number))
    path.write_bytes(path.read_bytes()[:-cut])
    assert [one.number for one in gate_trials.kept(path)] == [0]
    gate_trials.keep(path, record(5))
    assert [one.number for one in gate_trials.kept(path)] == [0, 5]


def test_a_record_that_was_spoilt_ends_what_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "trials.jsonl.gz"
    gate_trials.keep(path, record(0))
    path.write_bytes(path.read_bytes() + b"\x1f\x8b\x08" + bytes(7) + b"\xff" * 99)
    assert [one.number for one in gate_trials.kept(path)] == [0]


def busy_seconds() -> float:
    stat = [int(one) for one in Path("/proc/stat").read_text(encoding="ascii").split()[1:9]]
    return (sum(stat) - stat[3] - stat[4]) / os.sysconf("SC_CLK_TCK")


@pytest.mark.skipif(sys.platform != "linux", reason="/proc/stat")
def test_children_are_no_others() -> None:
    spin = "import time\nwhile time.process_time() < 0.5: pass"
    begun, others = busy_seconds(), Others()
    subprocess.run([sys.executable, "-c", spin], check=True)
    before, after = others._begun, others._seconds()
    assert 0.45 <= (busy_seconds() - begun) - (after[1] - before[1]) < 5
    assert 0 <= others.share() <= 1


def test_modules_of_an_environment(tmp_path: Path) -> None:
    folder = tmp_path / "lib" / "python3.11" / "site-packages" / "pyharness"
    folder.mkdir(parents=True)
    for name, data in (("_core", b"a"), ("_emulated", b"b")):
        (folder / f"{name}.cpython-311-x86_64-linux-gnu.so").write_bytes(data)
    found = gate_trials.modules(str(tmp_path))
    assert set(found) == {"_core", "_emulated"}
    assert found["_core"] != found["_emulated"]
    with pytest.raises(SystemExit, match="has no pyharness of its own"):
        gate_trials.modules(str(tmp_path / "nothing"))


def test_the_commit_that_measures_is_this_one() -> None:
    assert len(gate_trials.commit().split()[0]) == 40

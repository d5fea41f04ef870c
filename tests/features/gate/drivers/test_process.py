"""The parent's side of an arm: whatever the process does, one clear line says it."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gating.arms import here, made, suite_of
from pyharness.features.gate.drivers.driver import digest
from pyharness.features.gate.drivers.processes import DriverProcess
from pyharness.features.gate.measurement.plan import GatePlan
from pyharness.features.gate.measurement.series import measure
from pyharness.features.gate.texts import Texts
from pyharness.features.gate.types import ArmFailed, ArmProcess, CallBatch, GateBenchmark, GateRules, GateVerdict, Side
from pyharness.system import process_tree

HOSTILE = """
import json, os, sys, time
fault = {fault!r}
sound = {{"calls": 2, "wall": 5, "cpu": 5, "faults": 0, "digest": "d"}}
sound |= {{"figures": {{}}, "ids": [], "facts": {{}}, "libraries": {{}}}}
for line in sys.stdin:
    message = json.loads(line)
    if message["do"] == "texts":
        print(json.dumps({{"id": message["id"]}}), flush=True)
        continue
    if fault == "dies":
        os.abort()
    if fault == "ends":
        break
    if fault == "hangs":
        time.sleep(100)
    if isinstance(fault, str):
        print(fault, flush=True)
    else:
        print(json.dumps({{"id": message["id"], **sound, **fault}}), flush=True)
"""
HANGING = """
import time
class Made:
    def __init__(self): self.call, self.digestible = str.upper, str.encode
def sound(setting): return Made()
def hanging(setting): time.sleep(100)
def last(setting): return Made()
"""
TWO = CallBatch(2, ((0, 4), (4, 4)))
Started = Callable[..., DriverProcess]


@pytest.fixture
def hostile(tmp_path: Path, request: pytest.FixtureRequest) -> Started:
    """Start an arm whose process has a fault."""

    def started(fault: object, time_limit: float = 60.0) -> DriverProcess:
        script = tmp_path / "hostile.py"
        script.write_text(HOSTILE.format(fault=fault), encoding="utf-8")
        tool = [sys.executable, str(script)]
        worker = made(tmp_path, here(tmp_path), "def echo(setting): pass\n", tool=tool, time_limit=time_limit)
        request.addfinalizer(worker.close)
        return worker

    return started


def test_a_sound_double_is_believed(hostile: Started) -> None:
    timed = hostile({}).time("echo", TWO)
    assert (timed.timing.wall, timed.timing.cpu, timed.digest) == (5, 5, "d")


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("dies", r"the process .*\bsignal 6$"),
        ("ends", r"the process .*\bstatus 0\b.*answer"),
        ("hello there", r"the process .*\bb'hello there'"),
        ("[1, 2]", r"the process .*\bb'\[1, 2\]'"),
        ("[" * 100_000, r"the process .*\bb'\[\[\["),
        ({"id": 1}, r"the process .*\bb'.*\"id\": 1\b"),
        ({"wall": -3}, r"its clock .*\b2 calls took -3 ns "),
        ({"cpu": 0}, r"its clock .*\b2 calls took 5 ns .*\b0 ns "),
        ({"wall": "5"}, "the process .*: 'wall' is \"5\""),
        ({"wall": True}, "the process .*: 'wall' is true"),
        ({"wall": 1.5}, r"the process .*: 'wall' is 1\.5"),
        ({"wall": 10**30}, r"the process .*wall = 1e\+30"),
        ({"calls": 0}, "the process did 0 of 2 calls"),
        ({"calls": 3}, "the process did 3 of 2 calls"),
        ({"digest": None}, "the process .*: 'digest' is null"),
        ({"error": "ValueError: no"}, "ValueError: no"),
    ],
)
def test_a_batch_that_fails_is_one_clear_line(hostile: Started, fault: object, said: str) -> None:
    worker = hostile(fault)
    with pytest.raises(ArmFailed) as caught:
        worker.time("echo", TWO)
    assert re.match(said, str(caught.value))
    assert "\n" not in str(caught.value)


def test_one_that_hangs_is_ended(hostile: Started) -> None:
    worker = hostile("hangs", time_limit=0.5)
    begun = time.monotonic()
    with pytest.raises(ArmFailed, match=r"^no answer within 0\.5 s \(prepare\)$"):
        worker.prepare("echo")
    assert time.monotonic() - begun < 10
    assert not process_tree._lives(worker.child.process.pid)


def test_no_answer_is_waited_for_when_the_time_of_the_gate_is_over(tmp_path: Path) -> None:
    source = "import time\ndef hanging(setting): time.sleep(100)\n"
    worker = made(tmp_path, here(tmp_path), source)
    worker.deadline = time.monotonic() + 0.5
    begun = time.monotonic()
    with pytest.raises(ArmFailed, match=r"^no answer .*\bgate \(prepare\)$"):
        worker.prepare("hanging")
    assert time.monotonic() - begun < 10
    assert not process_tree._lives(worker.child.process.pid)


@pytest.mark.parametrize("late", [True, False])
def test_a_hang_that_the_deadline_ends_is_no_failure(tmp_path: Path, late: bool) -> None:
    deadline = time.monotonic() + (5.0 if late else 300)

    def start(side: Side, launch: int, wanted: object) -> ArmProcess:
        (folder := tmp_path / side).mkdir(exist_ok=True)
        limit = 60.0 if late else 3.0
        return made(folder, here(folder, side=side), HANGING, text="x" * 4000, time_limit=limit, deadline=deadline)

    names = ("sound", "hanging", "last")
    benchmarks = {name: GateBenchmark(name, name, "mine", bytes=4) for name in names}
    rules = GateRules(rounds=2, batch_seconds=1e-6)
    text = Texts({"english": tmp_path / "base" / "english.txt"})
    measured = measure(GatePlan(start, text, rules, benchmarks, deadline=deadline), lambda _: [])
    if late:
        assert time.monotonic() < deadline + 5
        assert not measured.refusals
        assert measured.unmeasured[-2:] == ["hanging", "last"]
    else:
        assert measured.refusals["hanging"][0] is GateVerdict.FAILED
        assert [rounds.benchmark for rounds in measured.rounds] == ["sound", "last"]


def test_one_that_fills_the_memory_is_ended(tmp_path: Path) -> None:
    source = "def greedy(setting):\n    held = []\n    while True: held.append(bytearray(1 << 24))\n"
    worker = made(tmp_path, here(tmp_path), source, memory_limit=200_000_000)
    try:
        with pytest.raises(ArmFailed, match=r"was stopped at 0\.2 GB of memory"):
            worker.prepare("greedy")
    finally:
        worker.close()


def test_ids_and_figures_are_checked(hostile: Started) -> None:
    with pytest.raises(ArmFailed, match=r"ids .*whole numbers"):
        hostile({"ids": [1, "2"]}).result("echo", (0, 4))
    with pytest.raises(ArmFailed, match="'memory' is \"much\""):
        hostile({"figures": {"memory": "much"}}).finish("echo")
    assert hostile({"figures": {"memory": 7, "colour": "red"}}).finish("echo") == {"memory": 7}


def test_a_library_that_finds_the_pipe_is_not_believed(tmp_path: Path) -> None:
    source = (
        "import os\n"
        "def talking(setting):\n"
        "    for file in range(3, 20):\n"
        "        try: os.write(file, b'{\"id\": 2}\\n')\n"
        "        except OSError: pass\n"
        "    raise ValueError('too late')\n"
    )
    worker = made(tmp_path, here(tmp_path), source)
    try:
        worker.prepare("talking")  # the forged answer is taken for this one
        with pytest.raises(ArmFailed, match=r"the process .*\bb'"):
            worker.time("talking", TWO)
    finally:
        worker.close()


def test_what_does_not_start_is_said(tmp_path: Path) -> None:
    with pytest.raises(ArmFailed, match=r"cannot start .*: No such file"):
        made(tmp_path, here(tmp_path, python=tmp_path / "nothing"), "")
    with pytest.raises(ArmFailed, match=r"\bstatus 1: ModuleNotFoundError: No module named 'absent'"):
        made(tmp_path, here(tmp_path), "import absent\n")


def test_a_tokenizer_is_that_of_the_arm_or_of_its_side(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "class Made:\n"
        "    def __init__(self, said): self.call, self.digestible = (lambda _: said), str.encode\n"
        "def told(setting): return Made(str(setting.options.get('tokenizer')))\n",
        encoding="utf-8",
    )
    options: list[dict[str, Any]] = [{}, {"tokenizer": "named"}, {"tokenizer": {"base": "left", "head": "right"}}]
    benchmarks = [
        GateBenchmark(f"told{index}", "told", "mine", text="", options=option) for index, option in enumerate(options)
    ]
    worker = DriverProcess(
        here(tmp_path, side="head", tokenizer="of-the-arm"), suite_of(tmp_path / "mine.py", *benchmarks), {}
    )
    try:
        digests = set()
        for name in worker.benchmarks():
            worker.prepare(name)
            digests.add(worker.time(name, CallBatch(1)).digest)
        assert digests == {digest([one]) for one in (b"of-the-arm", b"named", b"right")}
    finally:
        worker.close()


def test_it_gets_its_own_variables_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYHARNESS_ELSEWHERE", "1")
    worker = made(tmp_path, here(tmp_path), "")
    try:
        names = worker.facts().facts["environment"]
    finally:
        worker.close()
    assert "PYHARNESS_ELSEWHERE" not in json.dumps(names)

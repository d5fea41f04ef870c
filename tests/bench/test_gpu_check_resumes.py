"""The check's loop: limits, calls that are cut off, what is done and what is not, and what is taken home."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest
from device import checking, machine, results
from device.checking import Check
from device.machine import Device
from device.running import Outcome
from device.stages import Part, Place, parts

ROOT = Path(__file__).parents[2]
GPU = Device("Some GPU", "9.0", "580.1")


@pytest.fixture(autouse=True)
def _nothing_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "versions", dict)
    monkeypatch.setattr(checking, "LEAST_SECONDS", 0.0)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    root = tmp_path / "root"
    root.mkdir()
    for name in ("source", "other"):
        (root / name).write_text("1", encoding="utf-8")
    (root / "pyproject.toml").write_text("[project]\ndependencies = []\n", encoding="utf-8")
    place = Place(root, tmp_path / "work", sys.executable)
    place.results.mkdir(parents=True)
    return place


def scripted(words: str, script: str, limit: int = 30, reads: str = "source", leaves: Path | None = None) -> Part:
    return Part(tuple(words.split()), (sys.executable, "-c", script), limit, (reads,), leaves=leaves)


def counting(name: str) -> str:
    """Append a letter to a file: how often a part ran."""
    return f"open('{name}', 'a').write('x')\n"


BUILD = "import os\nos.makedirs(os.environ['PYTHONPATH'].split(os.pathsep)[0] + '/pyharness', exist_ok=True)\n"


def parts_of(*others: Part) -> list[Part]:
    return [scripted("build", BUILD + counting("build")), *others]


def run(place: Place, every: list[Part], wanted: list[Part] | None = None, again: bool = False, **more: Any) -> int:
    until = time.monotonic() + more.get("seconds", 600)
    out = more.get("out", place.work)
    return Check(place, every, out, GPU, until).run(every if wanted is None else wanted, again)


def verdicts(place: Place) -> dict[str, str]:
    read = (json.loads(path.read_text(encoding="utf-8")) for path in place.results.glob("*.json"))
    return {" ".join(one["part"]): one["verdict"] for one in read}


def times(place: Place, name: str) -> int:
    path = place.root / name
    return len(path.read_text(encoding="utf-8")) if path.exists() else 0


def test_what_is_done_is_not_run_again_until_its_sources_change(place: Place) -> None:
    every = parts_of(scripted("smoke a", counting("a")), scripted("smoke b", counting("b"), reads="other"))
    assert run(place, every) == 0
    assert run(place, every) == 0
    assert (times(place, "build"), times(place, "a"), times(place, "b")) == (1, 1, 1)
    (place.root / "other").write_text("2", encoding="utf-8")
    run(place, every)
    assert (times(place, "build"), times(place, "a"), times(place, "b")) == (1, 1, 2)
    run(place, every, [every[1]], again=True)
    assert (times(place, "a"), times(place, "b")) == (2, 2)


def test_a_stage_builds_what_is_not_built_and_nothing_follows_a_build_that_failed(place: Place) -> None:
    every = parts_of(scripted("smoke", counting("a")))
    assert run(place, every, every[1:]) == 0
    assert times(place, "build") == 1
    broken = [scripted("build", "raise SystemExit('no compiler')"), *every[1:]]
    (place.root / "source").write_text("2", encoding="utf-8")
    assert run(place, broken) == 1
    assert verdicts(place)["build"] == "failed"
    assert times(place, "a") == 1
    assert "no compiler" in (place.work / "summary.md").read_text(encoding="utf-8")


def test_a_failure_stands_and_others_go_on(place: Place) -> None:
    every = parts_of(scripted("smoke a", counting("a") + "raise SystemExit(3)"), scripted("smoke b", counting("b")))
    assert run(place, every) == 1
    assert run(place, every) == 1
    assert (times(place, "a"), times(place, "b")) == (1, 1)
    assert verdicts(place) == {"build": "passed", "smoke a": "failed", "smoke b": "passed"}


def test_what_ran_out_of_time_comes_after_what_was_not_tried(place: Place) -> None:
    slow = scripted("smoke a", counting("a") + "open('order', 'a').write('a')\nimport time\ntime.sleep(60)", limit=1)
    quick = scripted("smoke b", "open('order', 'a').write('b')")
    every = parts_of(slow, quick)
    assert run(place, every, [slow]) == 3
    assert verdicts(place)["smoke a"] == "timed out"
    assert run(place, every) == 3
    assert (place.root / "order").read_text(encoding="utf-8") == "aba"


def test_nothing_of_a_part_that_ran_out_of_time_is_left_running(place: Place) -> None:
    child = "import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
    stubborn = "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(60)"
    run(place, parts_of(scripted("smoke", child + stubborn, limit=1)))
    assert remains(place) == []


def remains(place: Place) -> list[int]:
    entry = f"PYHARNESS_GPU_CHECK={place.work}".encode()
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if entry in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
        except OSError:
            continue
    return found


KILLED = """
import sys, time
from pathlib import Path
from device import checking, machine
from device.stages import Part, Place
machine.versions = dict
place = Place(Path(sys.argv[1]), Path(sys.argv[2]), sys.executable)
sleep = "open('started', 'w').close()\\nimport time\\ntime.sleep(60)"
every = [Part(("build",), (sys.executable, "-c", sys.argv[3]), 30, ("source",)),
         Part(("smoke",), (sys.executable, "-c", sleep), 30, ("source",))]
sys.exit(checking.Check(place, every, place.work, machine.Device("Some GPU", "9.0", "580.1"),
                        time.monotonic() + 600).run(every, False))
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_call_that_is_killed_leaves_a_part_timed_out_and_the_next_goes_on(place: Place, number: int) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "bench")}
    command = [sys.executable, "-c", KILLED, str(place.root), str(place.work), BUILD]
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) as process:
        until = time.monotonic() + 60
        while not (place.root / "started").exists() and time.monotonic() < until:
            time.sleep(0.05)
        process.send_signal(number)
        process.wait(60)
    if number == signal.SIGKILL:
        assert verdicts(place)["smoke"] == "running"
        assert remains(place) != []
    other = scripted("memcheck", counting("b"))
    assert run(place, parts_of(scripted("smoke", ""), other), [other]) == 0
    assert verdicts(place) == {"build": "passed", "smoke": "timed out", "memcheck": "passed"}
    assert remains(place) == []


def test_a_call_without_time_starts_nothing(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checking, "LEAST_SECONDS", 30)
    assert run(place, parts_of(), seconds=20) == 3
    assert verdicts(place) == {}


def test_what_is_taken_home_is_there_after_every_part(place: Place, tmp_path: Path) -> None:
    out = tmp_path / "out"
    look = f"import shutil\nshutil.copytree({str(out)!r}, {str(tmp_path / 'seen')!r})"
    run(place, parts_of(scripted("smoke", "print('all equal')"), scripted("memcheck", look)), out=out)
    seen = json.loads((tmp_path / "seen" / "summary.json").read_text(encoding="utf-8"))
    assert [one["verdict"] for one in seen["parts"]] == ["passed", "passed", "running"]
    assert sorted(path.name for path in out.iterdir()) == ["results.zip", "summary.json", "summary.md"]
    with zipfile.ZipFile(out / "results.zip") as packed:
        assert packed.read("smoke.log") == b"all equal\n"


def test_of_a_profile_that_was_cut_off_the_finished_shapes_stay(place: Place) -> None:
    record = place.results / "profile-entropy.record.json"

    def leaving(shape: str, more: str = "") -> Part:
        text = json.dumps(a_record(shape))
        return scripted("profile entropy", f"open({str(record)!r}, 'w').write({text!r})\n{more}", 2, leaves=record)

    run(place, parts_of(leaving("1x2", "import time\ntime.sleep(60)")))
    assert shapes(place) == ["1x2"]
    run(place, parts_of(leaving("3x4")))
    assert shapes(place) == ["1x2", "3x4"]
    (place.root / "source").write_text("2", encoding="utf-8")
    run(place, parts_of(leaving("5x6")))
    assert shapes(place) == ["5x6"]  # the others are of other sources
    page = (place.work / "summary.md").read_text(encoding="utf-8")
    assert "| 5x6 bf16 | pyharness | 2 | 97.5 |  |  | 4300 | 1 |" in page


def shapes(place: Place) -> list[str]:
    data = json.loads((place.work / "summary.json").read_text(encoding="utf-8"))
    assert data["device"] == str(GPU)
    return [row["shape"] for row in data["measured"]]


def a_record(shape: str) -> dict[str, Any]:
    values = {"call_seconds": 2e-3, "copy_share": 0.975, "times_ours": 1.0, "floor_bytes_per_second": 4.3e12}
    result = {
        "tokenizer": "pyharness",
        "parameters": {"shape": shape, "dtype": "bf16", "phase": "cold"},
        "status": "ok",
        "reason": None,
        "measurements": [{"metric": name, "value": value} for name, value in values.items()],
    }
    return {"created": "2026-01-01T00:00:00+00:00", "profile": {"kernel": "entropy"}, "results": [result]}


TESTS = {  # MARK stands for the mark, which would make tests for a device of this file's
    "warns": ("import warnings\n@MARK\ndef test_a():\n    warnings.warn('a version')\n", "passed"),
    "fails": ("@MARK\ndef test_a():\n    assert 0\n", "failed"),
    "skips": ("@MARK\ndef test_a():\n    pytest.skip('no device')\n", "nothing ran"),
    "has none": ("# MARK is named only\ndef test_a():\n    assert 0\n", "passed"),
    "breaks": ("import no_such_module\n@MARK\ndef test_a():\n    pass\n", "failed"),
}


@pytest.mark.parametrize("name", TESTS)
def test_a_file_of_tests_is_judged_by_those_that_ran_and_a_warning_is_no_failure(name: str, place: Place) -> None:
    text, verdict = TESTS[name]
    settings = "[tool.pytest.ini_options]\nmarkers = ['cuda: device']\nfilterwarnings = ['error']\n"
    (place.root / "pyproject.toml").write_text(f"[project]\ndependencies = []\n{settings}", encoding="utf-8")
    (place.root / "tests").mkdir()
    (place.root / "tests" / "test_a.py").write_text(
        "import pytest\n" + text.replace("MARK", "pytest.mark" + ".cuda"), encoding="utf-8"
    )
    (part,) = (part for part in parts(place) if part.stage == "test")
    store = results.Store(place, "any")
    with store.log(part).open("w") as log:
        status = subprocess.run(part.command, cwd=place.root, stdout=log, stderr=log, check=False).returncode
    outcome = Outcome(status, 1.0)
    assert checking.judged(part, outcome, store.log(part))[0] == verdict


REPORT = """========= Error: Race reported between Read access at void {}<bool=0>(int)+0x2b0 in exec.hpp:80
=========     and Write access at void {}<bool=0>(int)+0x230 in file.hpp:13 [28 hazards]
=========
"""


@pytest.mark.parametrize(
    ("kernels", "status", "verdict"),
    [
        (("count_dense", "count_parts"), 9, "passed"),
        (("count_dense", "entropy_rows"), 9, "failed"),
        ((), 9, "failed"),  # something, but no race
        (("count_dense",), 1, "failed"),  # it broke down besides
    ],
)
def test_races_that_are_meant_are_counted_and_others_fail(
    kernels: tuple[str, ...], status: int, verdict: str, place: Place
) -> None:
    log = place.results / "log"
    log.write_text("".join(REPORT.format(name, name) for name in kernels), encoding="utf-8")
    said = checking.judged(scripted("racecheck pairs", ""), Outcome(status, 1.0), log)
    assert said[0] == verdict
    if verdict == "passed":
        assert said[1] == "2 races, 2 of them intended"


def test_a_profiler_that_saw_no_kernel_has_failed(place: Place) -> None:
    part = scripted("ncu", "")
    log = place.results / "log"
    log.write_text("==WARNING== No kernels were profiled.\n", encoding="utf-8")
    assert checking.judged(part, Outcome(0, 1.0), log)[0] == "failed"

"""The check's loop: limits, calls that are cut off, what is done and what is not, and what is taken home."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest
from device import checking, results
from device.checking import Check
from device.machine import Device
from device.running import Outcome
from device.stages import Part, Place

from lent.checks import BENCH, BUILD, GPU, counting, parts_of, place, run, scripted, times, verdicts

__all__ = ["place"]  # the fixture


def test_what_is_done_is_not_run_again_until_its_sources_change(place: Place) -> None:
    every = parts_of(scripted("smoke a", counting("a")), scripted("smoke b", counting("b"), reads="other"))
    assert run(place, every) == 0
    assert run(place, every) == 0
    assert (times(place, "build"), times(place, "a"), times(place, "b")) == (1, 1, 1)
    (place.root / "other").write_text("2", encoding="utf-8")
    run(place, every)
    assert (times(place, "build"), times(place, "a"), times(place, "b")) == (1, 1, 2)
    run(place, every, [every[1]], again=True)
    assert (times(place, "build"), times(place, "a"), times(place, "b")) == (1, 2, 2)


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
    environment = {**os.environ, "PYTHONPATH": str(BENCH)}
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
    assert "| 5x6 bf16 | pyharness | 2 | 97.5 |  |  |  |  | 4300 | 1 |  | 0 |" in page


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


def test_the_wheel_of_a_build_is_taken_home_and_a_fresh_machine_goes_on_with_it(place: Place, tmp_path: Path) -> None:
    out = tmp_path / "out"
    every = [building(), scripted("smoke a", counting("a")), scripted("smoke b", "raise SystemExit(1)")]
    assert run(place, every, out=out) == 1
    assert sorted(path.name for path in out.iterdir()) == ["our-1-py3.whl", "results.zip", "summary.json", "summary.md"]
    fresh = Place(place.root, tmp_path / "fresh", sys.executable)
    fresh.results.mkdir(parents=True)
    said = results.bring_back(fresh, (fresh.work, out))
    assert re.fullmatch(r"6 files of .*results\.zip, and our-1-py3\.whl", said)
    other = Device(GPU.name, GPU.capability, "590.2")
    check = Check(fresh, every, fresh.work, other, time.monotonic() + 600)
    assert not check.builds(every, again=False)
    assert check.run(every, again=False) == 1
    assert (times(place, "built"), times(place, "installed"), times(place, "a")) == (1, 2, 1)
    assert "| smoke a | passed | 0 | (driver 580.1) |" in (fresh.work / "summary.md").read_text(encoding="utf-8")
    assert results.bring_back(fresh, (out,)) == ""  # what is here is not replaced


def building() -> Part:
    """A build that installs the wheel that is here, and makes one only where none is."""
    script = """import os
from pathlib import Path
site = Path(os.environ["PYTHONPATH"].split(os.pathsep)[0])
wheel = site.parent / "wheels" / "our-1-py3.whl"
if not wheel.exists():
    wheel.parent.mkdir(parents=True)
    wheel.write_text("a wheel")
    open("built", "a").write("x")
(site / "pyharness").mkdir(parents=True, exist_ok=True)
open("installed", "a").write("x")
"""
    return scripted("build", script)


@pytest.mark.parametrize("change", ["sources", "device", "force"])
def test_a_wheel_of_other_sources_or_of_another_device_is_not_used(change: str, place: Place) -> None:
    every = [building()]
    run(place, every)
    if change == "sources":
        (place.root / "source").write_text("2", encoding="utf-8")
    device = Device("Other GPU", "10.0", "580.1") if change == "device" else GPU
    check = Check(place, every, place.work, device, time.monotonic() + 600)
    assert check.builds(every, again=change == "force")
    assert check.run(every, again=change == "force") == 0
    assert times(place, "built") == 2


def test_a_wheel_that_is_not_the_one_named_stays_where_it_is(place: Place, tmp_path: Path) -> None:
    run(place, [building()], out=tmp_path / "out")
    (tmp_path / "out" / "our-1-py3.whl").write_text("another", encoding="utf-8")
    fresh = Place(place.root, tmp_path / "fresh", sys.executable)
    assert results.bring_back(fresh, (tmp_path / "out",)).endswith("results.zip")
    assert not fresh.wheels.exists()


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("../evil.json", "it has a file '../evil.json'"),
        ("/tmp/evil.json", "it has a file"),  # noqa: S108 -- a name in an archive
        ("folder/evil.json", "it has a file"),
        (".hidden", "it has a file"),
        ("..", "it has a file"),
        ("a" * 300, "it has a file"),
    ],
)
def test_an_archive_with_names_of_other_places_is_refused_whole(name: str, reason: str, place: Place) -> None:
    with zipfile.ZipFile(place.work / "results.zip", "w") as packed:
        packed.writestr("smoke.json", "{}")
        packed.writestr(name, "{}")
    assert f"is not used: {reason}" in results.bring_back(place, (place.work,))
    assert list(place.results.iterdir()) == []


def test_an_archive_that_is_too_large_or_broken_is_refused(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    path = place.work / "results.zip"
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("smoke.log", "x" * 100_000)
    monkeypatch.setattr(results, "MOST_BYTES", 99_999)
    assert "too large" in results.bring_back(place, (place.work,))
    monkeypatch.setattr(results, "MOST_BYTES", 100_000)
    whole = path.read_bytes()
    for broken in (b"", whole[:50], whole[:60] + bytes(9) + whole[69:]):
        path.write_bytes(broken)
        assert "is not used" in results.bring_back(place, (place.work,))
        assert list(place.results.iterdir()) == []
    path.write_bytes(whole)
    assert results.bring_back(place, (place.work,)).startswith("1 files")
    assert len((place.results / "smoke.log").read_bytes()) == 100_000


def test_a_profiler_that_saw_no_kernel_has_failed(place: Place) -> None:
    said = "==WARNING== No kernels were profiled.\n"
    assert checking.judged(scripted("ncu", ""), Outcome(0, 1.0), said, place.root)[0] == "failed"

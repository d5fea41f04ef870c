"""A checkout of made-up parts, each a few lines of Python, and what a call of the check makes of them."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from device import checking, machine
from device.checking import Check
from device.machine import Device
from device.stages import Part, Place

BENCH = Path(__file__).parents[3] / "bench"
GPU = Device("Some GPU", "9.0", "580.1")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """A checkout, on a machine that is not looked at and for a call that is never too short."""
    monkeypatch.setattr(machine, "versions", dict)
    monkeypatch.setattr(checking, "LEAST_SECONDS", 0.0)
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


def kept(place: Place) -> dict[str, dict[str, Any]]:
    """What is kept of each part, by its words."""
    read = (json.loads(path.read_text(encoding="utf-8")) for path in place.results.glob("*.json"))
    return {" ".join(one["part"]): one for one in read if "part" in one}


def verdicts(place: Place) -> dict[str, str]:
    return {part: one["verdict"] for part, one in kept(place).items()}


def times(place: Place, name: str) -> int:
    path = place.root / name
    return len(path.read_text(encoding="utf-8")) if path.exists() else 0

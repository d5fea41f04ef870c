"""Whether a run in parts that is killed at random moments goes on to the same numbers, whoever does the parts."""

from __future__ import annotations

import importlib.util
import os
import random
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import language_models
from cases.command_line import RUN
from divided import runs as divided
from divided.batch import Batch, answers
from pyharness import store

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]
KILLS, PARTS = 20, 6


def ended(words: list[str], seconds: float) -> int:
    """Kill a command after a time, unless it ends before; return its status."""
    process = subprocess.Popen([*RUN, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        return process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        return process.wait()


class Killer:
    """Kills at random moments, so often; then it lets everything end."""

    def __init__(self, seed: int, most_seconds: float) -> None:
        self.moments, self.most_seconds, self.kills = random.Random(seed), most_seconds, 0

    def patience(self) -> float:
        """The seconds until the next kill, or enough for all that is left."""
        return self.moments.uniform(0.3, self.most_seconds) if self.kills < KILLS else 600.0

    def command(self, words: list[str]) -> bool:
        """Run a command, and return whether it ended well; it fails in no other way than by a kill."""
        status = ended(words, self.patience())
        self.kills += status == -signal.SIGKILL
        assert status in (0, -signal.SIGKILL), words
        return status == 0


def by_one_command(killer: Killer, suite: Path, output: Path, on: str = "local") -> None:
    folder, done = output.with_name(f"{output.name}.parts"), False
    words = ["run", str(suite), "--parts", str(PARTS), "--on", on, "-q", "-o", str(output)]
    while not done:
        begun = folder.exists() or output.exists()  # it may be killed when all is done
        done = killer.command([*words, *(["--resume"] if begun else [])])
    assert not folder.exists()


def by_ray(killer: Killer, suite: Path, output: Path) -> None:
    by_one_command(killer, suite, output, "ray")


def by_arrays(killer: Killer, suite: Path, output: Path, *, real: bool = False) -> None:
    """Submit arrays of what is missing until nothing is, and merge: tasks and merges are killed."""
    folder, batch = output.with_name("run"), Batch(output.parent, real=real)
    divided.planned(suite, PARTS, folder)
    while len(list(folder.glob("*.done.json"))) < PARTS:
        batch.submit(folder, at_once=2)
        if not batch.is_done_within(killer.patience()):
            killer.kills += 1
            batch.kill()
    while not killer.command(["merge", str(folder), "-q", "--force", "-o", str(output)]):
        pass


def by_slurm(killer: Killer, suite: Path, output: Path) -> None:
    by_arrays(killer, suite, output, real=True)


# With each way, the most seconds until a kill, in times of one uninterrupted run.
WAYS: dict[str, tuple[Callable[..., None], float]] = {
    "local": (by_one_command, 1.0), "ray": (by_ray, 1.0), "arrays": (by_arrays, 0.8), "slurm": (by_slurm, 1.5),
}  # fmt: skip
LACKING = {"ray": importlib.util.find_spec("ray") is None, "slurm": not answers()}


def uninterrupted(suite: Path, output: Path, on: str = "local") -> float:
    """Run a suite in parts, and return the seconds that it took."""
    began = time.monotonic()
    assert ended(["run", str(suite), "--parts", str(PARTS), "--on", on, "-q", "-o", str(output)], 900) == 0
    return time.monotonic() - began


def _check(tmp_path: Path, suite: Path, way: str, seed: int) -> None:
    """Run a suite in parts without a kill, then with 20, and compare; in parts, for a model's floats depend on them."""
    if LACKING.get(way):
        pytest.skip(f"there is no {way} here")
    whole = tmp_path / "uninterrupted.json"
    seconds = uninterrupted(suite, whole)
    if way == "ray":  # its start takes longer than the parts, and most kills would find no part begun
        seconds = uninterrupted(suite, tmp_path / "ray.json", "ray")
    do, times = WAYS[way]
    killer, runs = Killer(seed, times * seconds), 0
    while killer.kills < KILLS:  # a run may end before so many
        (folder := tmp_path / f"run{runs}").mkdir()
        do(killer, suite, folder / "record.json")
        divided.assert_equal(store.read(folder / "record.json"), store.read(whole))
        runs += 1
    print(f"{way}: {killer.kills} kills in {runs} runs, each within {killer.most_seconds:.1f} s")
    time.sleep(1)
    assert not [line for line in _left(str(tmp_path)) if "ray" not in line]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("way", WAYS)
def test_a_killed_run_goes_on_to_the_same_numbers(tmp_path: Path, way: str, seed: int) -> None:
    divided.write_texts(tmp_path, 30)
    suite = divided.write_suite(tmp_path, ["raw_bytes", "patches:space"], ["rows.jsonl", "plain"])
    _check(tmp_path, suite, way, seed)
    whole = divided.in_one_process(suite, tmp_path / "whole.json")
    divided.assert_equal(store.read(tmp_path / "uninterrupted.json"), whole)


@pytest.mark.parametrize("way", WAYS)
def test_rows_of_every_library_on_every_kind_of_file(tmp_path: Path, way: str) -> None:
    pytest.importorskip("torch", reason="needs the extra torch")
    pytest.importorskip("transformers", reason="needs the extra hub")
    divided.write_texts(tmp_path)
    folder = language_models.build(tmp_path / "gpt2")
    small = {"name": "small", "spec": f"file:{folder / 'tokenizer.json'}"}
    scores: dict[str, Any] = {"name": "next_token_entropy", "model": str(folder), "tokenizers": ["small"]}
    benchmarks = ("compression", "segmentation", scores)
    suite = divided.write_suite(tmp_path, [*divided.LIBRARIES, small], benchmarks=benchmarks)
    _check(tmp_path, suite, way, seed=7)
    whole = divided.in_one_process(divided.write_suite(tmp_path, divided.LIBRARIES), tmp_path / "whole.json")
    divided.assert_holds(store.read(tmp_path / "uninterrupted.json"), whole)


def _left(mark: str) -> list[str]:
    """Command lines of processes that name a folder."""
    lines = []
    for process in Path("/proc").iterdir():
        if process.name.isdecimal() and int(process.name) != os.getpid():
            try:
                line = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            lines += [line] if mark in line else []
    return lines

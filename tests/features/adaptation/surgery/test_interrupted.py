"""An adaptation that is killed leaves the model as it was, and under the name of the result a whole one or none."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from checkpoints import kill_program
from checkpoints.kill_program import attempt, digests
from checkpoints.made import nameless, tensors_of

pytestmark = pytest.mark.slow

TRIALS = 20
ROWS = 3000


@pytest.fixture
def model(tmp_path: Path) -> Path:
    generator = np.random.default_rng(3)
    tensors = {name: generator.normal(size=(ROWS, 100)).astype(np.float32) for name in ("a", "e", "o", "z")}
    (tmp_path / "map.json").write_text(json.dumps(generator.permutation(ROWS).tolist()))
    return nameless(tmp_path / "model", tensors)


def killed(model: Path, *options: str) -> list[dict[str, Any]]:
    out = model.with_name("out")
    command = [sys.executable, kill_program.__file__, str(model), str(out), str(TRIALS), *options]
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}  # a process that forks has no other threads
    before = digests(model)
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=200, env=environment)
    assert done.returncode == 0, done.stderr
    trials: list[dict[str, Any]] = json.loads(done.stdout)
    assert sum(trial["killed"] for trial in trials) >= TRIALS // 2, "most attempts ended before they were killed"
    assert digests(model) == before
    return trials


def test_killed_at_20_random_moments(model: Path, tmp_path: Path) -> None:
    trials = killed(model)
    whole = digests(tmp_path / "first")
    for trial in trials:
        assert trial["files"] == whole if trial["files"] else trial["killed"], "a name is there whole, or not at all"
    begun = list(tmp_path.glob(".out*.part"))
    assert begun, "no attempt was killed while it wrote"
    assert any(sum(path.stat().st_size for path in part.iterdir()) for part in begun)
    known = {"model", "map.json", "first", *(f"out{trial}" for trial in range(TRIALS)), *(part.name for part in begun)}
    assert {path.name for path in tmp_path.iterdir()} <= known
    new_ids = json.loads((tmp_path / "map.json").read_text())
    before, after = tensors_of(model), tensors_of(tmp_path / "first")
    np.testing.assert_array_equal(after["e"][new_ids], before["e"])


def test_killed_while_it_replaces_what_is_there(model: Path, tmp_path: Path) -> None:
    """Each attempt has a seed of its own: what is there afterwards is all of one."""
    found = [trial["files"] for trial in killed(model, "--force")]
    left = list(tmp_path.glob(".out.*.part"))
    assert len(left) <= 1, "what one attempt left the next one removes"
    attempt(str(model), tmp_path / "out", force=True)
    assert {path.name for path in tmp_path.iterdir()} == {"model", "map.json", "out"}
    whole = [digests(tmp_path / "out")]
    for seed in range(1, TRIALS + 1):
        attempt(str(model), tmp_path / "out", force=True, seed=seed)
        whole.append(digests(tmp_path / "out"))
    there = [whole.index(files) for files in found]
    assert len(set(there)) > 1, "no attempt replaced it"

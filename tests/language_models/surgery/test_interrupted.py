"""An adaptation that is killed leaves the model as it was, and nothing under the name of the result."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from checkpoints import kill_program
from checkpoints.made import nameless, tensors_of

TRIALS = 20
ROWS = 3000


def digests(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


def test_killed_at_20_random_moments(tmp_path: Path) -> None:
    generator = np.random.default_rng(3)
    tensors = {name: generator.normal(size=(ROWS, 100)).astype(np.float32) for name in ("a", "e", "o", "z")}
    model = nameless(tmp_path / "model", tensors)
    (tmp_path / "map.json").write_text(json.dumps(generator.permutation(ROWS).tolist()))
    before = digests(model)
    command = [sys.executable, kill_program.__file__, str(model), str(tmp_path / "out"), str(TRIALS)]
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}  # a process that forks has no other threads
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=200, env=environment)
    assert done.returncode == 0, done.stderr
    killed = json.loads(done.stdout)
    assert sum(killed) >= TRIALS // 2, "most attempts ended before they were killed"
    assert digests(model) == before
    whole = digests(tmp_path / "first")
    for trial, was in enumerate(killed):
        out = tmp_path / f"out{trial}"
        assert digests(out) == whole if out.exists() else was, "a name is there whole, or not at all"
    begun = list(tmp_path.glob(".out*.part"))
    assert begun, "no attempt was killed while it wrote"
    assert any(sum(path.stat().st_size for path in part.iterdir()) for part in begun)
    known = {"model", "map.json", "first", *(f"out{trial}" for trial in range(TRIALS)), *(part.name for part in begun)}
    assert {path.name for path in tmp_path.iterdir()} <= known
    new_ids = json.loads((tmp_path / "map.json").read_text())
    np.testing.assert_array_equal(tensors_of(tmp_path / "first")["e"][new_ids], tensors["e"])

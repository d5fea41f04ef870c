"""Adapts a checkpoint again and again, and kills each attempt at a random moment.

    kill_program.py MODEL OUT TRIALS [--force]

With ``--force`` all attempts replace OUT, each with another plan; without, each has a name of its own. Prints one JSON
list: of each trial, whether it was killed before it ended, and the SHA-256 of each file that is there then.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import sys
import time
from pathlib import Path

from pyharness.features.adaptation.surgery import vocabulary_transfer

IDS = 3010  # ten are new, and their rows depend on the seed


def digests(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


def attempt(model: str, out: Path, force: bool, seed: int = 0) -> None:
    request = vocabulary_transfer.EmbeddingRequest(
        model=model, id_map=Path(model).parent / "map.json", ids=IDS, method="random", tensors=("e", "o"), seed=seed
    )
    vocabulary_transfer.embed(request, vocabulary_transfer.plan_embedding(request), out, force=force)


def forked(model: str, out: Path, force: bool, seed: int) -> int:
    child = os.fork()
    if child == 0:
        attempt(model, out, force, seed)
        os._exit(0)
    return child


def main(model: str, out: Path, trials: int, force: bool) -> None:
    first = out if force else out.with_name("first")
    start = time.perf_counter()
    os.waitpid(forked(model, first, False, 0), 0)
    longest = time.perf_counter() - start
    generator, seen = random.Random(12), []
    for trial in range(trials):
        target = out if force else out.with_name(f"{out.name}{trial}")
        child = forked(model, target, force, trial + 1 if force else 0)
        time.sleep(generator.random() * longest)
        os.kill(child, signal.SIGKILL)
        killed = os.WIFSIGNALED(os.waitpid(child, 0)[1])
        longest *= 1.1 if killed else 0.7  # about one in five ends before, however busy the machine is
        seen.append({"killed": killed, "files": digests(target) if target.exists() else None})
    print(json.dumps(seen))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), "--force" in sys.argv)

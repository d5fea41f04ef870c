"""Adapts a checkpoint again and again, and kills each attempt at a random moment: ``kill_program.py MODEL OUT TRIALS``.

Prints one JSON list: of each trial, whether it was killed before it ended. What is there then is for the test to see.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

from pyharness.commands import adapting


def attempt(model: str, out: Path) -> None:
    request = adapting.EmbeddingRequest(model=model, id_map=Path(model).parent / "map.json", tensors=("e", "o"))
    adapting.embed(request, adapting.plan_embedding(request), out)


def forked(model: str, out: Path) -> int:
    child = os.fork()
    if child == 0:
        attempt(model, out)
        os._exit(0)
    return child


def main(model: str, out: Path, trials: int) -> None:
    start = time.perf_counter()
    os.waitpid(forked(model, out.with_name("first")), 0)
    whole = time.perf_counter() - start
    generator, killed = random.Random(12), []
    for trial in range(trials):
        child = forked(model, out.with_name(f"{out.name}{trial}"))
        time.sleep(generator.random() * whole)
        os.kill(child, signal.SIGKILL)
        killed.append(os.WIFSIGNALED(os.waitpid(child, 0)[1]))
    print(json.dumps(killed))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))

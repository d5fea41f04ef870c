"""One training in a process of its own: a library that aborts, hangs or is killed takes nothing else with it.

``python -m pyharness.tokenizers.training_process REQUEST`` is that process. It writes into the cache; whoever starts it
holds the lock of the recipe's place.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping

from pyharness import trainers
from pyharness.environment import cores
from pyharness.lifeline import end_with_parent
from pyharness.tokenizers.trained_cache import Place
from pyharness.tokenizers.training_recipe import Reading, Recipe
from pyharness.types import InputError


def run(trainer: str, options: Mapping[str, str], digest: str, size: int) -> str | None:
    """Train in a fresh process; returns how it died, None when it did not. ``digest`` and ``size`` are of the text."""
    request = json.dumps([trainer, dict(options), digest, size])
    command = [sys.executable, "-P", "-m", __name__, request]
    done = subprocess.run(command, capture_output=True, check=False, stdin=subprocess.DEVNULL)
    return None if done.returncode == 0 else ending(done.returncode, done.stderr.decode(errors="replace"))


def ending(status: int, stderr: str) -> str:
    """Say how a training's process ended, with the last line it wrote."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    how = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
    return f"training {how}" + (f": {lines[-1][:300]}" if lines else "")


def train_and_keep(trainer: str, options: Mapping[str, str], digest: str, size: int) -> None:
    """Train in this process; the cache gets the files, or the reason why the trainer refuses."""
    recipe = Recipe.of(trainer, options)
    place, reading = Place.of(recipe.as_json()), Reading(recipe.corpus)
    request = recipe.request(cores(), texts=reading.texts, source=reading.source, text_bytes=size)
    try:
        found = trainers.train(recipe.trainer, request)
    except InputError as error:  # the options were checked: the text will not do, or a library is missing
        place.refuse(digest, str(error))
    else:
        place.keep(reading.digest, found)


if __name__ == "__main__":
    end_with_parent()
    try:
        train_and_keep(*json.loads(sys.argv[1]))
    except InputError as error:
        sys.exit(str(error))

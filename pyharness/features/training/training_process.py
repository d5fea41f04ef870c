"""Training in a process of its own: a library that aborts, hangs or is killed takes nothing else with it.

``python -m pyharness.features.training.training_process`` is that process. Each line of its input asks for one
training. It writes into the cache. On standard output it reports the progress of each training, a JSON list per line,
and at its end whether the cache has a tokenizer, true or false. Its parent holds the lock of the recipe's folder.
"""

from __future__ import annotations

import dataclasses
import json
import operator
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from pyharness.features.training import trainers
from pyharness.features.training.recipe import Recipe
from pyharness.features.training.trained_cache import RecipeFolder
from pyharness.system import lifeline
from pyharness.system.child_process import Child, ChildDied, PreparationLane, current_lane, default_memory_limit
from pyharness.system.environment import cores
from pyharness.types import InputError, TrainingProgress

OnProgress: TypeAlias = Callable[[TrainingProgress], None]
THREADS = "PYHARNESS_TRAINING_THREADS"  # for trainings whose result is the same on any number; unset: all cores


def run(
    trainer: str, options: Mapping[str, str], digest: str, size: int, progress: OnProgress | None = None
) -> str | None:
    """Train in another process; return how it died, None if it did not. ``digest`` and ``size`` are of the text.

    Trainings of a lane are made one after another, in one process until one of them fails or ends it: shared input is
    read once.

    Raises:
        InputError: no process can be started.
        Stopped: the lane was stopped.
    """
    request = json.dumps([trainer, dict(options), digest, size]).encode()
    if (lane := current_lane()) is not None:
        return _train_in(lane, request, progress)
    alone = PreparationLane()
    with alone.used():
        return _train_in(alone, request, progress)


def _train_in(lane: PreparationLane, request: bytes, progress: OnProgress | None) -> str | None:
    def is_news(said: Any) -> bool:
        if progress is not None and not isinstance(said, bool):
            progress(TrainingProgress(*said))
        return not isinstance(said, bool)

    def start() -> Child:
        threads, memory = str(max(1, cores() // lane.side_by_side)), default_memory_limit()
        limit = None if memory is None else memory // lane.side_by_side
        return Child([__name__], asked=True, environment={THREADS: threads}, memory_limit=limit)

    try:
        lane.ask(request.decode(), start, lambda child: child.ask(request, is_news)[1], operator.not_)
    except ChildDied as death:
        return f"training {death}"
    return None


def train_and_keep(
    trainer: str, options: Mapping[str, str], digest: str, size: int, progress: OnProgress | None = None
) -> None:
    """Train in this process; the cache gets the files, or the reason of a refusal."""
    recipe = Recipe.of(trainer, options)
    place, text, base = RecipeFolder.of(recipe.as_json()), recipe.text(), recipe.base
    whole = recipe.of_all_sizes
    shared = None if whole is None else RecipeFolder.of(whole.as_json())
    learnt = None if shared is None else shared.learnt(digest, base)
    request = recipe.request(
        recipe.threads or int(os.environ.get(THREADS, cores())), texts=text.documents, parts=text.parts,
        source=lambda: {"corpus": recipe.corpus, "digest": digest if learnt is not None else text.digest},
        text_bytes=size, progress=progress, learnt=learnt,
    )  # fmt: skip
    try:
        trained = trainers.train(recipe.trainer, request)
    except InputError as error:  # the options were checked: the text is unsuitable, or a library is missing
        place.refuse(digest, str(error), base)
        return
    read = text.digest if text.tally.documents else digest  # arrays of another size's training need no text
    place.keep(read, trained, base)
    if shared is not None and trained.learnt is not None and text.tally.documents:
        shared.keep_learnt(read, trained.learnt, base)


def main() -> None:
    """Run the training of each line of standard input."""
    requests, output = os.fdopen(os.dup(0), encoding="utf-8"), os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)  # a library's output is not progress
    lifeline.begin()

    def say(message: TrainingProgress | bool) -> None:
        far = message if isinstance(message, bool) else dataclasses.astuple(message)
        print(json.dumps(far), file=output, flush=True)

    try:
        for line in requests:
            trainer, options, digest, size = json.loads(line)
            train_and_keep(trainer, options, digest, size, say)
            kept = RecipeFolder.of(Recipe.of(trainer, options).as_json()).find()
            say(kept is not None and kept.path is not None)
    except InputError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()

"""One training in a process of its own: a library that aborts, hangs or is killed takes nothing else with it.

``python -m pyharness.tokenizers.training.process REQUEST`` is that process. It writes into the cache, and tells
standard output how far it is, a JSON list on a line; its parent holds the lock of the recipe's place.
"""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from collections.abc import Callable, Mapping
from typing import TypeAlias

from pyharness import trainers
from pyharness.system import lifeline
from pyharness.system.child_process import ChildDied, said_by
from pyharness.system.environment import cores
from pyharness.tokenizers.training.cache import Place
from pyharness.tokenizers.training.recipe import Recipe
from pyharness.types import InputError, TrainingProgress

OnProgress: TypeAlias = Callable[[TrainingProgress], None]


def run(
    trainer: str, options: Mapping[str, str], digest: str, size: int, progress: OnProgress | None = None
) -> str | None:
    """Train in a fresh process; returns how it died, None when it did not. ``digest`` and ``size`` are of the text."""
    request = json.dumps([trainer, dict(options), digest, size])
    try:
        for line in said_by([__name__, request]):
            if progress is not None:
                progress(TrainingProgress(*json.loads(line)))
    except ChildDied as death:
        return f"training {death}"
    return None


def train_and_keep(
    trainer: str, options: Mapping[str, str], digest: str, size: int, progress: OnProgress | None = None
) -> None:
    """Train in this process; the cache gets the files, or the reason why the trainer refuses."""
    recipe = Recipe.of(trainer, options)
    place, text, base = Place.of(recipe.as_json()), recipe.text(), recipe.base
    whole = recipe.of_all_sizes
    shared = None if whole is None else Place.of(whole.as_json())
    learnt = None if shared is None else shared.learnt(digest, base)
    request = recipe.request(
        recipe.threads or cores(),
        texts=text.documents,
        parts=text.parts,
        source=lambda: {"corpus": recipe.corpus, "digest": digest if learnt is not None else text.digest},
        text_bytes=size,
        progress=progress,
        learnt=learnt,
    )
    try:
        trained = trainers.train(recipe.trainer, request)
    except InputError as error:  # the options were checked: the text will not do, or a library is missing
        place.refuse(digest, str(error), base)
        return
    read = text.digest if text.tally.documents else digest  # what another size has learnt needs no text
    place.keep(read, trained, base)
    if shared is not None and trained.learnt is not None and text.tally.documents:
        shared.keep_learnt(read, trained.learnt, base)


def main() -> None:
    """Do what the first argument asks for."""
    said = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)  # what a library prints is no progress
    lifeline.begin()

    def say(progress: TrainingProgress) -> None:
        print(json.dumps(dataclasses.astuple(progress)), file=said, flush=True)

    try:
        trainer, options, digest, size = json.loads(sys.argv[1])
        train_and_keep(trainer, options, digest, size, say)
    except InputError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()

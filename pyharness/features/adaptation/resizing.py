"""``pyharness adapt extend`` and ``prune``: trainings with a base, and their effect on held-out or training text."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from pyharness.bpe import BpeModel, BpeTokenizer
from pyharness.corpora.streaming import BATCH_SIZE, batches
from pyharness.corpora.texts import Text
from pyharness.features.adaptation.trainers.adapted import BaseFile
from pyharness.features.training import commands as training
from pyharness.features.training import trainers
from pyharness.features.training.commands import HeldOut, TrainingFiles
from pyharness.features.training.trainers import TrainedTokenizer, TrainerSpec, TrainingRequest
from pyharness.features.training.trainers.feeding import Phases
from pyharness.system.folders import check_apart, expanded
from pyharness.types import InputError, TrainingProgress

Listener: TypeAlias = Callable[[TrainingProgress], None]
JUDGED_BYTES = 2_000_000  # of the training text, where none is held out


def apart(request: TrainingRequest[Any], held: HeldOut | None) -> TrainingRequest[Any]:
    """Return a request whose texts raise ``InputError`` at their end if some are held out, unless that is allowed."""
    if held is None:
        return request
    texts, parts = request.texts, request.parts
    checked = None if parts is None else lambda: (held.apart(part) for part in parts())
    return dataclasses.replace(request, texts=lambda: held.apart(texts()), parts=checked)


@dataclass(frozen=True, slots=True)
class Judged:
    """Token counts of a text, by the base and by the result."""

    bytes: int
    before: int  # tokens
    after: int
    unused_added: int
    held_out: bool

    @property
    def line(self) -> str:
        """Return bytes per token in words."""
        old, new = (self.bytes / max(tokens, 1) for tokens in (self.before, self.after))
        where = "held-out text" if self.held_out else "the corpus itself: name other text with --held-out"
        return f"{old:.4f} -> {new:.4f} ({new / old - 1:+.1%}) on {self.bytes / 1e6:,.1f} MB of {where}"


def judge(
    base: BpeModel,
    made: BpeModel,
    added: Sequence[int],
    text: Text,
    held: HeldOut | None,
    progress: Listener | None = None,
) -> Judged:
    """Encode the held-out text, or the beginning of the corpus, by both; ``added``: ids of new tokens."""
    tokenizers = BpeTokenizer(base), BpeTokenizer(made)
    used = np.zeros(made.id_limit, np.bool_)
    size, counts = 0, [0, 0]
    judged = held.text if held else Text(text.corpora, text.max_bytes)  # a copy, so that the corpus's own counts stay
    report = Phases(progress).gauge("judging", "bytes", held.bytes if held else None)
    documents = judged.documents() if held else training.front(judged.documents(), JUDGED_BYTES)
    for batch in batches(documents, size=BATCH_SIZE):
        size += sum(len(document.encode()) for document in batch)
        old, new = (tokenizer.encode_batch(batch).ids for tokenizer in tokenizers)
        counts[0] += len(old)
        counts[1] += len(new)
        used[new] = True
        report(size)
    unused = int(np.count_nonzero(~used[np.array(added, np.int64)]))
    return Judged(size, counts[0], counts[1], unused, held is not None)


@dataclass(frozen=True, slots=True)
class Made:
    """One folder that was written."""

    folder: Path
    trained: TrainedTokenizer
    outcome: TrainingFiles
    judged: Judged


def check(
    trainer: TrainerSpec[Any], request: TrainingRequest[Any], folders: Sequence[Path], *, force: bool
) -> BaseFile:
    """Refuse impossible requests before any text is read; return the base.

    Raises:
        InputError: the request is impossible, the base is unusable, or a folder cannot be made.
    """
    for folder in folders:
        training.check(trainer, request, folder, (), force)
    base = BaseFile.read(request.options.base)
    named = expanded(request.options.base.removeprefix("file:").partition("?")[0])
    for folder in folders:
        check_apart(folder, (base.path, named))  # named may be the base's folder, with its settings
    return base


def make(
    trainer: TrainerSpec[Any],
    request: TrainingRequest[Any],
    base: BaseFile,
    wanted: Sequence[tuple[Path, dict[str, Any]]],
    text: Text,
    held: HeldOut | None,
    *,
    force: bool,
) -> Iterator[Made]:
    """Make a folder for each size; the training for the first, the largest, serves all.

    Raises:
        InputError: the base or the corpus is unusable: the present size is not written. Or its result cannot be judged:
            its folder stays.
    """
    for folder, size in wanted:
        one = dataclasses.replace(request, options=dataclasses.replace(request.options, **size))
        trained = trainers.train(trainer, one)
        request = dataclasses.replace(request, learnt=trained.learnt)
        outcome = training.keep(trainer, one, trained, text, folder, force=force)
        ids = [token for first, last in trained.details["added_ids"] for token in range(first, last + 1)]
        if trained.model is None:
            raise InputError(f"trainer {trainer.name!r} gives no model that could be judged")
        yield Made(folder, trained, outcome, judge(base.model, trained.model, ids, text, held, request.progress))

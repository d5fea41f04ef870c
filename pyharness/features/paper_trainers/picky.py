"""The trainer ``picky-bpe``: from text to a model whose events merge tokens and take them out again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

from pyharness.bpe import PieceCounter, TextSplitter
from pyharness.features.paper_trainers.declarations import PickyOptions
from pyharness.features.paper_trainers.event_model import NEVER, PICKY, EventModel, save_bytes
from pyharness.features.paper_trainers.picky_training import PickyTraining
from pyharness.features.training.trainers import TrainedTokenizer, TrainingRequest
from pyharness.features.training.trainers.feeding import Feed, read_in_batches

PATTERN = "gpt2"
MODEL = "model.json"


def train_picky(request: TrainingRequest[PickyOptions]) -> TrainedTokenizer:
    """Train PickyBPE on the bytes of the pieces of the text."""
    options, feed = request.options, Feed(request)
    splitter = TextSplitter(options.pattern or PATTERN)
    counter = PieceCounter(splitter)
    read_in_batches(feed, counter.add)
    with feed.phases.timed("counting"):
        pieces = counter.pieces()
    size = options.vocab_size - len(options.special)
    with feed.phases.timed("merging"):
        training = PickyTraining(pieces, options.threshold, options.max_token_length)
        report = feed.phases.gauge("merging", "tokens", size, training.size)
        while training.size < size and training.merge():
            report(training.size)
    with feed.phases.timed("writing"):
        origin = {
            "trained_on": {**request.source(), "documents": feed.documents, "bytes": feed.bytes},
            "threshold": options.threshold,
            "max_token_length": options.max_token_length,
            "distinct_pieces": len(pieces.weights),
        }
        model = model_of(training, splitter, options.special, origin)
        data = save_bytes(model)
    splits = sum(event.splits for event in model.events)
    absent = len(training.present) - training.size
    note = (
        f"stopped after {len(model.events) - splits:,} merges: no pair is left that may be merged; the vocabulary has "
        f"{training.size + len(options.special):,} ids, not {options.vocab_size:,}"
    )
    return TrainedTokenizer(
        files={MODEL: data},
        vocab_size=training.size + len(options.special),
        merges=len(model.events) - splits,
        complete=training.size == size,
        seconds=feed.phases.seconds,
        notes=() if training.size == size else (note,),
        details={
            "documents": feed.documents, "bytes": feed.bytes, "distinct_pieces": len(pieces.weights),
            "removals": splits, "removed_tokens": absent,
        },
        summary={"removed": f"{absent:,} tokens are gone after {splits:,} removals (a token may come back)"},
    )  # fmt: skip


def model_of(
    training: PickyTraining, splitter: TextSplitter, special: Sequence[str] = (),
    origin: Mapping[str, Any] | None = None,
) -> EventModel:  # fmt: skip
    """Return the model of a training: ids are present tokens, in the order they were first made, then special ones."""
    numbers = count()
    return EventModel(
        algorithm=PICKY,
        strings=tuple(training.strings),
        ids=tuple(next(numbers) if present else NEVER for present in training.present),
        events=tuple(training.events),
        splitter=splitter.name,
        dialect=splitter.dialect,
        whole_pieces=True,
        special={content: training.size + number for number, content in enumerate(special)},
        origin=dict(origin or {}),
    )

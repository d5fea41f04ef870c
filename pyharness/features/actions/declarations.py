"""The training of FAST: its options, and the name of the function that runs it."""

from __future__ import annotations

from dataclasses import dataclass

from pyharness.features.training.trainers import Training
from pyharness.features.training.trainers.options import Options, option

TRAINER = "fast"
DEFAULT_SCALE, DEFAULT_VOCABULARY = 10.0, 1024


@dataclass(frozen=True, kw_only=True)
class FastOptions(Options):
    """Options of the training of FAST."""

    vocab_size: int = option("Ids in all", default=DEFAULT_VOCABULARY)
    scale: float = option("Steps in half the range of a dimension", default=DEFAULT_SCALE)


TRAININGS = (
    Training(
        TRAINER, "a codec of actions (FAST), from clips of motion", FastOptions,
        "pyharness.features.actions.commands:summary",
    ),
)  # fmt: skip

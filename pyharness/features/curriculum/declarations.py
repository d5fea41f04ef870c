"""The trainer of a vocabulary curriculum: its options, and the name of the function that runs it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal

from pyharness.features.training.trainers import TrainerSpec
from pyharness.features.training.trainers.declarations import Unknown, too_small
from pyharness.features.training.trainers.options import BIGGEST_VOCABULARY, option
from pyharness.types import InputError

ALGORITHM: Final = "curriculum"


@dataclass(frozen=True, kw_only=True)
class CurriculumOptions(Unknown):
    """Options of a curriculum."""

    vocab_size: int = option(
        "Ids in all, with alphabet and special tokens",
        default=0,
        most=BIGGEST_VOCABULARY,
        instead="what the rounds give",
        example="8192",
    )
    rounds: int = option("Rounds of training a model and adding what it predicts well", default=5, most=1000)
    epsilon: float = option("Bound of the signal, in nats, below which a token is easy", default=0.3)
    per_round: int = option(
        "Groups (runs of ever easier tokens) whose beginnings a round adds", default=3000, most=1 << 24
    )
    order: int = option("Order of the n-gram model", default=5, most=5)  # a symbol model has no higher one
    signal: Literal["entropy", "nll"] = option(
        "Signal: entropy of the prediction, or its error on the actual token", default="entropy"
    )
    strict: bool = option("Each token of a group must be easier than the one before, not just as easy", default=False)
    row_quantile: float | None = option(
        "Cap the bound at this quantile of a document's signals (released code: 0.6)",
        default=None,
        least=0,
        most=1,
    )
    selection: Literal["count", "shuffle"] = option("Groups to take: the most frequent or random ones", default="count")
    seed: int = option("Seed of the shuffle", default=0, least=0)
    max_token_length: int | None = option("Longest token, in bytes", default=None, instead="any")
    pattern: Literal["none"] | None = option("How text is split first", default=None)

    def check(self) -> None:
        """Refuse an invalid bound, a seed without a draw, and a too large alphabet."""
        super().check()
        if not (math.isfinite(self.epsilon) and self.epsilon > 0):
            raise InputError(f"epsilon is {self.epsilon:g}; it is a bound on the {self.signal} in nats, above 0")
        if self.seed and self.selection == "count":
            raise InputError("the most frequent groups are taken without a draw: seed= is for selection=shuffle")
        least = (256 if self.symbols == "bytes" else 1) + len(self.added)
        if self.vocab_size and self.vocab_size < least:
            raise too_small(self.vocab_size, self, least - len(self.added), self.symbols)


TRAINERS = (
    TrainerSpec(
        name=ALGORITHM,
        train="pyharness.features.curriculum.trainer:train_curriculum",
        options=CurriculumOptions,
        summary="vocabulary curriculum (arXiv 2502.17910): runs of tokens that an n-gram predicts ever better",
        algorithm=ALGORITHM,
        library="pyharness",
        not_exported="no other library can express a vocabulary that grew in rounds",
    ),
)

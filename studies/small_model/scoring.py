"""Scores held-out text as the benchmark next_token_entropy does, with the bits of new tokens apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np

from pyharness.features.language_models import loader
from pyharness.features.language_models import metrics as language_model
from pyharness.features.language_models.metrics import Bits
from pyharness.features.language_models.next_token_entropy import Scoring
from pyharness.metrics.counting.state import CorpusState
from pyharness.types import Ids, InputError
from small_model.texts import HeldOut
from small_model.vocabularies import Vocabulary

BATCH_TOKENS = 2048
KEPT = ("documents", "pieces", "bytes", "tokens", "nll")  # counters of the benchmark
NEW = ("tokens new", "bytes new", "nll new")  # of these, what tokens have that the base lacks

Sums: TypeAlias = Mapping[str, list[int]]  # of each group of documents; bits in units of 2^-24


@dataclass
class SplitScoring(Scoring):
    """The pass of the benchmark; ids from ``base_ids`` on are counted once more, by themselves."""

    base_ids: int = 0

    def add(self, text: str, ids: Ids, bits: tuple[Bits, Bits], group: int, opens: bool) -> None:
        """Count one document."""
        Scoring.add(self, text, ids, bits, group, opens)
        assert self.vocabulary is not None
        new = ids >= self.base_ids
        values = (
            int(new.sum()),
            int(np.diff(self.vocabulary.offsets)[ids[new]].sum()),
            language_model.units(bits[1][new]),
        )
        for name, value in zip(NEW, values, strict=True):
            language_model.add(self.state, name, group, value)


def score(folder: Path, vocabulary: Vocabulary, held_out: HeldOut, base_ids: int) -> Sums:
    """Score a text with the model of a folder: every token behind its document's beginning, and half a window.

    Raises:
        InputError: there are bytes that the model gives no bits for; then models could not be compared.
    """
    model = loader.load(str(folder), "cpu", "float32")
    context = model.longest or BATCH_TOKENS
    scoring = SplitScoring(
        model, vocabulary.tokenizer, None, model.columns, context, context // 2, BATCH_TOKENS, base_ids=base_ids
    )
    scoring.read(held_out.texts, held_out.groups, held_out.opens)
    size = sum(len(text.encode()) for text in held_out.texts)
    if (scored := sum(scoring.state.counters["bytes"])) != size:
        raise InputError(f"the model in {folder} scores {scored:,} bytes of {size:,}")
    return {name: [int(value) for value in scoring.state.counters[name]] for name in (*KEPT, *NEW)}


def state_of(sums: Sums) -> CorpusState:
    """Return sums as the metrics take them."""
    state = language_model.empty()
    state.counters.update({name: np.array(values, np.object_) for name, values in sums.items()})
    return state

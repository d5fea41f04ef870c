"""Scores documents with a causal language model: every token once, or no number at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyharness import language_models
from pyharness.language_models import CausalModel, Layout, Window
from pyharness.metrics import language_model
from pyharness.metrics.counting import word_positions
from pyharness.metrics.counting.state import CorpusState
from pyharness.metrics.language_model import Bits, Scores
from pyharness.types import HasVocabulary, Ids, Tokenizer, Tokens, Vocabulary

MOST_LOGITS = 1 << 28  # stored at once where a model must, and one window does not need more: 1 GiB of float32


class NoNumber(Exception):
    """There is no right number, and this is why."""


@dataclass(slots=True)
class Scoring:
    """One pass of a model over documents."""

    model: CausalModel
    tokenizer: Tokenizer
    own: Tokenizer | None  # the tokenizer that the model ships, where it is another than the row's
    columns: int  # logits that count: all of the model's, or without padding
    context: int
    stride: int
    batch_tokens: int
    threads: int = 1
    vocabulary: Vocabulary | None = field(init=False)
    state: CorpusState = field(default_factory=language_model.empty)
    documents: int = 0
    unscored: int = 0  # tokens without anything to predict them from
    unspelled: int = 0  # documents whose tokens do not spell them

    def __post_init__(self) -> None:
        """Ask for the bytes of tokens, where the tokenizer exposes them; bound the logits that a batch has."""
        if self.model.head == "whole":
            self.batch_tokens = min(self.batch_tokens, MOST_LOGITS // self.model.columns)
        self.vocabulary = self.tokenizer.vocabulary() if isinstance(self.tokenizer, HasVocabulary) else None

    def read(self, texts: Sequence[str], groups: Sequence[int], opens: Sequence[bool] | None = None) -> None:
        """Score texts; ``opens``: which are the first of a document (all). Raises ``NoNumber`` where none is right."""
        tokens = self.tokenizer.encode_batch(texts, self.threads)
        self._check_pairing(texts, tokens)
        bos = np.array([] if self.model.bos is None else [self.model.bos], np.int64)
        sequences = [np.concatenate((bos, tokens.document(index)), dtype=np.int64) for index in range(len(tokens))]
        entropy, nll = self._predictions(sequences)
        for index, text in enumerate(texts):
            bits = entropy[index][len(bos) :], nll[index][len(bos) :]
            self.add(text, tokens.document(index), bits, groups[index], opens is None or opens[index])
        self.documents += len(texts)

    def add(self, text: str, ids: Ids, bits: tuple[Bits, Bits], group: int, opens: bool) -> None:
        """Count one text with the entropy and the NLL of its tokens, in bits; NaN where none was predicted."""
        entropy, nll = bits
        stops = None if self.vocabulary is None else word_positions.token_stops(text, ids, self.vocabulary)
        positions = None if stops is None else word_positions.places_of(text, stops)
        sizes = None if stops is None else np.diff(stops, prepend=0)
        unscored = len(ids) > 0 and bool(np.isnan(nll[0]))
        left_out = self._bytes_of_first(text, ids, stops) if unscored else 0
        self.unscored += unscored
        self.unspelled += stops is None
        language_model.update(self.state, group, Scores(text, entropy, nll, left_out, positions, sizes, opens))

    def _bytes_of_first(self, text: str, ids: Ids, stops: NDArray[np.int64] | None) -> int:
        whole = len(text.encode())
        if len(ids) == 1:
            return whole
        if self.vocabulary is None:
            return min(len(self.tokenizer.decode(ids[:1])), whole)
        # Where tokens do not spell the text, the first may have more bytes than all of it.
        return min(len(self.vocabulary[int(ids[0])]), whole) if stops is None else int(stops[0])

    def _check_pairing(self, texts: Sequence[str], tokens: Tokens) -> None:
        largest = int(tokens.ids.max(initial=0))
        if largest >= self.columns:
            raise NoNumber(
                f"the tokenizer is not the model's: id {largest:,} is beyond the {self.columns:,} ids that "
                f"{self.model.folder.name!r} predicts"
            )
        if self.own is None:
            return
        expected = self.own.encode_batch(texts, self.threads)
        for index in range(len(texts)):
            mine, theirs = tokens.document(index), expected.document(index)
            if not np.array_equal(mine, theirs):
                raise NoNumber(
                    f"the tokenizer is not the model's: document {self.documents + index} begins {mine[:8].tolist()} "
                    f"here and {theirs[:8].tolist()} by the tokenizer in {str(self.model.folder.path)!r}"
                    + (" (they differ further on)" if np.array_equal(mine[:8], theirs[:8]) else "")
                )

    def _predictions(self, sequences: Sequence[NDArray[np.int64]]) -> tuple[list[Bits], list[Bits]]:
        """Entropy and NLL in bits of every token of the sequences, NaN for the first."""
        entropy, nll = ([np.full(len(sequence), np.nan) for sequence in sequences] for _ in range(2))
        windows = language_models.sliding_windows(map(len, sequences), self.context, self.stride)
        for batch in language_models.batches(windows, self.batch_tokens):
            scores = self.model.score(Layout.of(sequences, batch), self.columns, self.threads)
            self._distribute(batch, scores, (entropy, nll))
        return entropy, nll

    def _distribute(self, batch: Sequence[Window], scores: Sequence[Any], into: Sequence[list[Bits]]) -> None:
        offset = 0
        for window in batch:
            size = window.stop + 1 - window.first
            for scored, values in zip(scores, into, strict=True):
                part = scored[offset : offset + size]
                if not (valid := part <= language_model.MOST_BITS).all():
                    token = window.first + int(np.argmin(valid)) - (self.model.bos is not None)
                    raise NoNumber(
                        f"the model gives {part[~valid][0]} bits for token {token} of document "
                        f"{self.documents + window.sequence}: its predictions are no probabilities"
                    )
                values[window.sequence][window.first : window.stop + 1] = part
            offset += size

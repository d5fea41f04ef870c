"""Texts as a model's merges get them: without added tokens, normalised, cut into pieces."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import cast

import numpy as np
from numpy.typing import NDArray

from pyharness.bpe.encoding.added_tokens import Stretches
from pyharness.bpe.encoding.stages import added_tokens_of, normalizer_of, splitters_of, start_keeper_of
from pyharness.bpe.model.model import BpeModel
from pyharness.bpe.splitting.text_splitter import Pieces, TextSplitter
from pyharness.types import InputError

_CUTTERS = 32  # sets of allowed special tokens whose search is kept


class ModelTexts:
    """The stages of a model before its encoder. Of ``splitter`` and ``pre_tokenizer``, the other is None."""

    def __init__(self, model: BpeModel) -> None:
        self.normalize = normalizer_of(model)
        self.splitter, self.pre_tokenizer = splitters_of(model)
        self._keeps_start = start_keeper_of(model)
        self._added = lru_cache(_CUTTERS)(partial(added_tokens_of, model, self.normalize))

    def looks_for_tokens(self, allowed: frozenset[str]) -> bool:
        """Whether added tokens are cut out, when these special ones are mapped."""
        return any(added.any for added in self._added(allowed))

    def stretches(self, texts: Sequence[str | bytes], threads: int, allowed: frozenset[str]) -> Stretches:
        """Documents as the pre-tokenizer gets them; ``allowed`` special tokens are mapped."""
        raw, normalised = self._added(allowed)
        stretches = raw.cut(Stretches(texts), threads)
        if self.normalize is not None:
            normal = [self.normalize(as_text(text)) for text in stretches.texts]
            stretches = dataclasses.replace(stretches, texts=normal, moved=self._moved(stretches))
        return normalised.cut(stretches, threads)

    def cut(self, stretches: Stretches) -> tuple[Sequence[str | bytes], Pieces | TextSplitter]:
        """Texts as the encoder gets them, and their pieces, or what cuts them."""
        if self.pre_tokenizer is None:
            return stretches.texts, cast(TextSplitter, self.splitter)  # a model has one of the two
        return self.pre_tokenizer.split(stretches.texts, stretches.starts_document().tolist())

    def _moved(self, stretches: Stretches) -> NDArray[np.bool_] | None:
        """Bool [documents]: of those that start with a stretch, whether normalising takes the start of it away."""
        if self._keeps_start is None:
            return None
        documents = stretches.document_of_stretches()
        moved = np.zeros(len(stretches), np.bool_)
        for index in np.flatnonzero(stretches.starts_document()).tolist():
            moved[int(documents[index])] = not self._keeps_start(as_text(stretches.texts[index]))
        return moved


def as_text(text: str | bytes) -> str:
    """Return the text of a document.

    Raises:
        InputError: it is not UTF-8.
    """
    if isinstance(text, str):
        return text
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        raise InputError(f"a text is not UTF-8 at byte {error.start}, and this model works on characters") from None

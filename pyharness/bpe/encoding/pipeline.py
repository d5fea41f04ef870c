"""From texts to ids, stage by stage: added tokens, normaliser, pre-tokenizer, encoder."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import lru_cache, partial
from itertools import pairwise
from typing import cast

import numpy as np
from numpy.typing import NDArray

from pyharness.bpe.encoding import stages
from pyharness.bpe.encoding.added_tokens import Stretches
from pyharness.bpe.encoding.encoders import Method, ModelEncoder, Places
from pyharness.bpe.encoding.pre_tokenizer import as_text
from pyharness.bpe.encoding.safe_cuts import SafeCuts, safe_cuts
from pyharness.bpe.model.model import BpeModel
from pyharness.bpe.model.text_splitter import Pieces, TextSplitter
from pyharness.types import InputError, Tokens
from pyharness.vocabularies.files.byte_alphabet import in_letters
from pyharness.vocabularies.stages import Stages

_CUTTERS = 32  # sets of allowed special tokens whose search is kept
_NONE: frozenset[str] = frozenset()


class ModelTexts:
    """The stages of a model before its encoder. One of ``splitter`` and ``pre_tokenizer`` is None."""

    def __init__(self, model: BpeModel) -> None:
        self.normalize = stages.normalizer_of(model)
        self.splitter, self.pre_tokenizer = stages.splitters_of(model)
        self._keeps_start = stages.start_keeper_of(model)
        self._added = lru_cache(_CUTTERS)(partial(stages.added_tokens_of, model, self.normalize))

    def looks_for_tokens(self, allowed: frozenset[str]) -> bool:
        """Return whether added tokens are cut out, when these special ones are mapped."""
        return any(added.any for added in self._added(allowed))

    def stretches(self, texts: Sequence[str | bytes], threads: int, allowed: frozenset[str]) -> Stretches:
        """Return documents in the form of the pre-tokenizer's input; ``allowed`` special tokens are mapped.

        Raises:
            InputError: a text is not UTF-8, and there is a normaliser.
            TypeError: a text is neither ``str`` nor ``bytes``.
        """
        raw, normalised = self._added(allowed)
        stretches = raw.cut(Stretches(texts), threads)
        if self.normalize is not None:
            normal = [self.normalize(as_text(text)) for text in stretches.texts]
            stretches = dataclasses.replace(stretches, texts=normal, moved=self._find_moved(stretches))
        return normalised.cut(stretches, threads)

    def cut(self, stretches: Stretches) -> tuple[Sequence[str | bytes], Pieces | TextSplitter]:
        """Return texts in the form of the encoder's input, and their pieces or splitter."""
        if self.pre_tokenizer is None:
            return stretches.texts, cast(TextSplitter, self.splitter)  # a model has one of the two
        return self.pre_tokenizer.split(stretches.texts, stretches.starts_document().tolist())

    def _find_moved(self, stretches: Stretches) -> NDArray[np.bool_] | None:
        """Return bool [documents]: those that start with a stretch whose start normalising removes."""
        if self._keeps_start is None:
            return None
        documents = stretches.document_of_stretches()
        moved = np.zeros(len(stretches), np.bool_)
        for index in np.flatnonzero(stretches.starts_document()).tolist():
            moved[int(documents[index])] = not self._keeps_start(as_text(stretches.texts[index]))
        return moved


class Pipeline:
    """The stages of a model. ``direct`` is the encoder if only special tokens precede it and there is no dropout."""

    def __init__(self, model: BpeModel, method: Method, dropout: float, seed: int) -> None:
        self._model, self._dropout = model, dropout
        self._plain = method == "merge" and not dropout
        self._texts = ModelTexts(model)
        self._encoder = stages.encoder_of(model, method, self._texts.splitter, dropout=dropout, seed=seed)
        changed = self._texts.normalize is not None or self._texts.looks_for_tokens(_NONE)
        alone = not changed and self._texts.pre_tokenizer is None and not dropout
        self.direct: ModelEncoder | None = self._encoder if alone else None

    @property
    def is_native(self) -> bool:
        """Whether all stages are of the core: it takes texts that it has read, and calls from several threads."""
        splitter = self._texts.splitter
        return self.direct is not None and (splitter is None or splitter.native is not None)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on how texts are split."""
        splits = self._texts.pre_tokenizer or self._texts.splitter
        return (splits.note,) if splits is not None and splits.note else ()

    def tokens(
        self, texts: Sequence[str | bytes], threads: int, first_document: int, allowed: frozenset[str]
    ) -> Tokens:
        """Encode documents; ``allowed`` special tokens are mapped."""
        if self.direct is not None and not allowed:
            return self.direct.encode_batch(texts, threads)
        stretches = self._texts.stretches(texts, threads, allowed)
        cut, pieces = self._texts.cut(stretches)
        places = self._places(cut, stretches, first_document)
        if isinstance(pieces, TextSplitter):
            return stretches.join(self._encoder.encode_batch(cut, threads, places=places))
        return stretches.join(self._encoder.encode_pieces(cut, pieces, threads, places=places))

    def safe_cuts(self, allowed: frozenset[str]) -> SafeCuts | None:
        """Return where texts can be cut without a change of ids; None if that is unknown."""
        splitter = self._texts.splitter
        if self._dropout or splitter is None:
            return None
        searched = self._model.added if self._texts.looks_for_tokens(allowed) else ()
        return safe_cuts(self._model, splitter.name, searched=searched)

    def strings(self, text: str) -> list[str]:
        """Return pieces and added tokens of a text in the form of the file's decoder."""
        stretches = self._texts.stretches([text], 1, _NONE)
        starts = stretches.starts_document().tolist()
        pieces = iter([self._piece_strings(*stretch) for stretch in zip(stretches.texts, starts, strict=True)])
        items = [-1] if stretches.items is None else stretches.items.tolist()
        vocabulary = self._model.vocabulary
        parts = [next(pieces) if item < 0 else [vocabulary[item].decode(errors="replace")] for item in items]
        return [piece for part in parts for piece in part]

    def stages(self) -> Stages:
        """Return the stages before the model as data."""
        return stages.examined_stages(self._model, self._texts.normalize, plain=self._plain)

    def _places(self, texts: Sequence[str | bytes], stretches: Stretches, first_document: int) -> Places | None:
        if not self._dropout:
            return None
        if not 0 <= first_document < 1 << 64:
            raise InputError(f"first_document is {first_document}; it must be from 0 to 2^64 - 1")
        documents = stretches.document_of_stretches()
        lengths = [len(text.encode() if isinstance(text, str) else text) for text in texts]
        ends = np.cumsum(np.array([0, *lengths], np.uint64), dtype=np.uint64)
        firsts = np.searchsorted(documents, documents)  # the first stretch of the same document
        return Places(documents + np.uint64(first_document), ends[:-1] - ends[firsts])

    def _piece_strings(self, stretch: str | bytes, starts_document: bool) -> list[str]:
        """Return the pieces of a stretch in the form of the file's decoder."""
        if self._texts.pre_tokenizer is None:
            return [as_text(stretch)]
        (data,), pieces = self._texts.pre_tokenizer.split([stretch], [starts_document])
        parts = [data[start:end] for start, end in pairwise([0, *pieces.ends.tolist()])]
        if self._model.symbols == "bytes" and self._model.decoder is not None:
            return list(map(in_letters, parts))
        return [part.decode(errors="replace") for part in parts]

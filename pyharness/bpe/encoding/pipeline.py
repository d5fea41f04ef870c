"""From texts to ids, stage by stage: added tokens, normaliser, pre-tokenizer, encoder."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from pyharness.bpe.encoding.added_tokens import Stretches
from pyharness.bpe.encoding.model_encoder import ModelEncoder, Places
from pyharness.bpe.encoding.model_texts import ModelTexts, as_text
from pyharness.bpe.encoding.safe_cuts import SafeCuts, safe_cuts
from pyharness.bpe.encoding.stages import encoder_of, examined_stages
from pyharness.bpe.encoding.symbol_encoder import Method
from pyharness.bpe.model.model import BpeModel
from pyharness.bpe.splitting.text_splitter import TextSplitter
from pyharness.types import Tokens
from pyharness.vocabularies.files.byte_alphabet import in_letters
from pyharness.vocabularies.stages import Stages

_NONE: frozenset[str] = frozenset()


class Pipeline:
    """The stages of a model. ``direct`` is the encoder where nothing is done before it, but for special tokens."""

    def __init__(self, model: BpeModel, method: Method, dropout: float, seed: int) -> None:
        self._model, self._dropout = model, dropout
        self._plain = method == "merge" and not dropout
        self._texts = ModelTexts(model)
        self._encoder = encoder_of(model, method, self._texts.splitter, dropout=dropout, seed=seed)
        changed = self._texts.normalize is not None or self._texts.looks_for_tokens(_NONE)
        alone = not changed and self._texts.pre_tokenizer is None and not dropout
        self.direct: ModelEncoder | None = self._encoder if alone else None

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on how texts are split."""
        splits = self._texts.pre_tokenizer or self._texts.splitter
        return (splits.note,) if splits is not None and splits.note else ()

    def tokens(
        self, texts: Sequence[str | bytes], threads: int, first_document: int, allowed: frozenset[str]
    ) -> Tokens:
        """Ids of documents; ``allowed`` special tokens are mapped."""
        if self.direct is not None and not allowed:
            return self.direct.encode_batch(texts, threads)
        stretches = self._texts.stretches(texts, threads, allowed)
        return stretches.join(self._encode(stretches, threads, first_document))

    def safe_cuts(self, allowed: frozenset[str]) -> SafeCuts | None:
        """Where texts can be cut without a change of ids; None where that is not known."""
        splitter = self._texts.splitter
        if self._dropout or splitter is None:
            return None
        searched = self._model.added if self._texts.looks_for_tokens(allowed) else ()
        return safe_cuts(self._model, splitter.name, searched=searched)

    def strings(self, text: str) -> list[str]:
        """Pieces and added tokens of a text as the file's decoder wants them."""
        stretches = self._texts.stretches([text], 1, _NONE)
        starts = stretches.starts_document().tolist()
        pieces = iter([self._piece_strings(*stretch) for stretch in zip(stretches.texts, starts, strict=True)])
        items = [-1] if stretches.items is None else stretches.items.tolist()
        vocabulary = self._model.vocabulary
        parts = [next(pieces) if item < 0 else [vocabulary[item].decode(errors="replace")] for item in items]
        return [piece for part in parts for piece in part]

    def stages(self) -> Stages:
        """Return the stages before the model as data."""
        return examined_stages(self._model, self._texts.normalize, plain=self._plain)

    def _encode(self, stretches: Stretches, threads: int, first_document: int) -> Tokens:
        texts, pieces = self._texts.cut(stretches)
        places = self._places(texts, stretches, first_document)
        if isinstance(pieces, TextSplitter):
            return self._encoder.encode_batch(texts, threads, places=places)
        return self._encoder.encode_pieces(texts, pieces, threads, places=places)

    def _places(self, texts: Sequence[str | bytes], stretches: Stretches, first_document: int) -> Places | None:
        if not self._dropout:
            return None
        documents = stretches.document_of_stretches()
        positions = _positions(texts, documents)
        return Places(documents + np.uint64(first_document), positions)

    def _piece_strings(self, stretch: str | bytes, starts_document: bool) -> list[str]:
        """Pieces of a stretch as the file's decoder wants them."""
        if self._texts.pre_tokenizer is None:
            return [as_text(stretch)]
        (data,), pieces = self._texts.pre_tokenizer.split([stretch], [starts_document])
        parts = [data[start:end] for start, end in pairwise([0, *pieces.ends.tolist()])]
        if self._model.symbols == "bytes" and self._model.decoder is not None:
            return list(map(in_letters, parts))
        return [part.decode(errors="replace") for part in parts]


def _positions(texts: Sequence[str | bytes], documents: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Byte of its document at which each stretch starts, what is mapped to added tokens left out."""
    lengths = [len(text.encode() if isinstance(text, str) else text) for text in texts]
    ends = np.cumsum(np.array([0, *lengths], np.uint64), dtype=np.uint64)
    firsts = np.searchsorted(documents, documents)  # the first stretch of the same document
    return ends[:-1] - ends[firsts]

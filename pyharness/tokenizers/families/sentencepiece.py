"""SentencePiece models, run by the sentencepiece library."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from pyharness.tokenizers.source import Loader, VocabularyFile, refusing
from pyharness.tokenizers.timed_calls import Timed
from pyharness.types import Ids, MergeModel, RoundTrip, Tokenizer, Tokens, Vocabulary
from pyharness.vocabularies import sentencepiece_file
from pyharness.vocabularies.huggingface.file import AddedToken
from pyharness.vocabularies.sentencepiece_file import ModelType, PieceType, SentencePieceModel, raw_model, read_model
from pyharness.vocabularies.stages import ModelKind, Stages, TokenForm


class SentencePieceTables:
    """Facts of a SentencePiece model, the same for every engine that runs it."""

    def __init__(self, model: SentencePieceModel) -> None:
        self.model = model
        self.id_limit = len(model.pieces)
        self.vocab_size = sum(kind not in (PieceType.CONTROL, PieceType.UNKNOWN) for kind in model.types)
        self.round_trip: RoundTrip = "normalised" if model.byte_fallback else "lossy"
        normalizer = model.normalizer
        notes = [f"SentencePiece {model.model_type.name.lower()} model, normaliser {normalizer.name or 'identity'}"]
        if normalizer.charsmap:
            notes.append("characters are replaced by a precompiled table")
        if normalizer.add_dummy_prefix:
            notes.append("a space is put before the text and dropped when decoding")
        if normalizer.remove_extra_whitespaces:
            notes.append("runs of spaces become one, outer ones are dropped")
        if not model.byte_fallback:
            notes.append("characters outside the vocabulary become the unknown token")
        self.notes = tuple(notes)

    def vocabulary(self) -> Vocabulary:
        """Return pieces with ``▁`` as the space it stands for, and bytes for ``<0xNN>``."""
        return sentencepiece_file.vocabulary(self.model)

    def added_tokens(self) -> Mapping[str, int]:
        """Return the user-defined pieces: they are cut out of the text before the model runs."""
        types = self.model.types
        return {piece: token for token, piece in enumerate(self.model.pieces) if types[token] is PieceType.USER_DEFINED}


class SentencePieceTokenizer(SentencePieceTables):
    """A model file in the sentencepiece library."""

    def __init__(self, data: bytes, model: SentencePieceModel, label: str) -> None:
        super().__init__(model)
        import sentencepiece

        self._data, self._label = data, label
        with refusing(label, "sentencepiece"):
            self.processor: Any = sentencepiece.SentencePieceProcessor()
            self.processor.LoadFromSerializedProto(data)

    def encode_batch(self, texts: Sequence[str], threads: int = 1) -> Tokens:
        """Encode documents; control pieces are never matched, user-defined ones are."""
        return Tokens.from_lists(self.processor.encode(list(texts), out_type=int, num_threads=threads))

    def decode(self, ids: Ids) -> bytes:
        """Return the bytes of the text of one document's ids."""
        text: str = self.processor.decode(np.asarray(ids).tolist())
        return text.encode()

    def timed_call(self, texts: Sequence[str], threads: int = 1) -> Timed:
        """Return the library's batch call."""
        encode, documents = self.processor.encode, list(texts)
        return Timed(lambda: encode(documents, out_type=int, num_threads=threads), Tokens.from_lists)

    def timed_decode(self, tokens: Tokens, threads: int = 1) -> Timed:
        """Return the library's batch decode call."""
        decode = self.processor.decode
        batch = [tokens.document(index).tolist() for index in range(len(tokens))]
        return Timed(lambda: decode(batch, num_threads=threads), lambda texts: "".join(texts).encode())

    def timed_single(self, text: str) -> Timed:
        """Return the library's single call."""
        encode = self.processor.encode
        return Timed(lambda: encode(text, out_type=int), lambda ids: Tokens.from_lists([ids]))

    def normalize(self, text: str) -> str:
        """Return the text after the model's normaliser, with spaces as spaces, without those that decoding drops."""
        normal: str = self.processor.Normalize(text).replace(sentencepiece_file.SPACE, " ")
        if self.model.normalizer.remove_extra_whitespaces:  # decoding removes one from each leading token
            return normal.lstrip(" ")
        return normal.removeprefix(" ") if self.model.normalizer.add_dummy_prefix else normal

    def stages(self) -> Stages:
        """Return the stages before the model: its normaliser; no scores, as their sums have 32 bits."""
        added = [AddedToken(token, piece, normalized=True) for piece, token in self.added_tokens().items()]
        pieces = self.model.pieces
        return Stages(
            normalize=self.processor.Normalize, normalizer=None, splits=(), added=added,
            forms=lambda token: [TokenForm(pieces[token])], model=_MODEL_KINDS.get(self.model.model_type, "other"),
        )  # fmt: skip


class BpeSentencePiece(SentencePieceTokenizer):
    """A BPE model: its scores are a merge order."""

    def merge_model(self) -> MergeModel:
        """Return the ranks form."""
        return sentencepiece_file.merge_model(self.model)


class WordSentencePiece(SentencePieceTokenizer):
    """A Unigram, word or character model: it has no merge rules, so tests use its own encoder."""

    def encode_model(self, tokens: Ids) -> Tokens:
        """Encode pieces with the model alone."""
        return Tokens.from_lists([self._raw.encode(self.model.pieces[token]) for token in np.asarray(tokens).tolist()])

    @cached_property
    def _raw(self) -> Any:
        import sentencepiece

        processor = sentencepiece.SentencePieceProcessor()
        with refusing(self._label, "sentencepiece"):
            processor.LoadFromSerializedProto(raw_model(self._data))
        return processor


_MODEL_KINDS: Mapping[ModelType, ModelKind] = {ModelType.BPE: "bpe", ModelType.UNIGRAM: "unigram"}


def load(file: VocabularyFile, options: Mapping[str, str] | None = None) -> Tokenizer:
    """Load a model file; such a row has no options."""
    del options
    data = file.fetch()
    model = read_model(data, file.label)
    kind = BpeSentencePiece if model.model_type is ModelType.BPE else WordSentencePiece
    return kind(data, model, file.label)


LOADERS = (Loader("sentencepiece", "sentencepiece", load),)

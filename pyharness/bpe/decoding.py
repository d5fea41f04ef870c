"""Ids to text, as the file of a model says."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyharness import _core
from pyharness.bpe.model import BpeModel
from pyharness.types import Ids, InputError, Offsets, TokenKind, Vocabulary
from pyharness.vocabularies.huggingface_file import flat_stages
from pyharness.vocabularies.huggingface_traits import BYTE_ALPHABET
from pyharness.vocabularies.sentencepiece_model import SentencePieceNormalizer

UNKNOWN_SURFACE = " \u2047 ".encode()  # what SentencePiece shows for the unknown piece


class Decoder:
    """Decodes the output ids of a model. Ids that split a character give its bytes, except through ``tokenizers``."""

    def __init__(self, model: BpeModel) -> None:
        self._model = model

    def decode(self, ids: Ids) -> bytes:
        """Bytes of the text of one document's ids.

        Raises:
            InputError: an id is not in the vocabulary, or ``tokenizers`` fails on the tokens.
        """
        numbers = self._checked(np.asarray(ids))
        if self._model.decoder is not None:
            present = numbers[self._model.vocabulary.kinds[numbers] != TokenKind.ABSENT]  # the library skips gaps
            return self._joined([self._strings[number] for number in present.tolist()]).encode()
        data = _core.decode(*self._bytes, numbers)
        return data[1:] if self._model.drop_space and data[:1] == b" " else data

    def _joined(self, strings: Sequence[str]) -> str:
        return " ".join(strings) if self._model.decoder == "spaces" else _decoded(self._library_decoder, strings)

    def _checked(self, ids: NDArray[Any]) -> Ids:
        limit = self._model.id_limit
        strangers = (ids < 0) | (ids >= limit)
        if strangers.any():
            raise InputError(f"id {ids[strangers][0]} is not in the vocabulary (ids are from 0 to {limit - 1:,})")
        return np.ascontiguousarray(ids, np.uint32)

    def text_form(self, pieces: Sequence[str]) -> str:
        """Text of pieces as they were before the model, if it kept each whole."""
        if self._model.decoder == "spaces":
            return " ".join(pieces)
        if self._model.decoder is not None:
            # Byte fallback would take a text that reads <0x41> for a byte.
            return "".join(pieces) if self._pieces_decoder is None else _decoded(self._pieces_decoder, pieces)
        text = "".join(pieces)
        if self._model.symbols == "characters":
            text = text.replace("▁", " ")
        return text[1:] if self._model.drop_space and text.startswith(" ") else text

    @cached_property
    def _bytes(self) -> tuple[NDArray[np.uint8], Offsets]:
        """Bytes of all tokens, and where those of each start."""
        vocabulary = self._model.vocabulary
        if isinstance(self._model.normalizer, SentencePieceNormalizer):
            surfaces = {TokenKind.SPECIAL: b"", TokenKind.UNKNOWN: UNKNOWN_SURFACE}
            kinds = dict(enumerate(map(TokenKind, vocabulary.kinds.tolist())))
            tokens = {token: surfaces.get(kind, vocabulary[token]) for token, kind in kinds.items()}
            vocabulary = Vocabulary.from_tokens(tokens, kinds)
        return vocabulary.data, vocabulary.offsets

    @cached_property
    def _library_decoder(self) -> Any:
        return _decoder_object(self._model.decoder)

    @cached_property
    def _pieces_decoder(self) -> Any:
        steps = [step for step in flat_stages(self._model.decoder) if step["type"] != "ByteFallback"]
        return _decoder_object({"type": "Sequence", "decoders": steps}) if steps else None

    @cached_property
    def _strings(self) -> list[str]:
        """Tokens as their file writes them: in the byte alphabet, with prefix and suffix."""
        contents = {token.id: token.content for token in self._model.added}
        return [contents.get(token) or self._string(token) for token in range(self._model.id_limit)]

    def _string(self, token: int) -> str:
        model, keys, suffix = self._model.merges, self._symbols, self._model.suffix.encode()
        text = model.data[model.offsets[token] : model.offsets[token + 1]].tobytes()
        base = model.base[model.base_offsets[token] : model.base_offsets[token + 1]].tolist()
        if self._model.symbols == "bytes":
            text = "".join(BYTE_ALPHABET[byte] for byte in text).encode()
        if suffix and base and keys.get(base[-1], b"").endswith(suffix):
            text += suffix
        return text.decode(errors="replace")

    @cached_property
    def _symbols(self) -> Mapping[int, bytes]:
        return {number: key for key, number in self._model.alphabet.items()}


def _decoded(decoder: Any, tokens: Sequence[str]) -> str:
    try:
        return str(decoder.decode(list(tokens)))
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # pyo3's PanicException is no Exception; Strip panics on what is too short for it
        raise InputError(f"the decoder {str(decoder)[:200]} of tokenizers failed: {str(error)[:200]}") from None


def _decoder_object(stage: Any) -> Any:
    import tokenizers

    stub = {"model": {"type": "BPE", "vocab": {}, "merges": []}, "decoder": stage}
    try:
        return tokenizers.Tokenizer.from_str(json.dumps(stub)).decoder
    except Exception as error:  # the library raises bare Exception
        raise InputError(f"the decoder {str(stage)[:200]} was refused by tokenizers: {str(error)[:200]}") from None

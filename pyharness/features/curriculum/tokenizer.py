"""A vocabulary grown in rounds as a tokenizer (``trained:curriculum``): text to symbols, symbols to ids, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pyharness import _core
from pyharness.bpe.encoding.added_tokens import all_joined
from pyharness.bpe.encoding.decoder import checked
from pyharness.features.curriculum.declarations import ALGORITHM
from pyharness.features.curriculum.model import CurriculumModel, load_bytes
from pyharness.tokenizers.source import Loader, VocabularyFile
from pyharness.types import Ids, InputError, Offsets, RoundTrip, Tokenizer, Tokens, Vocabulary, offsets_of

SymbolIds: TypeAlias = NDArray[np.uint8] | NDArray[np.uint32]
CODE_POINTS = 0x110000
_MISSING = np.iinfo(np.uint32).max


class CurriculumTokenizer:
    """Tokenizer of a ``CurriculumModel``. Special tokens in a text are plain text.

    The ids depend on neither threads nor batches; several threads may share one instance.

    >>> alphabet = tuple(bytes([byte]) for byte in range(256))
    >>> model = CurriculumModel(strings=(*alphabet, b"th", b"the"), sizes=(256, 258))
    >>> CurriculumTokenizer(model).encode_batch(["the th"]).ids.tolist()
    [257, 32, 256]

    Source: docs/algorithms.md "Vocabulary curriculum".
    """

    def __init__(self, model: CurriculumModel) -> None:
        self.model = model
        self.vocab_size = len(model.strings)
        self.id_limit = self.vocab_size + len(model.added)
        self.round_trip: RoundTrip = "exact" if model.symbols == "bytes" else "lossy"
        drops = model.symbols == "characters" and model.unknown is None
        self.notes: tuple[str, ...] = ("characters outside the alphabet are left out when encoding",) if drops else ()
        self._alphabet, self._encoder = Alphabet(model), FixpointEncoder(model.strings)
        self._vocabulary = model.vocabulary()

    def encode_batch(self, texts: Sequence[str], threads: int = 1) -> Tokens:
        """Encode documents; each is scanned as a whole, without a split."""
        return self._encoder.encode(*self._alphabet.symbols(texts), threads)

    def decode(self, ids: Ids) -> bytes:
        """Decode one document's ids to the bytes of its text.

        Raises:
            InputError: an id is not in the vocabulary.
        """
        return _core.decode(self._vocabulary.data, self._vocabulary.offsets, checked(ids, self.id_limit))

    def vocabulary(self) -> Vocabulary:
        """Return the bytes and kind of every id."""
        return self._vocabulary

    def encode_model(self, tokens: Ids) -> Tokens:
        """Encode the string of each id by the model only, even strings with partial characters."""
        strings = [self._vocabulary[token] for token in np.asarray(tokens).tolist()]
        if self.model.symbols == "characters":
            return self.encode_batch([string.decode() for string in strings])
        data = np.frombuffer(b"".join(strings), np.uint8)
        return self._encoder.encode(data, offsets_of([len(string) for string in strings]))


class Alphabet:
    """The symbols of a model. Lone surrogates become U+FFFD, as in our other encoders."""

    def __init__(self, model: CurriculumModel) -> None:
        self._table: Ids | None = None
        if model.symbols == "bytes":
            return
        unknown = _MISSING if model.unknown is None else len(model.strings) + len(model.special)
        self._drops = model.unknown is None
        self._table = np.full(CODE_POINTS, unknown, np.uint32)
        self._table[[ord(symbol.decode()) for symbol in model.alphabet]] = np.arange(len(model.alphabet))

    def symbols(self, texts: Sequence[str]) -> tuple[SymbolIds, Offsets]:
        """Return the concatenated symbols of texts (uint8 or uint32 [symbols]), and offsets (int64 [texts + 1])."""
        try:
            return self._symbols(texts)
        except UnicodeEncodeError:
            return self._symbols([text if isinstance(text, str) else text.decode() for text in all_joined(texts)])

    def _symbols(self, texts: Sequence[str]) -> tuple[SymbolIds, Offsets]:
        if self._table is None:
            encoded = [text.encode() for text in texts]
            return np.frombuffer(b"".join(encoded), np.uint8), offsets_of([len(data) for data in encoded])
        points = code_points(texts)
        offsets, symbols = offsets_of([len(text) for text in texts]), self._table[points]
        if not self._drops:
            return symbols, offsets
        kept = symbols != _MISSING
        return symbols[kept], offsets_of(kept)[offsets]


def code_points(texts: Sequence[str]) -> Ids:
    """Return the concatenated code points of texts: uint32 [characters].

    Raises:
        UnicodeEncodeError: a text has half a surrogate pair.
    """
    return np.frombuffer("".join(texts).encode("utf-32-le"), "<u4").astype(np.uint32, copy=False)


class FixpointEncoder:
    """Encoder that joins neighbours while their joined string is in the vocabulary.

    From left to right, a token absorbs the tokens after it one by one, while every intermediate string is in the
    vocabulary; then the scan continues from the token before it. In the result no two neighbours join. This is neither
    longest match nor BPE. Time grows with the text, memory with the bytes of all strings.

    Source: docs/algorithms.md "Vocabulary curriculum".

    Args:
        strings: id -> bytes, distinct and not empty.
    """

    def __init__(self, strings: Sequence[bytes]) -> None:
        data = np.frombuffer(b"".join(strings), np.uint8)
        self._native = _core.FixpointEncoder(data, offsets_of([len(string) for string in strings]))

    def encode(self, symbols: NDArray[np.uint8] | Ids, offsets: Offsets, threads: int = 1) -> Tokens:
        """Encode documents; the result depends on neither threads nor the rest of the batch.

        Args:
            symbols: uint8 or uint32 [symbols], ids of strings, concatenated documents. Other ids never join.
            offsets: int64 [documents + 1].
            threads: 1..1024.

        Raises:
            InputError: offsets do not fit.
            TypeError: an array has another dtype.
        """
        try:
            return Tokens(*self._native.encode(symbols, offsets, threads))
        except ValueError as error:
            raise InputError(str(error)) from None


def load(file: VocabularyFile, options: Mapping[str, str]) -> Tokenizer:
    """Load a file.

    Raises:
        InputError: the file is truncated, altered, or contradicts itself.
    """
    del options
    return CurriculumTokenizer(load_bytes(file.fetch(), file.label))


LOADERS = (Loader(ALGORITHM, "pyharness", load),)

"""A vocabulary that grew in rounds, as a tokenizer: text to ids and back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from pyharness import _core
from pyharness.features.curriculum.alphabet import Alphabet
from pyharness.features.curriculum.encoder import FixpointEncoder
from pyharness.features.curriculum.model import CurriculumModel
from pyharness.types import Ids, InputError, RoundTrip, Tokens, Vocabulary, offsets_of


class CurriculumTokenizer:
    """Encodes and decodes with a ``CurriculumModel``. Special tokens in a text are text.

    The ids depend neither on threads nor on batches; one instance may be used by several threads.

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
        self.notes = tuple(_notes(model))
        self._alphabet, self._encoder, self._vocabulary = (
            Alphabet(model),
            FixpointEncoder(model.strings),
            model.vocabulary(),
        )

    def encode_batch(self, texts: Sequence[str], threads: int = 1) -> Tokens:
        """Encode documents; each is scanned as a whole, nothing is split before."""
        return self._encoder.encode(*self._alphabet.symbols(texts), threads)

    def decode(self, ids: Ids) -> bytes:
        """Bytes of the text of one document's ids.

        Raises:
            InputError: an id is not in the vocabulary.
        """
        numbers = np.asarray(ids)
        if len(numbers) and not 0 <= int(numbers.min()) <= int(numbers.max()) < self.id_limit:
            wrong = next(one for one in numbers.tolist() if not 0 <= one < self.id_limit)
            raise InputError(f"id {wrong:,} is not in the vocabulary, which ends at {self.id_limit - 1:,}")
        return _core.decode(self._vocabulary.data, self._vocabulary.offsets, numbers.astype(np.uint32))

    def vocabulary(self) -> Vocabulary:
        """Return the bytes and kind of every id."""
        return self._vocabulary

    def encode_model(self, tokens: Ids) -> Tokens:
        """Encode the string of each given id with the model alone, whether it is whole characters or not."""
        strings = [self._vocabulary[token] for token in np.asarray(tokens).tolist()]
        if self.model.symbols == "characters":
            return self.encode_batch([string.decode() for string in strings])
        data = np.frombuffer(b"".join(strings), np.uint8)
        return self._encoder.encode(data, offsets_of([len(string) for string in strings]))


def _notes(model: CurriculumModel) -> Iterator[str]:
    if model.symbols == "characters" and model.unknown is None:
        yield "characters outside the alphabet are left out when encoding"

"""A BPE model as a tokenizer: text to ids and back, as the library that the model comes from does it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

from pyharness.bpe.added_tokens import Stretches
from pyharness.bpe.decoding import Decoder
from pyharness.bpe.model import BpeModel
from pyharness.bpe.pre_tokenizing import PreTokenizer
from pyharness.bpe.splitter import TextSplitter
from pyharness.bpe.stages import Method, added_tokens_of, check, encoder_of, normalizer_of, splitter_of
from pyharness.bpe.text_encoder import TextEncoder
from pyharness.types import Ids, InputError, RoundTrip, Tokens, Vocabulary
from pyharness.vocabularies.huggingface_traits import BYTE_ALPHABET

STREAM_CHARACTERS = 4 << 20  # of a batch of a stream
STREAM_DOCUMENTS = 4096


class BpeTokenizer:
    """Encodes and decodes with a :class:`pyharness.bpe.BpeModel`.

    The ids do not depend on threads, batches or what was encoded before. One instance may be used by several threads.

    Args:
        model: what to run.
        method: ``merge`` is BPE. ``longest_match`` is another algorithm over the same vocabulary: from left to right,
            the longest token that each piece goes on with; rows that use it must say so.
        dropout: probability with which a candidate merge is discarded when it comes up (BPE-dropout, the variant of
            SentencePiece). The shortcut for whole pieces is off then, as in ``tokenizers``.
        seed: of the draws, which are a function of it, the number of the document and the place in it.
        special: map special tokens that the text spells to their ids. Off, they are text.

    Raises:
        InputError: an option is out of range, or the model cannot be run so.
        ValueError: the model's arrays do not fit each other.

    Source: ``spec/algorithms.md`` sections 1, 1b, 2 and 9b.
    """

    def __init__(
        self,
        model: BpeModel,
        *,
        method: Method = "merge",
        dropout: float = 0.0,
        seed: int = 0,
        special: bool = False,
    ) -> None:
        check(model, method, dropout, seed)
        self.model = model
        self.id_limit = model.id_limit
        self.vocab_size = model.vocab_size
        self.round_trip: RoundTrip = model.round_trip
        self.notes = (*model.notes, *_notes(method, dropout, seed, special))
        self._dropout, self._seed = dropout, seed
        self._normalize = normalizer_of(model)
        self._raw, self._normal = added_tokens_of(model, special, self._normalize)
        self._split = splitter_of(model)
        stages = self._normalize is not None or self._raw.any or self._normal.any
        self._direct = not stages and not isinstance(self._split, PreTokenizer)
        self._decoder = Decoder(model)
        self._encoder = encoder_of(model, method, dropout=dropout > 0)

    def encode_batch(self, texts: Sequence[str | bytes], threads: int = 1, *, first_document: int = 0) -> Tokens:
        """Encode documents. ``first_document`` is the number of the first, which only dropout looks at.

        Raises:
            InputError: bytes that are not UTF-8, where the model needs characters; a pattern ran out of time.
            ValueError: a text has lone surrogates; ``threads`` is out of range.
            TypeError: a text is neither ``str`` nor ``bytes``.
        """
        if self._direct and isinstance(self._encoder, TextEncoder):
            return self._encoder.encode_batch(texts, threads)
        stretches = self._stretches(texts, threads)
        return stretches.join(self._encode(stretches, threads, first_document))

    def encode(self, text: str | bytes) -> Ids:
        """Encode one document.

        Raises:
            InputError, ValueError, TypeError: as :meth:`encode_batch`.
        """
        if self._direct and isinstance(self._encoder, TextEncoder):
            return self._encoder.encode(text)
        return self.encode_batch([text]).ids

    def encode_stream(self, texts: Iterable[str | bytes], threads: int = 1) -> Iterator[Tokens]:
        """Encode documents as they come; one ``Tokens`` for every few megabytes of text, so memory is bounded.

        The documents are numbered through, so the ids are those of one batch.

        Raises:
            InputError, ValueError, TypeError: as :meth:`encode_batch`.
        """
        done = 0
        for batch in _batches(texts):
            yield self.encode_batch(batch, threads, first_document=done)
            done += len(batch)

    def decode(self, ids: Ids) -> bytes:
        """Bytes of the text of one document's ids.

        Raises:
            InputError: an id is not in the vocabulary.
        """
        return self._decoder.decode(ids)

    def vocabulary(self) -> Vocabulary:
        """Return the bytes and kind of every id."""
        return self.model.vocabulary

    def added_tokens(self) -> Mapping[str, int]:
        """Added tokens that are not special."""
        return {token.content: token.id for token in self.model.added if not token.special}

    def normalize(self, text: str) -> str:
        """Text as the model sees it, in text form: what decoding can give back at best."""
        if self.round_trip == "exact":
            return text
        stretches = self._stretches([text], 1)
        starts = stretches.starts_document().tolist()
        pieces = iter([self._piece_strings(*stretch) for stretch in zip(stretches.texts, starts, strict=True)])
        items = [-1] if stretches.items is None else stretches.items.tolist()
        parts = [next(pieces) if item < 0 else [self.model.vocabulary[item].decode(errors="replace")] for item in items]
        return self._decoder.text_form([piece for part in parts for piece in part])

    def cuts(self, text: str) -> Sequence[int]:
        """Character positions at which the pre-tokenizer cuts."""
        if self._split is None or not text:
            return ()
        if isinstance(self._split, PreTokenizer):
            return sorted({edge for span in self._split.spans(text) for edge in span} - {0, len(text)})
        lengths = [len(piece.decode()) for piece in self._split.split(text)]
        return list(accumulate(lengths[:-1]))

    def _stretches(self, texts: Sequence[str | bytes], threads: int) -> Stretches:
        """Documents as the pre-tokenizer gets them."""
        stretches = self._raw.cut(Stretches(texts), threads)
        if self._normalize is not None:
            normal = [self._normalize(_text(text)) for text in stretches.texts]
            stretches = dataclasses.replace(stretches, texts=normal)
        return self._normal.cut(stretches, threads)

    def _encode(self, stretches: Stretches, threads: int, first_document: int) -> Tokens:
        texts, pieces = stretches.texts, None
        if isinstance(self._split, PreTokenizer):
            texts, pieces = self._split.split(texts, stretches.starts_document().tolist())
        if isinstance(self._encoder, TextEncoder):
            if pieces is None:
                return self._encoder.encode_batch(texts, threads)
            return self._encoder.encode_pieces(texts, pieces, threads)
        if isinstance(self._split, TextSplitter):
            pieces = self._split.split_batch(texts, threads)
        edges = None if pieces is None else (pieces.ends, pieces.offsets)
        if not self._dropout:
            return Tokens(*self._encoder.encode_batch(texts, edges, threads))
        documents = stretches.document_of_stretches()
        positions = _positions(texts, documents)
        documents += np.uint64(first_document)
        return Tokens(
            *self._encoder.sample_batch(texts, edges, self._dropout, self._seed, documents, positions, threads)
        )

    def _piece_strings(self, stretch: str | bytes, starts_document: bool) -> list[str]:
        """Pieces of a stretch as the file's decoder wants them."""
        if not isinstance(self._split, PreTokenizer):
            return [_text(stretch)]
        (data,), pieces = self._split.split([stretch], [starts_document])
        found = [data[start:end] for start, end in pairwise([0, *pieces.ends.tolist()])]
        if self.model.symbols == "bytes" and self.model.decoder is not None:
            return ["".join(BYTE_ALPHABET[byte] for byte in piece) for piece in found]
        return [piece.decode(errors="replace") for piece in found]


def _text(text: str | bytes) -> str:
    if isinstance(text, str):
        return text
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        raise InputError(f"a text is not UTF-8 at byte {error.start}, and this model works on characters") from None


def _positions(texts: Sequence[str | bytes], documents: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Byte of its document at which each stretch starts, what is mapped to added tokens left out."""
    lengths = [len(text.encode() if isinstance(text, str) else text) for text in texts]
    ends = np.cumsum(np.array([0, *lengths], np.uint64), dtype=np.uint64)
    firsts = np.searchsorted(documents, documents)  # the first stretch of the same document
    return ends[:-1] - ends[firsts]


def _batches(texts: Iterable[str | bytes]) -> Iterator[list[str | bytes]]:
    batch: list[str | bytes] = []
    size = 0
    for text in texts:
        batch.append(text)
        size += len(text)
        if size >= STREAM_CHARACTERS or len(batch) >= STREAM_DOCUMENTS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _notes(method: Method, dropout: float, seed: int, special: bool) -> Iterator[str]:
    if method == "longest_match":
        yield "greedy longest match over the vocabulary, not BPE"
    if dropout:
        yield f"BPE-dropout with probability {dropout:g}, seed {seed}"
    if special:
        yield "special tokens in the text are mapped to their ids"

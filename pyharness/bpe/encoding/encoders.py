"""Encoders of the native core: for pieces, for texts of byte-level models, and for texts of all other models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pyharness import _core
from pyharness.bpe.model.model import BpeModel
from pyharness.bpe.model.text_splitter import Pieces, TextSplitter, native_errors
from pyharness.bpe.model.unused_pieces import expansion_of_unused
from pyharness.types import Ids, InputError, MergeModel, Offsets, Tokens

Method: TypeAlias = Literal["merge", "longest_match"]


@dataclass(frozen=True, slots=True)
class Places:
    """Positions of texts: text ``t`` is a part of document ``documents[t]`` and starts at its byte ``positions[t]``."""

    documents: NDArray[np.uint64]  # [texts]
    positions: NDArray[np.uint64]  # [texts]


class ModelEncoder(Protocol):
    """Encoder of texts, without special tokens, for one model and one splitter.

    The ids depend neither on threads nor on batches nor on earlier texts. Several threads may use one instance at once.
    The random draws of dropout depend on ``places``; other encoders ignore them.
    """

    @property
    def shortcut(self) -> Callable[[str | bytes], Ids]:
        """The fastest function that encodes one text: uint32 [tokens]."""

    def encode_batch(self, texts: Sequence[str | bytes], threads: int = 1, *, places: Places | None = None) -> Tokens:
        """Split texts and encode them."""

    def encode_pieces(
        self, texts: Sequence[str | bytes], pieces: Pieces, threads: int = 1, *, places: Places | None = None
    ) -> Tokens:
        """Encode texts that were split elsewhere."""


class BpeEncoder:
    """Encoder of pieces given as base symbols. No pre-tokenizer, no whole-piece shortcut, no cache.

    The constructor builds the model's look-up table; the model's arrays are kept and must not be changed meanwhile.
    A rule that occurs twice has the rank of its first row. In the ranks form symbols are byte strings; of ids with
    equal bytes a merge gives the one with the lowest rank.

    >>> trained = train(WeightedPieces.of_bytes({b"hug": 5, b"pug": 3}), 259)
    >>> encoder = BpeEncoder(model_of_training(trained, "gpt2").merges)
    >>> encoder.encode(np.array([*b"hugs"], np.uint32)).tolist()  # base symbols are bytes here
    [257, 115]

    Raises:
        ValueError: the model's arrays do not fit each other, or an id is out of range.
        TypeError: an array has another dtype.

    Source: docs/algorithms.md "Byte-pair encoding".
    """

    def __init__(self, model: MergeModel) -> None:
        self._encoder = _core.BpeEncoder(model)

    def encode(self, base: Ids) -> Ids:
        """Encode one piece: uint32 [symbols] -> uint32 [tokens].

        Raises:
            ValueError: a symbol is not an id of the model.
            TypeError: the array has another dtype.
        """
        return self._encoder.encode(base)

    def encode_batch(self, base: Ids, base_offsets: Offsets, threads: int = 1) -> Tokens:
        """Encode pieces; piece ``d`` is ``base[base_offsets[d]:base_offsets[d + 1]]``.

        Raises:
            ValueError: a symbol is not an id of the model; the offsets do not fit; ``threads`` is out of range.
            TypeError: an array has another dtype.
        """
        return Tokens(*self._encoder.encode_batch(base, base_offsets, threads))


class SymbolEncoder:
    """Encoder that spells each piece in the symbols of a model and merges them.

    Several times slower than :class:`pyharness.bpe.TextEncoder`; both give the same ids for models that both can run.

    Args:
        model: of any kind. Its arrays are kept and must not be changed meanwhile.
        splitter: splits the texts of :meth:`encode_batch`; ``None``: a text is one piece.
        method: ``merge`` or ``longest_match``, see :class:`pyharness.bpe.BpeTokenizer`.
        dropout: probability with which a candidate merge is discarded.
        seed: of the random draws.

    Raises:
        ValueError: the model's arrays do not fit each other, or an id is out of range.

    Source: docs/algorithms.md "Byte-pair encoding" and "BPE-dropout".
    """

    def __init__(
        self,
        model: BpeModel,
        splitter: TextSplitter | None,
        *,
        method: Method = "merge",
        dropout: float = 0.0,
        seed: int = 0,
    ) -> None:
        self._splitter = None if splitter is None or splitter.rules == "none" else splitter
        self._dropout, self._seed = dropout, seed
        self._core = _core.SymbolEncoder(
            model.merges,
            characters=model.symbols == "characters",
            alphabet=list(model.alphabet.items()),
            prefix=model.prefix.encode(),
            suffix=model.suffix.encode(),
            fallback=np.array(model.fallback, np.int64).astype(np.uint32),  # -1 becomes 2**32 - 1
            unknown=model.unknown,
            fuse_unknown=model.fuse_unknown,
            whole_pieces=model.whole_pieces,
            longest_match=method == "longest_match",
            expansion=model.expansion or expansion_of_unused(model),
        )

    @property
    def shortcut(self) -> Callable[[str | bytes], Ids]:
        """The fastest function that encodes one text: uint32 [tokens]."""
        return lambda text: self.encode_batch([text]).ids

    def encode_batch(self, texts: Sequence[str | bytes], threads: int = 1, *, places: Places | None = None) -> Tokens:
        """Split texts and encode them, with ``threads`` in parallel.

        Raises:
            InputError, ValueError, TypeError: as :meth:`pyharness.bpe.TextSplitter.split_batch`.
        """
        pieces = None if self._splitter is None else self._splitter.split_batch(texts, threads)
        return self.encode_pieces(texts, pieces, threads, places=places)

    def encode_pieces(
        self, texts: Sequence[str | bytes], pieces: Pieces | None, threads: int = 1, *, places: Places | None = None
    ) -> Tokens:
        """Encode texts that were split elsewhere; without ``pieces``, each is one piece.

        Raises:
            ValueError: the pieces are not those of the texts; a text has lone surrogates; ``threads`` is out of range.
            TypeError: a text is neither ``str`` nor ``bytes``; an array has another dtype.
        """
        edges = None if pieces is None else (pieces.ends, pieces.offsets)
        if not self._dropout:
            return Tokens(*self._core.encode_batch(texts, edges, threads))
        if places is None:
            places = Places(np.arange(len(texts), dtype=np.uint64), np.zeros(len(texts), np.uint64))
        drawn = self._dropout, self._seed, places.documents, places.positions
        return Tokens(*self._core.sample_batch(texts, edges, *drawn, threads))


class TextEncoder:
    """Encoder that splits texts, looks up pieces in a cache and merges those that it lacks.

    Without ``whole_pieces`` and ``expansion`` the ids are those of :class:`pyharness.bpe.BpeEncoder` over the pieces of
    :class:`pyharness.bpe.TextSplitter`. Texts may be any bytes that the splitter takes. The ids depend neither on
    threads nor on batches nor on earlier texts. Several threads may use one instance at once; they share its cache,
    which stays warm between calls.

    >>> trained = train(WeightedPieces.of_bytes({b"hug": 5, b"pug": 3}), 259)
    >>> encoder = TextEncoder(model_of_training(trained, "gpt2").merges, "gpt2")
    >>> encoder.encode("hug a pug").tolist()
    [257, 32, 97, 32, 258]
    >>> tokens = encoder.encode_batch(["hugs", "pug"], threads=2)
    >>> tokens.ids.tolist(), tokens.offsets.tolist()
    ([257, 115, 258], [0, 2, 3])

    Args:
        model: a byte-level model: its base symbols are its atomic ids of one byte. Bytes without an id are left out.
            The arrays are kept and must not be changed meanwhile.
        pattern: a splitter, or an argument of :class:`pyharness.bpe.TextSplitter`; ``None``: texts always come in
            pieces, by :meth:`encode_pieces`.
        whole_pieces: a piece that is a token is that token, whatever the rules say (``ignore_merges`` of
            tokenizer.json; tiktoken always does so).
        expansion: ids and offsets of the output for each id of the model (see
            :meth:`pyharness.bpe.TrainedBpe.demolition`); ``None``: the id itself.
        cache_bytes: limit of the cache; it starts small and grows with new pieces.

    Raises:
        InputError: the pattern is unknown or does not compile, or ``cache_bytes`` is negative.
        ValueError: the model's arrays do not fit each other, or an id is out of range.
        TypeError: an array has another dtype.

    Source: docs/algorithms.md "Byte-pair encoding".
    """

    def __init__(
        self,
        model: MergeModel,
        pattern: str | TextSplitter | None,
        *,
        whole_pieces: bool = False,
        expansion: tuple[Ids, Offsets] | None = None,
        cache_bytes: int = 64 << 20,
    ) -> None:
        if cache_bytes < 0:
            raise InputError(f"cache_bytes is {cache_bytes}; it must be at least 0")
        self.splitter = TextSplitter(pattern) if isinstance(pattern, str) else pattern
        rules = None if self.splitter is None else self.splitter.native
        # Without a splitter the core itself refuses texts.
        self._splits = self.splitter if rules is None else None
        self._encoder = _core.TextEncoder(model, rules, whole_pieces, expansion, cache_bytes)

    @property
    def cached_bytes(self) -> int:
        """Present size of the cache's tables; a little memory is taken even with ``cache_bytes=0``."""
        return self._encoder.cached_bytes()

    def encode(self, text: str | bytes) -> Ids:
        """Encode one text: uint32 [tokens].

        Raises:
            InputError, ValueError, TypeError: as :meth:`pyharness.bpe.TextSplitter.split_batch`.
            ValueError: there is no splitter.
        """
        if self._splits is not None:
            return self.encode_batch([text]).ids
        with native_errors():
            return self._encoder.encode(text)

    @property
    def shortcut(self) -> Callable[[str | bytes], Ids]:
        """The fastest function that does what :meth:`encode` does: it saves a tenth of the time of a short text."""
        never_fails = self.splitter is not None and self.splitter.rules  # hand-written rules
        return self._encoder.encode if never_fails else self.encode

    def encode_batch(self, texts: Sequence[str | bytes], threads: int = 1, *, places: Places | None = None) -> Tokens:
        """Encode texts, with ``threads`` in parallel.

        Raises:
            InputError, ValueError, TypeError: as :meth:`pyharness.bpe.TextSplitter.split_batch`.
            ValueError: there is no splitter.
        """
        del places  # there are no random draws
        if self._splits is not None:
            return self.encode_pieces(texts, self._splits.split_batch(texts, threads), threads)
        with native_errors():
            return Tokens(*self._encoder.encode_batch(texts, threads))

    def encode_pieces(
        self, texts: Sequence[str | bytes], pieces: Pieces, threads: int = 1, *, places: Places | None = None
    ) -> Tokens:
        """Encode texts that were split elsewhere.

        Raises:
            ValueError: the pieces are not those of the texts; a text has lone surrogates; ``threads`` is out of range.
            TypeError: a text is neither ``str`` nor ``bytes``; an array has another dtype.
        """
        del places
        return Tokens(*self._encoder.encode_pieces(texts, pieces.ends, pieces.offsets, threads))

"""Texts to ids for byte-level BPE: the fast path of the native core."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyharness import _core
from pyharness.bpe.encoding.model_encoder import Places
from pyharness.bpe.splitting.text_splitter import Pieces, TextSplitter, native_errors
from pyharness.types import Ids, InputError, MergeModel, Offsets, Tokens


class TextEncoder:
    """Splits texts, looks the pieces up in a cache and merges those that it lacks.

    The ids are those of :class:`pyharness.bpe.BpeEncoder` over the pieces of :class:`pyharness.bpe.TextSplitter`, for
    any bytes: bytes that are not UTF-8 too. They depend neither on threads nor on batches nor on earlier texts.
    One instance may be used by several threads at once; they share its cache, which stays warm between calls.

    >>> trained = train(WeightedPieces.of_bytes({b"hug": 5, b"pug": 3}), 259)
    >>> encoder = TextEncoder(model_of_training(trained, "gpt2").merges, "gpt2")
    >>> encoder.encode("hug a pug").tolist()
    [257, 32, 97, 32, 258]
    >>> tokens = encoder.encode_batch(["hugs", "pug"], threads=2)
    >>> tokens.ids.tolist(), tokens.offsets.tolist()
    ([257, 115, 258], [0, 2, 3])

    Args:
        model: a byte-level model: its base symbols are its atomic ids of one byte. Bytes that have none are left out.
            The arrays are kept and must not be changed meanwhile.
        pattern: a splitter, or what :class:`pyharness.bpe.TextSplitter` takes for one; ``None``: texts always come in
            pieces, by :meth:`encode_pieces`.
        whole_pieces: a piece that is a token is that token, whatever the rules say (``ignore_merges`` of
            tokenizer.json; tiktoken always does so).
        expansion: ids and offsets of what stands for each id of the model in the output (see
            :meth:`pyharness.bpe.TrainedBpe.demolition`); ``None``: itself.
        cache_bytes: what the cache may take; it starts small and grows with the pieces met.

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
        """What the tables of the cache take now; a little memory is taken even with ``cache_bytes=0``."""
        return self._encoder.cached_bytes()

    def encode(self, text: str | bytes) -> Ids:
        """Encode one text: uint32 [tokens].

        Raises:
            InputError, ValueError, TypeError: as :meth:`pyharness.bpe.TextSplitter.split_batch`.
        """
        if self._splits is not None:
            return self.encode_batch([text]).ids
        with native_errors():
            return self._encoder.encode(text)

    @property
    def shortcut(self) -> Callable[[str | bytes], Ids]:
        """The quickest function that does what :meth:`encode` does: it saves a tenth of the time of a short text."""
        never_fails = self.splitter is not None and self.splitter.rules  # those written by hand
        return self._encoder.encode if never_fails else self.encode

    def encode_batch(self, texts: Sequence[str | bytes], threads: int = 1, *, places: Places | None = None) -> Tokens:
        """Encode texts, which ``threads`` share.

        Raises:
            InputError, ValueError, TypeError: as :meth:`pyharness.bpe.TextSplitter.split_batch`.
        """
        del places  # nothing is drawn
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

"""A BPE model as a tokenizer: text to ids and back, with the results of the library that the model comes from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyharness.bpe.encoding import decoder
from pyharness.bpe.encoding.added_tokens import Specials, all_joined, chosen, joined, refuse
from pyharness.bpe.encoding.decoder import Decoder
from pyharness.bpe.encoding.encoders import Method
from pyharness.bpe.encoding.pipeline import Pipeline
from pyharness.bpe.encoding.safe_cuts import SafeCuts
from pyharness.bpe.encoding.stages import check
from pyharness.bpe.formats.own_file import load_bytes, save_bytes
from pyharness.bpe.model.model import BpeModel
from pyharness.bpe.model.token_lookup import TokenLookup
from pyharness.types import Ids, RoundTrip, Tokens, Vocabulary
from pyharness.vocabularies.stages import Stages


class BpeTokenizer:
    """Tokenizer that encodes and decodes with a :class:`pyharness.bpe.BpeModel`.

    The ids do not depend on threads, batches or earlier texts. Several threads may use one instance. It pickles as the
    bytes of its model file, which are checked like any file on loading. A copy is the tokenizer itself, because it is
    immutable.

    >>> from pyharness.bpe import WeightedPieces, model_of_training, train
    >>> trained = train(WeightedPieces.of_bytes({b"hello": 9, b"hell": 5}), 259)
    >>> tokenizer = BpeTokenizer(model_of_training(trained, "gpt2", special=["<|end|>"]))
    >>> tokenizer.encode("hello<|end|>").tolist()  # special tokens are text
    [258, 111, 60, 124, 101, 110, 100, 124, 62]
    >>> tokenizer.encode("hello<|end|>", allowed_special={"<|end|>"}).tolist()
    [258, 111, 259]
    >>> tokenizer.encode("hello<|end|>", disallowed_special="all")
    Traceback (most recent call last):
    pyharness.types.InputError: text 0 spells the special token '<|end|>' at character 5, ...
    >>> ids, spans = tokenizer.encode_with_offsets("hello é")
    >>> ids.tolist(), spans.tolist()  # two tokens are part of é, and have its place
    ([258, 111, 32, 195, 169], [[0, 4], [4, 5], [5, 6], [6, 7], [6, 7]])
    >>> tokenizer.decode_with_offsets(ids)
    ('hello é', array([0, 4, 5, 6, 6]))
    >>> list(tokenizer.decode_stream(ids.tolist()))
    ['hell', 'o', ' ', 'é']
    >>> tokenizer.encode_single_token("hell"), tokenizer.decode_single_token_bytes(258)
    (258, b'hell')
    >>> tokenizer.id_to_token(32), tokenizer.token_to_id("<|end|>"), tokenizer.token_to_id("<|start|>")
    ('Ġ', 259, None)

    Args:
        model: what to run.
        method: ``merge`` is BPE. ``longest_match`` is another algorithm over the same vocabulary: from left to right,
            the longest token that continues each piece; rows that use it must say so.
        dropout: probability with which a candidate merge is discarded when it comes up (BPE-dropout, in SentencePiece's
            variant). It switches the shortcut for whole pieces off, as in ``tokenizers``.
        seed: of the random draws, a function of it, the number of the document and the position in it.

    Common options of the encoding methods:

    - ``allowed_special``: special tokens that are mapped to their ids where a text spells them, ``all`` for every one.
      The others are text. Of tokens that start at one position the longest counts.
    - ``disallowed_special``: special tokens that a text must not spell, ``all`` for those that are not allowed. The
      default is empty, unlike in ``tiktoken``: measurements are about text, whatever it spells.
    - Halves of surrogate pairs in a ``str`` are joined, and one without the other half is U+FFFD, as in ``tiktoken``.

    Raises:
        InputError: an option is out of range, the model cannot run with it, or ``tokenizers``, ``sentencepiece`` or
            ``regex`` refuses a stage of the model.
        ValueError: the model's arrays do not fit each other.

    Source: docs/algorithms.md "Byte-pair encoding", "BPE-dropout" and "Scaffold-BPE".
    """

    def __init__(self, model: BpeModel, *, method: Method = "merge", dropout: float = 0.0, seed: int = 0) -> None:
        check(model, method, dropout, seed)
        self.model = model
        self.id_limit = model.id_limit
        self.vocab_size = model.vocab_size
        self.round_trip: RoundTrip = model.round_trip
        self._options = {"method": method, "dropout": dropout, "seed": seed}
        self._special = model.special
        self._lookup = TokenLookup(model)
        self._decoder = Decoder(model, self._lookup)
        self._pipeline = Pipeline(model, method, dropout, seed)
        self.thread_safe = self._pipeline.is_native
        self.notes = (*model.notes, *self._pipeline.notes)
        if method == "longest_match":
            self.notes += ("greedy longest match over the vocabulary, not BPE",)
        if dropout:
            self.notes += (f"BPE-dropout with probability {dropout:g}, seed {seed}",)
        self._shortcut = None if self._pipeline.direct is None else self._pipeline.direct.shortcut

    def encode_batch(
        self,
        texts: Sequence[str | bytes],
        threads: int = 1,
        *,
        first_document: int = 0,
        allowed_special: Specials = (),
        disallowed_special: Specials = (),
    ) -> Tokens:
        """Encode documents. ``first_document`` is the number of the first one; only dropout uses it.

        Raises:
            InputError: bytes that are not UTF-8, where the model needs characters; a pattern ran out of time, or
                backtracks without end; a text spells a special token that is disallowed, or an option names an unknown
                one.
            InputError: ``first_document`` is not from 0 to 2^64 - 1, and there is dropout.
            ValueError: ``threads`` is out of range.
            TypeError: a text is neither ``str`` nor ``bytes``.
        """
        allowed: frozenset[str] = frozenset()
        if allowed_special or disallowed_special:
            allowed, disallowed = chosen(self._special, allowed_special, disallowed_special)
            texts = all_joined(texts)  # or else half pairs would hide from the search for tokens
            refuse(texts, disallowed)
        try:
            return self._pipeline.tokens(texts, threads, first_document, allowed)
        except UnicodeEncodeError:
            return self._pipeline.tokens(all_joined(texts), threads, first_document, allowed)

    def encode(self, text: str | bytes, *, allowed_special: Specials = (), disallowed_special: Specials = ()) -> Ids:
        """Encode one document.

        Raises:
            InputError, ValueError, TypeError: as :meth:`encode_batch`.
        """
        if self._shortcut is not None and not allowed_special and not disallowed_special:
            try:
                return self._shortcut(text)
            except UnicodeEncodeError:
                return self._shortcut(joined(text))
        return self.encode_batch([text], allowed_special=allowed_special, disallowed_special=disallowed_special).ids

    def encode_with_offsets(
        self, text: str | bytes, *, allowed_special: Specials = (), disallowed_special: Specials = ()
    ) -> tuple[Ids, NDArray[np.int64]]:
        """Encode one document, and return where its tokens are: int64 [tokens, 2], start and end of each.

        Positions are in characters of a ``str`` (its surrogate pairs joined) or bytes of ``bytes``. In a ``str``, a
        token with a part of a character spans all of it, as in ``tokenizers``. A space that the tokenizer put in front
        has no position.

        Raises:
            InputError, ValueError, TypeError: as :meth:`encode_batch`; the tokens do not spell the text, for example
                because the tokenizer normalises it.
        """
        text = joined(text)
        ids = self.encode(text, allowed_special=allowed_special, disallowed_special=disallowed_special)
        return ids, decoder.spans(self.model, text, ids)

    def safe_cuts(self, *, allowed_special: Specials = ()) -> SafeCuts | None:
        """Return where documents can be cut so that the ids of their parts are those of the whole; None: unknown.

        It is known for the patterns of ``SPLIT_PATTERNS`` but ``none``, without a normaliser or with normal form C. It
        is unknown with dropout, with fused unknown tokens, and with added tokens that depend on the characters next to
        them or, with normal form C, are normalised. Where it is known, a document of any size takes little memory.

        Raises:
            InputError: ``allowed_special`` names a text that is no special token.
        """
        allowed, _ = chosen(self._special, allowed_special, ())
        return self._pipeline.safe_cuts(allowed)

    def decode(self, ids: Ids) -> bytes:
        """Return the bytes of the text of one document's ids. An id in a gap of the vocabulary gives nothing.

        Raises:
            InputError: an id is not from 0 to below ``id_limit``, or ``tokenizers`` fails on the tokens.
        """
        return self._decoder.decode(ids)

    def decode_stream(self, ids: Iterable[int]) -> Iterator[str]:
        """Yield the text of one document's ids as they come, in pieces of whole characters.

        The concatenated pieces are the text of :meth:`decode`, with U+FFFD for invalid UTF-8.

        Raises:
            InputError: as :meth:`decode`, at the id in question; the decoder of the file changes text that was yielded.
        """
        return self._decoder.stream(ids)

    def decode_parts(self, parts: Iterable[Ids]) -> Iterator[bytes]:
        """Yield the bytes of one document's text, whose ids come in parts: together, those of :meth:`decode`.

        Memory holds one part at a time, unless the file has a decoder of its own, which needs all.

        Raises:
            InputError: as :meth:`decode`.
        """
        return self._decoder.parts(parts)

    def decode_with_offsets(self, ids: Ids) -> tuple[str, NDArray[np.int64]]:
        """Return the text of one document's ids, and int64 [tokens]: the first character that has bytes of each token.

        Raises:
            InputError: an id is not from 0 to below ``id_limit``; the bytes are no text; the file has a decoder of its
                own.
        """
        return self._decoder.with_offsets(ids)

    def encode_single_token(self, text: str | bytes) -> int:
        """Return the id of the token that is exactly this text, special ones included.

        Raises:
            InputError: there is no such token.
        """
        return self._lookup.id_of_bytes(text.encode(errors="surrogatepass") if isinstance(text, str) else text)

    def decode_single_token_bytes(self, token: int) -> bytes:
        """Return the bytes of a token, as they are in the middle of a text.

        Exceptions are files with a decoder of their own, and SentencePiece's control and unknown pieces: decoding may
        write them differently.

        Raises:
            InputError: no token has the id.
        """
        return self._lookup.bytes_of(token)

    def token_to_id(self, token: str) -> int | None:
        """Return the id of a token as its file writes it (``Ġthe``, ``▁the``); None if there is no such token."""
        return self._lookup.id_of_string(token)

    def id_to_token(self, token: int) -> str | None:
        """Return a token as its file writes it (``Ġthe``, ``▁the``); None if no token has the id."""
        return self._lookup.string_of(token)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), save_bytes(self.model), self._options)

    def __copy__(self) -> BpeTokenizer:
        return self

    def __deepcopy__(self, memo: Mapping[int, Any]) -> BpeTokenizer:
        return self

    def vocabulary(self) -> Vocabulary:
        """Return the bytes and kind of every id."""
        return self.model.vocabulary

    def added_tokens(self) -> Mapping[str, int]:
        """Return the added tokens that are not special."""
        return {token.content: token.id for token in self.model.added if not token.special}

    def normalize(self, text: str) -> str:
        """Return the text as the model receives it, in text form: the best that decoding can return."""
        text = joined(text)
        return text if self.round_trip == "exact" else self._decoder.text_form(self._pipeline.strings(text))

    def stages(self) -> Stages:
        """Return the stages before the model, each by itself."""
        return self._pipeline.stages()


def _restored(kind: type[BpeTokenizer], data: bytes, options: Mapping[str, Any]) -> BpeTokenizer:
    """Rebuild the tokenizer of a pickle."""
    return kind(load_bytes(data, "the pickled tokenizer"), **options)

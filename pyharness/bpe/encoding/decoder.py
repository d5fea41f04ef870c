"""Decoding of ids to text, by the rules of the model's file."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyharness import _core
from pyharness.bpe.model.model import BpeModel
from pyharness.bpe.model.token_lookup import TokenLookup
from pyharness.types import Ids, InputError, Offsets, TokenKind, Vocabulary
from pyharness.vocabularies.files.byte_alphabet import alphabet_bytes
from pyharness.vocabularies.huggingface.file import flat_stages
from pyharness.vocabularies.huggingface.library_stages import library_stage
from pyharness.vocabularies.sentencepiece_file import SentencePieceNormalizer

REPLACEMENT = "\ufffd"
_DROPPED, _AGAIN = 1, 2
UNKNOWN_SURFACE = " \u2047 ".encode()  # SentencePiece's text for the unknown piece


def spans(model: BpeModel, text: str | bytes, ids: Ids) -> NDArray[np.int64]:
    """Return start and end of each token of a text, int64 [tokens, 2]; in characters of ``str``, in bytes of ``bytes``.

    Raises:
        InputError: the tokens do not spell the text.
    """
    data = text.encode() if isinstance(text, str) else text
    vocabulary = model.vocabulary
    lengths = np.diff(vocabulary.offsets)[ids]
    spelled = _core.decode(vocabulary.data, vocabulary.offsets, ids)
    if model.drop_space and spelled[:1] == b" ":
        spelled = spelled[1:]
        lengths[np.argmax(lengths > 0)] -= 1
    if spelled != data:
        raise InputError(_differs(data, spelled))
    ends = np.cumsum(lengths)
    starts = ends - lengths
    if isinstance(text, bytes):
        return np.column_stack((starts, ends))
    return _in_characters(data, starts, ends)


def starts_in_text(data: bytes, lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the first character that has bytes of each token of a text: int64 [tokens]."""
    ends = np.cumsum(lengths)
    return _in_characters(data, ends - lengths, ends)[:, 0]


def _in_characters(data: bytes, starts: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.int64]:
    """Convert spans of bytes to the characters they touch. An empty span precedes the character that contains it."""
    begun = np.zeros(len(data) + 2, np.int64)  # characters that begin before each byte, as if one followed the text
    np.cumsum((np.frombuffer(data, np.uint8) & 0xC0) != 0x80, out=begun[1:-1])
    begun[-1] = begun[-2] + 1
    first = begun[starts + 1] - 1
    return np.column_stack((first, np.where(ends > starts, begun[ends], first)))


def _differs(data: bytes, spelled: bytes) -> str:
    same = next((at for at, pair in enumerate(zip(data, spelled, strict=False)) if pair[0] != pair[1]), None)
    at = min(len(data), len(spelled)) if same is None else same
    return (
        f"the tokens do not spell the text from byte {at} on ({data[at : at + 20]!r} became "
        f"{spelled[at : at + 20]!r}): the tokenizer changes the text, so places in it are unknown"
    )


def text_of_bytes(tokens: Iterable[bytes]) -> Iterator[str]:
    """Return the text of concatenated tokens in pieces of whole characters. Invalid UTF-8 becomes U+FFFD."""
    return codecs.iterdecode(tokens, "utf-8", "replace")


def text_of_windows(
    ids: Iterable[int], decode: Callable[[list[int]], str], goes_on: Callable[[int], bool]
) -> Iterator[str]:
    """Yield the text of ids that only a decoder of ``tokenizers`` can join, which depends on neighbours.

    Each step decodes the ids of the text that was yielded last and those after it. It yields what is new, like
    ``DecodeStream`` of the library. But it never stops after an id that ``goes_on``: the text of that id depends on
    what follows.

    Raises:
        InputError: the decoder changes text that was already yielded.
    """
    window: list[int] = []
    yielded, length = "", 0  # text of the first `length` ids of the window
    for token in ids:
        window.append(token)
        if goes_on(token):
            continue
        text = decode(window)
        if len(text) > len(yielded) and not text.endswith(REPLACEMENT):
            yield _check_appended(yielded, text)
            del window[:length]
            yielded, length = decode(window), len(window)
    rest = decode(window) if window else ""
    if len(rest) > len(yielded):
        yield _check_appended(yielded, rest)


def _check_appended(known: str, text: str) -> str:
    if not text.startswith(known):
        raise InputError(
            f"the decoder of the file makes {text[-40:]!r} of {known[-40:]!r} when more tokens come: "
            "decode all ids at once"
        )
    return text[len(known) :]


def checked(ids: Ids | Sequence[int], limit: int) -> Ids:
    """Return ids as uint32.

    Raises:
        InputError: an id is not from 0 to below ``limit``.
    """
    numbers = np.asarray(ids)
    strangers = (numbers < 0) | (numbers >= limit)
    if strangers.any():
        raise InputError(f"id {numbers[strangers][0]} is not in the vocabulary (ids are from 0 to {limit - 1:,})")
    return np.ascontiguousarray(numbers, np.uint32)


class Decoder:
    """Decoder of a model's output ids. Ids that split a character give its bytes, except through ``tokenizers``."""

    def __init__(self, model: BpeModel, lookup: TokenLookup) -> None:
        self._model, self._lookup = model, lookup

    def decode(self, ids: Ids) -> bytes:
        """Return the bytes of the text of one document's ids.

        Raises:
            InputError: an id is not from 0 to below the model's ``id_limit``, or ``tokenizers`` fails on the tokens.
        """
        if self._model.decoder is not None:
            return self._library_text(checked(ids, self._model.id_limit).tolist()).encode()
        numbers = self._numbers(ids)
        return self._spelled(numbers)[self._count_dropped(numbers)[0] :]

    def _numbers(self, ids: Ids | Sequence[int]) -> Ids:
        """Return ids as uint32; ids that are so already are checked where they are looked up."""
        plain = isinstance(ids, np.ndarray) and ids.dtype == np.uint32  # a text of one line takes a third of the time
        return np.ascontiguousarray(ids) if plain else checked(ids, self._model.id_limit)

    def _spelled(self, numbers: Ids) -> bytes:
        try:
            return _core.decode(*self._bytes, numbers)
        except ValueError:
            checked(numbers, self._model.id_limit)
            raise

    def parts(self, parts: Iterable[Ids]) -> Iterator[bytes]:
        """Yield the bytes of one document, whose ids come in parts.

        Raises:
            InputError: as :meth:`decode`.
        """
        if self._model.decoder is not None:
            yield self.decode(np.concatenate([np.zeros(0, np.uint32), *parts]))
            return
        at_start = True
        for part in parts:
            numbers = self._numbers(part)
            spelled = self._spelled(numbers)
            dropped, at_start = self._count_dropped(numbers) if at_start else (0, False)
            yield spelled[dropped:]

    def with_offsets(self, ids: Ids) -> tuple[str, NDArray[np.int64]]:
        """Return the text of one document's ids, and the first character that has bytes of each token.

        Raises:
            InputError: as :meth:`decode`; the bytes are no text; the file has a decoder of its own.
        """
        numbers = self._numbers(ids)
        if self._model.decoder is not None:
            raise InputError("the decoder of this file changes tokens when it joins them: their places are lost")
        data, lengths = self._spelled(numbers), np.diff(self._bytes[1])[numbers]
        dropped, _ = self._count_dropped(numbers)
        for _ in range(dropped):
            lengths[np.argmax(lengths > 0)] -= 1
        data = data[dropped:]
        try:
            return data.decode(), starts_in_text(data, lengths)
        except UnicodeDecodeError as error:
            raise InputError(f"the ids give bytes that are not text: {error.reason} at byte {error.start}") from None

    def stream(self, ids: Iterable[int]) -> Iterator[str]:
        """Yield the text of one document's ids as they come, in pieces of whole characters.

        Raises:
            InputError: as :meth:`decode`, at the id in question; or as :func:`text_of_windows`.
        """
        numbers = (int(checked([index(token)], self._model.id_limit)[0]) for token in ids)
        if self._model.decoder is not None:
            return text_of_windows(numbers, self._library_text, self._goes_on)
        return text_of_bytes(self._surfaces(numbers))

    def _surfaces(self, ids: Iterable[int]) -> Iterator[bytes]:
        """Yield the bytes of each token, without the spaces that a text must not start with."""
        data, offsets = self._bytes
        at_start = self._model.drop_space
        for number in ids:
            start = int(self._starts[number]) if at_start else 0
            at_start = bool(start & _AGAIN)
            yield data[offsets[number] + (start & _DROPPED) : offsets[number + 1]].tobytes()

    def _count_dropped(self, ids: Ids) -> tuple[int, bool]:
        """Return the number of spaces that a text loses at its start, and whether later ids may lose some, too."""
        total = 0
        for number in ids if self._model.drop_space else ():
            start = int(self._starts[number])
            total += start & _DROPPED
            if not start & _AGAIN:
                return total, False
        return total, self._model.drop_space

    @cached_property
    def _starts(self) -> NDArray[np.uint8]:
        """Return uint8 [ids]: whether a token loses its space while there is no text, and whether the next may, too.

        Source: ``DecodeSentencePiece`` in sentencepiece ``src/sentencepiece_processor.cc``; it takes one from every
        token as long as there is no text, if the model removes extra white space.
        """
        data, offsets = self._bytes
        lengths, kinds, normalizer = np.diff(offsets), self._model.vocabulary.kinds, self._model.normalizer
        dropped = np.append(data, 0)[offsets[:-1]] == ord(" ")
        dropped &= lengths > 0
        again = lengths == 0
        if isinstance(normalizer, SentencePieceNormalizer):
            dropped &= ~np.isin(kinds, (TokenKind.UNKNOWN, TokenKind.BYTE_FALLBACK))
            again |= dropped & (lengths == 1) & normalizer.remove_extra_whitespaces
        starts: NDArray[np.uint8] = (dropped * _DROPPED + again * _AGAIN).astype(np.uint8)
        return starts

    def _goes_on(self, number: int) -> bool:
        """Return whether the library's text for an id depends on later ids: one wrong byte spoils adjacent bytes."""
        return self._model.kind(number) is TokenKind.BYTE_FALLBACK

    def _library_text(self, ids: Sequence[int]) -> str:
        kinds = self._model.vocabulary.kinds
        strings = [self._strings[number] for number in ids if kinds[number] != TokenKind.ABSENT]
        return " ".join(strings) if self._model.decoder == "spaces" else _decode(self._library_decoder, strings)

    def text_form(self, pieces: Sequence[str]) -> str:
        """Return the text of pieces as it was before the model, if the model kept each whole."""
        if self._model.decoder == "spaces":
            return " ".join(pieces)
        if self._model.decoder is not None:
            # Byte fallback would take a text that reads <0x41> for a byte.
            return "".join(pieces) if self._pieces_decoder is None else _decode(self._pieces_decoder, pieces)
        if self._model.in_letters:
            return b"".join(map(alphabet_bytes, pieces)).decode(errors="replace")
        text = "".join(pieces)
        if self._model.symbols == "characters":
            text = text.replace("▁", " ")
        if not self._model.drop_space:
            return text
        normalizer = self._model.normalizer
        several = isinstance(normalizer, SentencePieceNormalizer) and normalizer.remove_extra_whitespaces
        return text.lstrip(" ") if several else text.removeprefix(" ")

    @cached_property
    def _bytes(self) -> tuple[NDArray[np.uint8], Offsets]:
        """Return the bytes that decoding gives for each token, and their offsets."""
        vocabulary = self._model.vocabulary
        if isinstance(self._model.normalizer, SentencePieceNormalizer):
            surfaces = {TokenKind.SPECIAL: b"", TokenKind.UNKNOWN: UNKNOWN_SURFACE}
            kinds = dict(enumerate(map(TokenKind, vocabulary.kinds.tolist())))
            tokens = {token: surfaces.get(kind, vocabulary[token]) for token, kind in kinds.items()}
            vocabulary = Vocabulary.from_tokens(tokens, kinds)
        return vocabulary.data, vocabulary.offsets

    @cached_property
    def _library_decoder(self) -> Any:
        return library_stage("decoder", self._model.decoder)

    @cached_property
    def _pieces_decoder(self) -> Any:
        steps = [step for step in flat_stages(self._model.decoder) if step["type"] != "ByteFallback"]
        return library_stage("decoder", {"type": "Sequence", "decoders": steps}) if steps else None

    @cached_property
    def _strings(self) -> list[str]:
        """Return the tokens as their file writes them."""
        return [self._lookup.string(token) for token in range(self._model.id_limit)]


def _decode(decoder: Any, tokens: Sequence[str]) -> str:
    try:
        return str(decoder.decode(list(tokens)))
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # pyo3's PanicException is not an Exception; Strip panics on too short a token
        raise InputError(f"the decoder {str(decoder)[:200]} of tokenizers failed: {str(error)[:200]}") from None

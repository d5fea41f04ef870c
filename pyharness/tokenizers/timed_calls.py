"""What is timed: a library's own calls where a tokenizer says them, its ``encode_batch`` and ``decode`` otherwise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from pyharness.system.threads import require_one
from pyharness.types import InputError, Tokenizer, Tokens


@dataclass(frozen=True, slots=True)
class Timed:
    """A call to time, and how to read its result: ``timed.result(timed.call())`` is verified.

    ``call`` makes the library's own call, or loops over it, and does little else. ``result`` turns the returned value
    into ``Tokens`` (encoding) or into the joined bytes of all documents (decoding). It runs outside the timer.
    """

    call: Callable[[], object]
    result: Callable[[Any], Tokens | bytes]


@runtime_checkable
class HasTimedCall(Protocol):
    """Ability: prepare the library's own input, and return the one call to time."""

    def timed_call(self, texts: Sequence[str], threads: int = 1) -> Timed:
        """Return the library's encode call for a batch."""


@runtime_checkable
class HasTimedDecode(Protocol):
    """Ability: the same for decoding."""

    def timed_decode(self, tokens: Tokens, threads: int = 1) -> Timed:
        """Return the library's decode call for a batch."""


@runtime_checkable
class HasTimedSingle(Protocol):
    """Ability: the same for one text, as a server would encode it."""

    def timed_single(self, text: str) -> Timed:
        """Return the library's encode call for one text."""


def timed_call(tokenizer: Tokenizer, texts: Sequence[str], threads: int = 1) -> Timed:
    """Return the encode call to time; without ``HasTimedCall`` it is ``encode_batch``, conversions included.

    Raises:
        InputError: ``threads`` is less than 1.
        Unsupported: the library cannot be timed on that many threads in this process.
    """
    _at_least_one(threads)
    if isinstance(tokenizer, HasTimedCall):
        return tokenizer.timed_call(texts, threads)
    return Timed(lambda: tokenizer.encode_batch(texts, threads), _same)


def timed_decode(tokenizer: Tokenizer, tokens: Tokens, threads: int = 1) -> Timed:
    """Return the decode call to time, on ids in the library's own layout.

    Raises:
        InputError: ``threads`` is less than 1.
        Unsupported: the library cannot be timed on that many threads in this process.
    """
    _at_least_one(threads)
    if isinstance(tokenizer, HasTimedDecode):
        return tokenizer.timed_decode(tokens, threads)
    require_one(type(tokenizer).__name__, "decoding", threads)
    documents = [tokens.document(index) for index in range(len(tokens))]
    return Timed(lambda: [tokenizer.decode(document) for document in documents], b"".join)


def timed_single(tokenizer: Tokenizer, text: str) -> Timed:
    """Return the call to time for one text, on one thread.

    Raises:
        Unsupported: the library's pool already has more threads in this process.
    """
    if isinstance(tokenizer, HasTimedSingle):
        return tokenizer.timed_single(text)
    texts = [text]
    return Timed(lambda: tokenizer.encode_batch(texts, 1), _same)


def _at_least_one(threads: int) -> None:
    if threads < 1:
        raise InputError(f"cannot run on {threads} threads")


def _same(tokens: Tokens) -> Tokens:
    return tokens

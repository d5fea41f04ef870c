"""Streams: ways to decode ids one by one, and what is wrong with the text that they give.

A stream takes an iterator of ids and yields text. The caller sees when an id is asked for, so it knows how many ids
each delta waited for and how long each step took.
"""

from __future__ import annotations

import codecs
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from pyharness.bpe.encoding.decoder import REPLACEMENT
from pyharness.features.serving.calls import RowFile, splintr_of
from pyharness.tokenizers.families.huggingface import HuggingFaceTokenizer
from pyharness.types import HasVocabulary, Tokenizer, TokenizerSpec, Unsupported

Stream: TypeAlias = Callable[[Iterator[int]], Iterator[str]]
Fault: TypeAlias = Literal["", "other text", "early U+FFFD", "end is missing", "fails"]


@runtime_checkable
class HasStream(Protocol):
    """Ability: a stream of its own, as our encoder has."""

    def decode_stream(self, ids: Iterator[int]) -> Iterator[str]:
        """Yield the text of ids as they come."""


def streams(row: TokenizerSpec, tokenizer: Tokenizer) -> Mapping[str, Stream]:
    """Return the streams of a row by name: its library's, those of its bytes, and the window of most servers."""
    named: dict[str, Stream] = {}
    if (own := _of_library(row, tokenizer)) is not None:
        named["library"] = own
    if isinstance(tokenizer, HasVocabulary) and tokenizer.round_trip == "exact":
        named["bytes"] = incremental(tokenizer.vocabulary().strings())
    named["window"] = window(lambda ids: whole(tokenizer, ids))
    return named


def whole(tokenizer: Tokenizer, ids: Sequence[int]) -> str:
    """Return the text of all ids at once, with U+FFFD for invalid UTF-8."""
    return tokenizer.decode(np.array(ids, np.uint32)).decode("utf-8", "replace")


def _of_library(row: TokenizerSpec, tokenizer: Tokenizer) -> Stream | None:
    if isinstance(tokenizer, HasStream):
        return tokenizer.decode_stream
    if isinstance(tokenizer, HuggingFaceTokenizer):
        return _huggingface(tokenizer.library)
    if row.library == "splintr-rs":
        try:
            return _splintr(splintr_of(RowFile.of(row)))
        except Unsupported:
            return None
    return None


def _huggingface(library: Any) -> Stream:
    from tokenizers.decoders import DecodeStream

    def deltas(ids: Iterator[int]) -> Iterator[str]:
        stream = DecodeStream(skip_special_tokens=False)
        for token in ids:
            if delta := stream.step(library, token):
                yield delta

    return deltas


def _splintr(library: Any) -> Stream:
    def deltas(ids: Iterator[int]) -> Iterator[str]:
        stream = library.streaming_decoder_with_special()
        for token in ids:
            if delta := stream.add_token(token):
                yield delta
        if rest := stream.flush():
            yield rest

    return deltas


def incremental(strings: Sequence[bytes]) -> Stream:
    """Return the stream that puts the bytes of tokens into an incremental UTF-8 decoder.

    >>> list(incremental([b"caf", b"\\xc3", b"\\xa9"])(iter([0, 1, 2])))
    ['caf', 'é']
    """

    def deltas(ids: Iterator[int]) -> Iterator[str]:
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        for token in ids:
            if delta := decoder.decode(strings[token]):
                yield delta
        if rest := decoder.decode(b"", final=True):
            yield rest

    return deltas


def window(decode: Callable[[Sequence[int]], str]) -> Stream:
    """Return the stream that most servers use: decode the last ids again, with those before them as context.

    Text that ends in U+FFFD waits for more ids. At the end, all that waits is given.
    """

    def deltas(ids: Iterator[int]) -> Iterator[str]:
        taken: list[int] = []
        prefix = read = 0
        delta = ""
        for token in ids:
            taken.append(token)
            before, now = decode(taken[prefix:read]), decode(taken[prefix:])
            delta = now[len(before) :]
            if delta and not now.endswith(REPLACEMENT):
                yield delta
                prefix, read, delta = read, len(taken), ""
        if delta:
            yield delta

    return deltas


# ----------------------------------------------------------------------------------------------------- one sequence


@dataclass(frozen=True, slots=True)
class StreamedIds:
    """What a stream made of one sequence of ids.

    ``held`` int64 [ids]: ids that waited for text after each step, its own among them. ``steps`` int64 [ids]:
    nanoseconds of each step.
    """

    text: str
    held: NDArray[np.int64]
    steps: NDArray[np.int64]
    error: str = ""

    def fault(self, expected: str) -> Fault:
        """Return what is wrong, given the text of all ids at once."""
        if self.error:
            return "fails"
        if self.text == expected:
            return ""
        if self.text.count(REPLACEMENT) > expected.count(REPLACEMENT):
            return "early U+FFFD"
        if expected.startswith(self.text) and expected.endswith(REPLACEMENT):
            return "end is missing"  # the last ids end inside a character, for which the stream waited to the end
        return "other text"


def stream(method: Stream, ids: Sequence[int], most_seconds: float = float("inf")) -> StreamedIds:
    """Decode ids one by one; stop asking after ``most_seconds``."""
    given: list[int] = []  # ids that were asked for before each delta
    asked: list[int] = []  # nanoseconds
    parts: list[str] = []
    error = ""
    try:
        for delta in method(_watched(ids, asked, most_seconds)):
            parts.append(delta)
            given.append(len(asked))
    except (KeyboardInterrupt, SystemExit, MemoryError):
        raise
    except BaseException as raised:  # a panic in Rust is no Exception
        error = f"{type(raised).__name__}: {str(raised)[:200]}"
    asked.append(time.perf_counter_ns())
    return StreamedIds("".join(parts), _held(len(asked) - 1, given), np.diff(np.array(asked, np.int64)), error)


def _watched(ids: Sequence[int], asked: list[int], most_seconds: float) -> Iterator[int]:
    clock, start = time.perf_counter_ns, time.perf_counter_ns()
    for token in ids:
        asked.append(clock())
        if asked[-1] - start > most_seconds * 1e9:
            asked.pop()
            return
        yield token


def _held(steps: int, given: Sequence[int]) -> NDArray[np.int64]:
    """Return how many ids wait after each step: 0 where text came."""
    numbers = np.arange(1, steps + 1)
    last = np.zeros(steps, np.int64)
    came = np.array([one for one in given if one], np.int64)  # 0: text before any id
    last[came - 1] = came
    latest: NDArray[np.int64] = np.maximum.accumulate(last)
    return numbers - latest


def shortest(
    method: Stream, ids: Sequence[int], expected: Callable[[Sequence[int]], str], tries: int = 400
) -> list[int]:
    """Return a shorter sequence with the same fault, from which no single id can go, as far as ``tries`` allow."""
    kept = list(ids)
    wanted = stream(method, kept).fault(expected(kept))
    size = max(len(kept) // 2, 1)
    while size and tries:
        start = 0
        while start < len(kept) and tries:
            shorter = kept[:start] + kept[start + size :]
            tries -= 1
            if shorter and stream(method, shorter).fault(expected(shorter)) == wanted:
                kept = shorter
            else:
                start += size
        size //= 2
    return kept

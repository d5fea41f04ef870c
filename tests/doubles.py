"""Tokenizers that behave badly, for the tests of the runner: a plug-in like any other."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

from pyharness.tokenizers.raw_bytes import RawBytes
from pyharness.types import Ids, Tokenizer, TokenizerSpec, Tokens


class Wrong(RawBytes):
    """Gives one wrong id, far into a text of Python code."""

    def encode_batch(self, texts: Sequence[str], threads: int = 1) -> Tokens:
        tokens = super().encode_batch(texts, threads)
        ids = tokens.ids.copy()
        for start, stop in zip(tokens.offsets[:-1], tokens.offsets[1:], strict=True):
            if stop - start > 40:
                ids[start + 40] = (ids[start + 40] + 1) % 256
        return Tokens(ids, tokens.offsets)

    def decode(self, ids: Ids) -> bytes:
        fixed = ids.copy()
        if len(fixed) > 40:
            fixed[40] = (int(fixed[40]) - 1) % 256
        return super().decode(fixed)


class Forgetful(RawBytes):
    """Claims to be exact and loses capital letters."""

    def decode(self, ids: Ids) -> bytes:
        return super().decode(ids).lower()


class Aborting(RawBytes):
    """Takes the process down."""

    def encode_batch(self, texts: Sequence[str], threads: int = 1) -> Tokens:
        os.abort()


class Hanging(RawBytes):
    """Never comes back."""

    def encode_batch(self, texts: Sequence[str], threads: int = 1) -> Tokens:
        time.sleep(3600)
        raise AssertionError


class Panic(BaseException):
    """What a panic in Rust looks like from Python."""


class Panicking(RawBytes):
    """Raises what ``except Exception`` does not catch."""

    def encode_batch(self, texts: Sequence[str], threads: int = 1) -> Tokens:
        raise Panic("index out of bounds")


class Chatty(RawBytes):
    """Prints to standard output, which is the worker's protocol."""

    def encode_batch(self, texts: Sequence[str], threads: int = 1) -> Tokens:
        print("hello from a library", flush=True)
        os.write(1, b"and from its C++ part\n")
        return super().encode_batch(texts, threads)


class Slow(RawBytes):
    """Slow enough to be interrupted; says in a file that it has begun."""

    def encode_batch(self, texts: Sequence[str], threads: int = 1) -> Tokens:
        if marker := os.environ.get("DOUBLES_MARKER"):
            Path(marker).touch()
        time.sleep(float(os.environ.get("DOUBLES_SECONDS", "0.2")))
        return super().encode_batch(texts, threads)


def _spec(name: str, kind: type[RawBytes], vocabulary: str | None = None, reference: bool = False) -> TokenizerSpec:
    def load(_: TokenizerSpec) -> Tokenizer:
        return kind()

    return TokenizerSpec(name, load, library="pyharness", vocabulary=vocabulary, reference=reference)


TOKENIZERS = (
    _spec("home", RawBytes, "bytes-of-doubles", reference=True),
    _spec("same", RawBytes, "bytes-of-doubles"),
    _spec("wrong", Wrong, "bytes-of-doubles"),
    _spec("forgetful", Forgetful),
    _spec("aborting", Aborting),
    _spec("hanging", Hanging),
    _spec("panicking", Panicking),
    _spec("chatty", Chatty),
    _spec("slow", Slow),
)

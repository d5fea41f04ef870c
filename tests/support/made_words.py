"""A byte-level model of a few words and their prefixes."""

from __future__ import annotations

from functools import cache

from oracles import bpe as oracle
from pyharness.types import MergeModel

WORDS = (b" the", b"the", b" then", b" internationalization", b"ing", b"\n\n", b"12", "Привет".encode(), b"\xe4\xb8")


@cache
def vocabulary() -> dict[int, bytes]:
    """Bytes, the prefixes of a few words, and a token that merges cannot make."""
    tokens = [bytes([byte]) for byte in range(256)]
    for word in WORDS:
        tokens += [word[:end] for end in range(2, len(word) + 1) if word[:end] not in tokens]
    return dict(enumerate([*tokens, b"zyx"]))


@cache
def model() -> MergeModel:
    return oracle.model(vocabulary(), ranks={token: token for token in vocabulary()})

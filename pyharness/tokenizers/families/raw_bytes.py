"""Raw UTF-8 bytes as tokens: the baseline of every compression figure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pyharness.system.threads import require_one
from pyharness.tokenizers.timed_calls import Timed
from pyharness.types import Ids, RoundTrip, Tokenizer, TokenizerSpec, Tokens, Vocabulary


class RawBytes:
    """Token id = byte. ``RawBytes().encode_batch(["é"]).ids`` is ``[0xC3, 0xA9]``."""

    id_limit = 256
    vocab_size = 256
    round_trip: RoundTrip = "exact"
    notes: tuple[str, ...] = ()

    def encode_batch(self, texts: Sequence[str], threads: int = 1) -> Tokens:
        """Encode documents on one thread, for any value of ``threads``."""
        del threads
        documents = [text.encode() for text in texts]
        offsets = np.zeros(len(documents) + 1, np.int64)
        np.cumsum([len(document) for document in documents], out=offsets[1:])
        return Tokens(np.frombuffer(b"".join(documents), np.uint8).astype(np.uint32), offsets)

    def decode(self, ids: Ids) -> bytes:
        """Return the bytes of the text of one document's ids."""
        return np.asarray(ids, np.uint32).astype(np.uint8).tobytes()

    def vocabulary(self) -> Vocabulary:
        """Return the 256 bytes."""
        return Vocabulary.from_tokens({byte: bytes([byte]) for byte in range(256)}, {})

    def timed_call(self, texts: Sequence[str], threads: int = 1) -> Timed:
        """Return the encode call, which joins bytes on one thread. (Decoding is timed document by document.)"""
        require_one("raw_bytes", "encoding", threads)
        return Timed(lambda: self.encode_batch(texts), lambda tokens: tokens)


def load(spec: TokenizerSpec) -> Tokenizer:
    """Return the tokenizer; it has no file."""
    del spec
    return RawBytes()


TOKENIZERS = (
    TokenizerSpec(
        name="raw_bytes",
        place=6,
        load=load,
        library="pyharness",
        source="UTF-8",
        licence="Apache-2.0",
        vocabulary="raw_bytes",
        reference=True,
    ),
)

"""rs-bpe: cl100k_base and o200k_base, compiled into its wheel."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from pyharness.features.engines.engine_row import check_ids, of_wheel
from pyharness.system.threads import require_one
from pyharness.tokenizers.source import refusing
from pyharness.tokenizers.timed_calls import Timed
from pyharness.types import Engine, Ids, InputError, RoundTrip, Tokenizer, TokenizerSpec, Tokens
from pyharness.vocabularies import encodings

KNOWN = {"cl100k_base": 100256, "o200k_base": 199998}


class RsBpeTokenizer:
    """One of the two vocabularies of rs-bpe. It has no special tokens."""

    round_trip: RoundTrip = "exact"
    notes: tuple[str, ...] = ("runs on one thread: its parallel call gives no control over threads",)

    def __init__(self, name: str, library: Any) -> None:
        self.vocab_size = self.id_limit = KNOWN[name]
        self._library = library
        self._bytes = library.bpe()

    def encode_batch(self, texts: Sequence[str], threads: int = 1) -> Tokens:
        """Encode documents on one thread, for any value of ``threads``."""
        del threads
        return Tokens.from_lists(self._library.encode_batch(list(texts))[0])

    def decode(self, ids: Ids) -> bytes:
        """Return the bytes of the text of one document's ids."""
        # The library reads past its table for an unknown id, and the process dies.
        check_ids(np.asarray(ids, np.uint32), self.id_limit, "rs_bpe")
        data: bytes = self._bytes.decode_tokens(np.asarray(ids).tolist())  # decode() gives nothing for split characters
        return data

    def timed_call(self, texts: Sequence[str], threads: int = 1) -> Timed:
        """Return the library's batch call, which has no threads (its parallel call gives no control over them)."""
        require_one("rs_bpe", "encoding", threads)
        encode, documents = self._library.encode_batch, list(texts)
        return Timed(lambda: encode(documents), lambda batch: Tokens.from_lists(batch[0]))

    def timed_decode(self, tokens: Tokens, threads: int = 1) -> Timed:
        """Return the library's batch decode call."""
        require_one("rs_bpe", "decoding", threads)
        check_ids(tokens.ids, self.id_limit, "rs_bpe")
        decode, batch = self._library.decode_batch, [tokens.document(index).tolist() for index in range(len(tokens))]
        return Timed(lambda: decode(batch), lambda texts: "".join(texts).encode())

    def timed_single(self, text: str) -> Timed:
        """Return the library's single call."""
        encode = self._library.encode
        return Timed(lambda: encode(text), lambda ids: Tokens.from_lists([ids]))


def load(spec: TokenizerSpec) -> Tokenizer:
    """Load one of the compiled-in vocabularies."""
    name = encodings.OPENAI_ENCODINGS[str(spec.vocabulary)].name
    with refusing(spec.name, "rs-bpe"):
        from rs_bpe.bpe import openai  # the package's own rs_bpe.openai prints an error and is empty

        return RsBpeTokenizer(name, openai.cl100k_base() if name == "cl100k_base" else openai.o200k_base())


FAMILY = of_wheel(
    "rs_bpe", "rs-bpe", "MIT", {name: name for name in KNOWN}, load, "vocabularies compiled into the rs-bpe wheel"
)


def wrap(home: TokenizerSpec) -> TokenizerSpec:
    """Return the row that runs a home row, whose vocabulary must be in the wheel."""
    if home.vocabulary not in KNOWN:
        raise InputError(
            f"rs_bpe cannot run {home.name!r}; it has {' and '.join(KNOWN)} compiled in, and reads no files"
        )
    return dataclasses.replace(FAMILY.expand(str(home.vocabulary), {}), name=f"rs_bpe+{home.name}")


FAMILIES = (FAMILY,)
ENGINES = (Engine(name="rs_bpe", wrap=wrap, summary="cl100k_base and o200k_base only, compiled in", extra="engines"),)

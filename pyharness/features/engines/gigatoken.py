"""gigatoken: runs byte-level and SentencePiece-like BPE from tokenizer.json, rank files and SentencePiece models.

It always recognises special tokens in the text, so it gets vocabularies without them. Its rank files need a split
pattern that it has code for.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from pyharness.features.engines.engine_row import (
    EngineRow,
    Tables,
    check_ids,
    dense_ranks,
    on_disk,
    tables,
    without_special,
    wrap,
)
from pyharness.system.threads import ThreadPool, require_one
from pyharness.tokenizers.families.sentencepiece import SentencePieceTables
from pyharness.tokenizers.families.tiktoken import RankTables
from pyharness.tokenizers.source import VocabularyFile, refusing
from pyharness.tokenizers.timed_calls import Timed
from pyharness.types import Engine, Ids, InputError, Tokens
from pyharness.vocabularies import encodings

POOL = ThreadPool("gigatoken", "RAYON_NUM_THREADS")
SCHEMES = {
    encodings.GPT2: "gpt2", encodings.CL100K: "gpt4", encodings.O200K: "o200k", encodings.QWEN2: "qwen2",
    encodings.KIMI: "kimi", encodings.TEKKEN: "nemotron",
}  # fmt: skip


class GigatokenTokenizer(EngineRow):
    """A vocabulary in gigatoken. ``first`` is added to its ids (tekken's ids do not start at 0)."""

    def __init__(self, backend: Any, first: int, table: Tables, home: VocabularyFile) -> None:
        note = "special tokens were left out of gigatoken's vocabulary, so that they are plain text"
        super().__init__(table, note, home=home)
        self._backend, self._first = backend, first

    def encode_batch(self, texts: Sequence[str], threads: int = 1) -> Tokens:
        """Encode documents; with more than one thread, on the library's own pool."""
        POOL.start(threads)
        return self._tokens(self._backend.encode_batch([text.encode() for text in texts], parallel=threads > 1))

    def decode(self, ids: Ids) -> bytes:
        """Return the bytes of the text of one document's ids."""
        check_ids(np.asarray(ids, np.uint32), self.id_limit, "gigatoken", self._first)
        data: bytes = self._backend.decode(np.asarray(ids, np.uint32) - np.uint32(self._first))
        return data

    def timed_call(self, texts: Sequence[str], threads: int = 1) -> Timed:
        """Return the library's batch call on the buffers it reads without copying."""
        import gigatoken

        POOL.require(threads)
        encode, documents = self._backend.encode_batch, gigatoken.BytesSource([text.encode() for text in texts])
        return Timed(lambda: encode(documents, parallel=threads > 1), self._tokens)

    def timed_decode(self, tokens: Tokens, threads: int = 1) -> Timed:
        """Return a loop over the library's decode call: it has no batch form and no threads."""
        require_one("gigatoken", "decoding", threads)
        decode = self._backend.decode
        documents = [tokens.document(index) - np.uint32(self._first) for index in range(len(tokens))]
        return Timed(lambda: [decode(document) for document in documents], b"".join)

    def timed_single(self, text: str) -> Timed:
        """Return the library's single call on bytes, which it reads without copying."""
        encode, data = self._backend.encode, text.encode()
        return Timed(lambda: encode(data), lambda ids: Tokens.from_lists([ids + np.uint32(self._first)]))

    @cached_property
    def mapped_strings(self) -> tuple[str, ...]:
        """User-defined pieces of a SentencePiece model: gigatoken puts a space before the text behind them."""
        return tuple(self._tables.added_tokens()) if isinstance(self._tables, SentencePieceTables) else ()

    def _tokens(self, batch: Any) -> Tokens:
        layout = batch.layout
        ids, offsets = np.asarray(layout.content.data), np.asarray(layout.offsets.data, np.int64)
        return Tokens(ids + np.uint32(self._first) if self._first else ids, offsets)


def build(file: VocabularyFile) -> GigatokenTokenizer:
    """Load a vocabulary file into gigatoken."""
    data = file.fetch()
    table = tables(file, data)
    import gigatoken

    first = 0
    with refusing(file.label, "gigatoken"):
        if isinstance(table, RankTables):
            backend, first = _from_ranks(table, file.label)
        elif file.kind == "sentencepiece":
            # from_sentencepiece() does the same in one step, but keeps the special tokens.
            from gigatoken._load.sentencepiece import sentencepiece_to_tokenizer_json

            backend = gigatoken.Tokenizer.from_json(
                without_special(sentencepiece_to_tokenizer_json(data).encode())
            ).backend
        else:
            backend = gigatoken.Tokenizer.from_json(without_special(data)).backend
    return GigatokenTokenizer(backend, first, table, file)


def _from_ranks(table: RankTables, label: str) -> tuple[Any, int]:
    import gigatoken

    scheme = SCHEMES.get(table.ranks.pattern)
    if scheme is None:
        supported = ", ".join(name for name, expression in encodings.PATTERNS.items() if expression in SCHEMES)
        raise InputError(f"gigatoken has no code for the split pattern of {label}; it has code for {supported}")
    data, first = dense_ranks(table)
    with on_disk(data, "ranks.tiktoken") as path:
        return gigatoken.Tokenizer.from_tiktoken(path, pretokenizer=scheme, special_tokens={}).backend, first


ENGINES = (
    Engine(
        name="gigatoken",
        wrap=wrap("gigatoken", "gigatoken", ("huggingface", "rank_file", "tekken", "sentencepiece"), build),
        summary="BPE from tokenizer.json, rank files, tekken and SentencePiece models (SIMD splitting, piece caches)",
        extra="engines",
    ),
)

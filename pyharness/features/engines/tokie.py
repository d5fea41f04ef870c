"""tokie: runs BPE, WordPiece and Unigram from tokenizer.json.

Its ids differ from the home library's on some code (qwen2_5, one Python file). The integrity check then fails its row,
as it should, with the first difference and no speed.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from pyharness.features.engines.engine_row import EngineRow, Tables, check_ids, on_disk, tables, without_special, wrap
from pyharness.system.threads import ThreadPool
from pyharness.tokenizers.families.huggingface import HuggingFaceTables
from pyharness.tokenizers.source import VocabularyFile, refusing
from pyharness.tokenizers.timed_calls import Timed
from pyharness.types import Engine, Ids, Tokens

POOL = ThreadPool("tokie", "RAYON_NUM_THREADS", even_one=True)


class TokieTokenizer(EngineRow):
    """A tokenizer.json in tokie, with no special tokens in it: it would recognise them in text."""

    def __init__(self, library: Any, table: Tables, home: VocabularyFile) -> None:
        note = "special tokens were left out of tokie's vocabulary, so that they are plain text"
        super().__init__(table, note, home=home)
        self._library = library

    def encode_batch(self, texts: Sequence[str], threads: int = 1) -> Tokens:
        """Encode documents on the library's own pool."""
        POOL.start(threads)
        return _tokens(self._library.encode_batch_flat(list(texts), add_special_tokens=False))

    def decode(self, ids: Ids) -> bytes:
        """Return the bytes of the text of one document's ids."""
        check_ids(np.asarray(ids, np.uint32), self.id_limit, "tokie")
        data: bytes = self._library.decode_bytes(np.asarray(ids).tolist())
        return data

    def timed_call(self, texts: Sequence[str], threads: int = 1) -> Timed:
        """Return the library's flat batch call."""
        POOL.require(threads)
        encode, documents = self._library.encode_batch_flat, list(texts)
        return Timed(lambda: encode(documents, add_special_tokens=False), _tokens)

    def timed_decode(self, tokens: Tokens, threads: int = 1) -> Timed:
        """Return the library's batch decode call, which returns nothing for ids that split a character."""
        POOL.require(threads)
        decode, batch = self._library.decode_batch, [tokens.document(index).tolist() for index in range(len(tokens))]
        return Timed(lambda: decode(batch), lambda texts: "".join(text or "" for text in texts).encode())

    def timed_single(self, text: str) -> Timed:
        """Return the library's single call."""
        POOL.require(1)
        encode = self._library.encode
        return Timed(
            lambda: encode(text, add_special_tokens=False), lambda encoding: Tokens.from_lists([list(encoding.ids)])
        )

    @cached_property
    def mapped_strings(self) -> tuple[str, ...]:
        """Added tokens that get another id: tokie numbers them in order, and its file has no special tokens."""
        added = self._tables.added_tokens() if isinstance(self._tables, HuggingFaceTables) else {}
        encode = self._library.encode
        return tuple(
            text for text, token in added.items() if list(encode(text, add_special_tokens=False).ids) != [token]
        )


def _tokens(batch: tuple[Ids, Ids]) -> Tokens:
    ids, lengths = batch
    return Tokens(ids, np.concatenate(([0], np.cumsum(lengths))).astype(np.int64))


def build(file: VocabularyFile) -> TokieTokenizer:
    """Load a tokenizer.json into tokie, which reads it from disk."""
    data = file.fetch()
    table = tables(file, data)
    from tokie import Tokenizer

    with refusing(file.label, "tokie"), on_disk(without_special(data).encode(), "tokenizer.json") as path:
        return TokieTokenizer(Tokenizer.from_json(path), table, file)


ENGINES = (
    Engine(
        name="tokie",
        wrap=wrap("tokie", "tokie", ("huggingface",), build),
        summary="BPE, WordPiece and Unigram from tokenizer.json",
        extra="engines",
    ),
)

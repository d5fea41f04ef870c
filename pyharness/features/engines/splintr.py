"""splintr: runs tokenizer.json of every model type and rank files, and carries vocabularies in its wheel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pyharness.features.engines.engine_row import EngineRow, Tables, check_ids, of_wheel, tables, without_special, wrap
from pyharness.plugins.specification import TOKENIZER
from pyharness.system.threads import ThreadPool
from pyharness.tokenizers.families.tiktoken import RankTables
from pyharness.tokenizers.source import VocabularyFile, refusing
from pyharness.tokenizers.timed_calls import Timed
from pyharness.types import Engine, Ids, Tokenizer, TokenizerSpec, Tokens
from pyharness.vocabularies import encodings
from pyharness.vocabularies.rank_file import RankVocabulary, write_ranks

POOL = ThreadPool("splintr", "RAYON_NUM_THREADS")

# Its regular expressions have no possessive quantifiers; these are its own spellings of the same patterns.
SPELLINGS = {encodings.GPT2: "GPT2_PATTERN", encodings.CL100K: "CL100K_BASE_PATTERN"}

# Name in the wheel -> vocabulary, split pattern, number of ranks. Specials beyond them are splintr's own.
BUNDLED: Mapping[str, tuple[str, str, int]] = {
    "cl100k_base": ("cl100k_base", encodings.CL100K, 100256), "o200k_base": ("o200k_base", encodings.O200K, 199998),
    "llama3": ("llama3", encodings.LLAMA3, 128000), "kimi_k2": ("kimi_k2", encodings.KIMI, 163584),
}  # fmt: skip


class SplintrTokenizer(EngineRow):
    """A vocabulary in splintr, with no special tokens in it: its batch call would recognise them."""

    def __init__(self, library: Any, table: Tables, home: VocabularyFile | None = None) -> None:
        note = "special tokens were left out of splintr's vocabulary, so that they are plain text"
        super().__init__(table, note, home=home)
        self._library = library

    def encode_batch(self, texts: Sequence[str], threads: int = 1) -> Tokens:
        """Encode documents: one by one, or on the library's own pool."""
        POOL.start(threads)
        if threads > 1:
            return _flat(self._library.encode_batch_flat(list(texts)))
        encode = self._library.encode_flat
        return _single([encode(text) for text in texts])

    def decode(self, ids: Ids) -> bytes:
        """Return the bytes of the text of one document's ids."""
        check_ids(np.asarray(ids, np.uint32), self.id_limit, "splintr")
        numbers = np.asarray(ids).tolist()
        if isinstance(self._tables, RankTables):
            data: bytes = self._library.decode_bytes(numbers)
            return data
        text: str = self._library.decode(numbers)  # a tokenizer.json has a decoder, which decode_bytes() would skip
        return text.encode()

    def timed_call(self, texts: Sequence[str], threads: int = 1) -> Timed:
        """Return the batch call, or on one thread a loop of its single call (the batch call takes every core)."""
        POOL.require(threads)
        documents, encode, batch = list(texts), self._library.encode_flat, self._library.encode_batch_flat
        if threads > 1:
            return Timed(lambda: batch(documents), _flat)
        return Timed(lambda: [encode(text) for text in documents], _single)

    def timed_decode(self, tokens: Tokens, threads: int = 1) -> Timed:
        """Return the batch decode call, or on one thread a loop of the single call."""
        POOL.require(threads)
        documents = [tokens.document(index).tolist() for index in range(len(tokens))]
        decode, batch = self._library.decode, self._library.decode_batch
        if threads > 1:
            return Timed(lambda: batch(documents), lambda texts: "".join(texts).encode())
        return Timed(lambda: [decode(ids) for ids in documents], lambda texts: "".join(texts).encode())

    def timed_single(self, text: str) -> Timed:
        """Return the library's single call."""
        encode = self._library.encode_flat
        return Timed(lambda: encode(text), lambda data: _single([data]))


def _flat(batch: tuple[bytes, bytes]) -> Tokens:
    return Tokens(np.frombuffer(batch[0], np.uint32), np.frombuffer(batch[1], np.uint64).astype(np.int64))


def _single(documents: Sequence[bytes]) -> Tokens:
    return Tokens.from_lists([np.frombuffer(document, np.uint32) for document in documents])


def build(file: VocabularyFile) -> SplintrTokenizer:
    """Load a vocabulary file into splintr."""
    data = file.fetch()
    table = tables(file, data)
    import splintr

    with refusing(file.label, "splintr"):
        if isinstance(table, RankTables):
            return _from_ranks(table)
        return SplintrTokenizer(splintr.from_json_bytes(without_special(data).encode()), table, file)


def _from_ranks(table: RankTables) -> SplintrTokenizer:
    import splintr

    spelling = SPELLINGS.get(table.ranks.pattern)
    pattern = getattr(splintr, spelling) if spelling else table.ranks.pattern
    ranks = {
        token: rank for token, rank in table.ranks.ranks.items() if token
    }  # Whisper's empty token is never produced
    return SplintrTokenizer(splintr.Tokenizer.from_bytes(write_ranks(ranks), pattern, None), table)


def load(spec: TokenizerSpec) -> Tokenizer:
    """Load a vocabulary of the wheel, without the special tokens that splintr adds to it."""
    import splintr

    argument = str(TOKENIZER.parse(spec.name).argument)
    _, pattern, count = BUNDLED[argument]
    with refusing(spec.name, "splintr"):
        bundled = splintr.Tokenizer.from_pretrained(argument)
        ranks = {bundled.decode_token_bytes(token): token for token in range(count)}
        return _from_ranks(RankTables(RankVocabulary(ranks, {}, pattern)))


FAMILIES = (
    of_wheel(
        "splintr", "splintr-rs", "MIT", {name: vocabulary for name, (vocabulary, _, _) in BUNDLED.items()}, load,
        "vocabularies inside the splintr wheel",
    ),
)  # fmt: skip
ENGINES = (
    Engine(
        name="splintr",
        wrap=wrap("splintr", "splintr-rs", ("huggingface", "rank_file", "tekken"), build),
        summary="tokenizer.json of every model type, rank files and tekken",
        extra="engines",
    ),
)

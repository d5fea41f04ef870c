"""fastokens: runs BPE from tokenizer.json, rank files and tekken files."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from pyharness.features.engines.engine_row import EngineRow, Tables, dense_ranks, on_disk, tables, without_special, wrap
from pyharness.plugins.registry import suggest
from pyharness.system.threads import ThreadPool, require_one
from pyharness.tokenizers.families.tiktoken import RankTables
from pyharness.tokenizers.source import VocabularyFile, refusing
from pyharness.tokenizers.timed_calls import Timed
from pyharness.types import Engine, Ids, InputError, TokenizerSpec, Tokens
from pyharness.vocabularies.patterns.split_patterns import SPLIT_PATTERNS

# Read once, at the first call of the process; RAYON_NUM_THREADS has no effect (measured: 1.9 cores with it at 1).
POOL = ThreadPool("fastokens", "FASTOKENS_BPE_THREADS", even_one=True)


# It has code for this spelling of cl100k's pattern and gives all others to PCRE2, with which it is 5 times as slow
# (measured). The pieces differ where a text ends in a newline and other white space, so ids are compared.
FAST_CL100K = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
HOME, FAST = "home", "fast"  # spellings: the home library's, and that of its own code


class FastokensTokenizer(EngineRow):
    """A vocabulary in fastokens."""

    def __init__(self, library: Any, first: int, table: Tables, home: VocabularyFile) -> None:
        super().__init__(table, home=home)
        self._library, self._first = library, first

    def encode_batch(self, texts: Sequence[str], threads: int = 1) -> Tokens:
        """Encode documents; special tokens are plain text, other added tokens stay on."""
        POOL.start(threads)
        return self._tokens(self._library.encode_batch_flat(list(texts), split_special_tokens=True))

    def decode(self, ids: Ids) -> bytes:
        """Return the bytes of the text of one document's ids."""
        text: str = self._library.decode((np.asarray(ids) - np.uint32(self._first)).tolist())
        return text.encode()

    def timed_call(self, texts: Sequence[str], threads: int = 1) -> Timed:
        """Return the library's flat batch call; in a process that began with one thread, one call per thread."""
        POOL.start(threads)
        encode, documents = self._library.encode_batch_flat, list(texts)
        if threads > 1 and POOL.size == 1:
            shards = [documents[start::threads] for start in range(threads)]
            pool = ThreadPoolExecutor(threads)
            return Timed(
                lambda: list(pool.map(lambda shard: encode(shard, split_special_tokens=True), shards)),
                lambda batches: self._interleave(batches, len(documents)),
            )
        POOL.require(threads)
        return Timed(lambda: encode(documents, split_special_tokens=True), self._tokens)

    def timed_decode(self, tokens: Tokens, threads: int = 1) -> Timed:
        """Return the library's batch decode call, which runs on one thread with any pool (measured)."""
        require_one("fastokens", "decoding", threads)
        decode = self._library.decode_batch
        batch = [(tokens.document(index) - np.uint32(self._first)).tolist() for index in range(len(tokens))]
        return Timed(lambda: decode(batch), lambda texts: "".join(texts).encode())

    def timed_single(self, text: str) -> Timed:
        """Return the library's single call."""
        POOL.require(1)
        encode = self._library.encode
        return Timed(
            lambda: encode(text, split_special_tokens=True),
            lambda encoding: Tokens.from_lists([np.array(encoding.ids, np.uint32) + np.uint32(self._first)]),
        )

    def _tokens(self, batch: tuple[bytes, bytes]) -> Tokens:
        ids, ends = np.frombuffer(batch[0], np.uint32), np.frombuffer(batch[1], np.int64)
        return Tokens(ids + np.uint32(self._first) if self._first else ids, ends)

    def _interleave(self, batches: Sequence[tuple[bytes, bytes]], count: int) -> Tokens:
        parts = [self._tokens(batch) for batch in batches]
        return Tokens.from_lists([parts[index % len(parts)].document(index // len(parts)) for index in range(count)])


def build(file: VocabularyFile, options: Mapping[str, str] | None = None) -> FastokensTokenizer:
    """Load a vocabulary file into fastokens, with the spelling of the split pattern in its option."""
    spelling = (options or {}).get("spelling", HOME)
    if spelling not in (HOME, FAST):
        raise suggest(f"spelling of {file.label}", spelling, (HOME, FAST))
    data = file.fetch()
    table = tables(file, data)
    from fastokens import Tokenizer

    first = 0
    with refusing(file.label, "fastokens"):
        if isinstance(table, RankTables):
            content, first = dense_ranks(table)
            with on_disk(content, "ranks.tiktoken") as path:
                library = Tokenizer.from_tiktoken(path, pattern=_pattern(table, spelling), special_tokens={})
        elif spelling == FAST:
            raise InputError(f"{file.label}: spelling={FAST} is for rank files of cl100k")
        else:
            # It does not know some post-processors (RobertaProcessing) and refuses them, although they would not run.
            library = Tokenizer.from_json_str(without_special(data))
    return FastokensTokenizer(library, first, table, file)


def _pattern(table: RankTables, spelling: str) -> str:
    if spelling == HOME:
        return table.ranks.pattern
    if table.ranks.pattern not in SPLIT_PATTERNS["cl100k"].expressions:
        raise InputError(f"spelling={FAST} is for the split pattern of cl100k, and this vocabulary has another")
    return FAST_CL100K


def _wrap(home: TokenizerSpec) -> TokenizerSpec:
    row = wrap("fastokens", "fastokens", ("huggingface", "rank_file", "tekken"), build)(home)
    file = home.load
    assert isinstance(file, VocabularyFile)  # noqa: S101 -- other homes are refused
    return dataclasses.replace(row, load=lambda spec: build(file, spec.options))


ENGINES = (
    Engine(
        name="fastokens",
        wrap=_wrap,
        summary="BPE from tokenizer.json, rank files and tekken (PCRE2 splitting, caches)",
        extra="engines",
        options=("spelling",),
    ),
)

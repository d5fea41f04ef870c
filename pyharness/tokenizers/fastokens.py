"""fastokens: runs BPE from tokenizer.json, rank files and tekken files."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from pyharness.tokenizers.engine_row import EngineRow, Tables, dense_ranks, tables, without_special, wrap
from pyharness.tokenizers.source import VocabularyFile, refusing
from pyharness.tokenizers.thread_pool import ThreadPool
from pyharness.tokenizers.tiktoken import RankTables
from pyharness.types import Engine, Ids, InputError, Tokens

# Read once, at the first call of the process; RAYON_NUM_THREADS is not heeded (measured: 1.9 cores with it at 1).
POOL = ThreadPool("fastokens", "FASTOKENS_BPE_THREADS", even_one=True)


class FastokensTokenizer(EngineRow):
    """A vocabulary in fastokens."""

    def __init__(self, library: Any, first: int, table: Tables) -> None:
        super().__init__(table)
        self._library, self._first = library, first

    def encode_batch(self, texts: Sequence[str], threads: int = 1) -> Tokens:
        """Encode documents; special tokens are plain text, other added tokens stay on."""
        POOL.start(threads)
        flat, ends = self._library.encode_batch_flat(list(texts), split_special_tokens=True)
        ids = np.frombuffer(flat, np.uint32)
        return Tokens(ids + np.uint32(self._first) if self._first else ids, np.frombuffer(ends, np.int64))

    def decode(self, ids: Ids) -> bytes:
        """Bytes of the text of one document's ids."""
        text: str = self._library.decode((np.asarray(ids) - np.uint32(self._first)).tolist())
        return text.encode()

    def timed_call(self, texts: Sequence[str], threads: int = 1) -> Callable[[], object]:
        """Return the library's flat batch call; in a process that began with one thread, one call per thread."""
        POOL.start(threads)
        encode, documents = self._library.encode_batch_flat, list(texts)
        if threads > 1 and POOL.size == 1:
            shards = [documents[start::threads] for start in range(threads)]
            pool = ThreadPoolExecutor(threads)
            return lambda: list(pool.map(lambda shard: encode(shard, split_special_tokens=True), shards))
        POOL.require(threads)
        return lambda: encode(documents, split_special_tokens=True)

    def timed_decode(self, tokens: Tokens, threads: int = 1) -> Callable[[], object]:
        """Return the library's batch decode call, which takes no number of threads."""
        POOL.require(threads)
        POOL.start(threads)
        decode = self._library.decode_batch
        batch = [(tokens.document(index) - np.uint32(self._first)).tolist() for index in range(len(tokens))]
        return lambda: decode(batch)


def build(file: VocabularyFile) -> FastokensTokenizer:
    """Load a vocabulary file into fastokens."""
    data = file.fetch()
    table = tables(file, data)
    from fastokens import Tokenizer

    first = 0
    with refusing(file.label, "fastokens"):
        if isinstance(table, RankTables):
            content, first = dense_ranks(table)
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "ranks.tiktoken"
                path.write_bytes(content)
                library = Tokenizer.from_tiktoken(str(path), pattern=table.ranks.pattern, special_tokens={})
        else:
            library = Tokenizer.from_json_str(_plain(data, file.label))
    return FastokensTokenizer(library, first, table)


def _plain(data: bytes, label: str) -> str:
    # Post-processors it does not know (RobertaProcessing) are refused, although they would not be run.
    try:
        return without_special(data)
    except ValueError as error:
        raise InputError(f"{label}: {error}") from None


ENGINES = (
    Engine(
        name="fastokens",
        wrap=wrap("fastokens", "fastokens", "fastokens", ("huggingface", "rank_file", "tekken"), build),
        summary="BPE from tokenizer.json, rank files and tekken (PCRE2 splitting, caches)",
        extra="engines",
    ),
)

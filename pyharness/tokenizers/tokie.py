"""tokie: runs BPE, WordPiece and Unigram from tokenizer.json.

Its ids are known to differ from the home library's on some code (qwen2_5, one Python file): the integrity check then
fails its row, with the first difference and no speed. That is what the check is for.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pyharness.tokenizers.engine_row import EngineRow, Tables, tables, without_special, wrap
from pyharness.tokenizers.source import VocabularyFile, refusing
from pyharness.tokenizers.thread_pool import ThreadPool
from pyharness.types import Engine, Ids, InputError, Tokens

POOL = ThreadPool("tokie", "RAYON_NUM_THREADS", even_one=True)


class TokieTokenizer(EngineRow):
    """A tokenizer.json in tokie, with no special tokens in it: it would recognise them in text."""

    def __init__(self, library: Any, table: Tables) -> None:
        super().__init__(table, "special tokens were left out of tokie's vocabulary, so that they are plain text")
        self._library = library

    def encode_batch(self, texts: Sequence[str], threads: int = 1) -> Tokens:
        """Encode documents on the library's own pool."""
        POOL.start(threads)
        ids, lengths = self._library.encode_batch_flat(list(texts), add_special_tokens=False)
        return Tokens(ids, np.concatenate(([0], np.cumsum(lengths))).astype(np.int64))

    def decode(self, ids: Ids) -> bytes:
        """Bytes of the text of one document's ids."""
        data: bytes = self._library.decode_bytes(np.asarray(ids).tolist())
        return data

    def timed_call(self, texts: Sequence[str], threads: int = 1) -> Callable[[], object]:
        """Return the library's flat batch call."""
        POOL.require(threads)
        POOL.start(threads)
        encode, documents = self._library.encode_batch_flat, list(texts)
        return lambda: encode(documents, add_special_tokens=False)

    def timed_decode(self, tokens: Tokens, threads: int = 1) -> Callable[[], object]:
        """Return the library's batch decode call."""
        POOL.require(threads)
        POOL.start(threads)
        decode, batch = self._library.decode_batch, [tokens.document(index).tolist() for index in range(len(tokens))]
        return lambda: decode(batch)


def build(file: VocabularyFile) -> TokieTokenizer:
    """Load a tokenizer.json into tokie, which reads it from disk."""
    data = file.fetch()
    table = tables(file, data)
    try:
        content = without_special(data)
    except ValueError as error:
        raise InputError(f"{file.label}: {error}") from None
    from tokie import Tokenizer

    with refusing(file.label, "tokie"), tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tokenizer.json"
        path.write_text(content, encoding="utf-8")
        return TokieTokenizer(Tokenizer.from_json(str(path)), table)


ENGINES = (
    Engine(
        name="tokie",
        wrap=wrap("tokie", "tokie", "tokie", ("huggingface",), build),
        summary="BPE, WordPiece and Unigram from tokenizer.json",
        extra="engines",
    ),
)

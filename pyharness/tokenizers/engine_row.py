"""What the rows of other engines share: the tables of the vocabulary they run, and how a home row becomes theirs."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from pyharness.tokenizers import huggingface, sentencepiece, source, tiktoken
from pyharness.tokenizers.huggingface_file import read_file
from pyharness.tokenizers.rank_file import write_ranks
from pyharness.tokenizers.sentencepiece_model import read_model
from pyharness.tokenizers.source import VocabularyFile
from pyharness.types import InputError, RoundTrip, Tokenizer, TokenizerSpec, Vocabulary


class Tables(Protocol):
    """What a vocabulary's file says about it, read without its home library."""

    id_limit: int
    vocab_size: int
    round_trip: RoundTrip
    notes: tuple[str, ...]

    def vocabulary(self) -> Vocabulary:
        """Return the whole vocabulary."""
        ...


class EngineRow:
    """Base of tokenizers that run a vocabulary which is not their own."""

    def __init__(self, tables: Tables, *notes: str) -> None:
        self.id_limit = tables.id_limit
        self.vocab_size = tables.vocab_size
        self.round_trip = tables.round_trip
        self.notes = (*tables.notes, *notes)
        self._tables = tables

    def vocabulary(self) -> Vocabulary:
        """Return the vocabulary as its file has it."""
        return self._tables.vocabulary()


def tables(file: VocabularyFile, data: bytes) -> huggingface.HuggingFaceTables | tiktoken.RankTables | Tables:
    """Read and check a vocabulary file as its home library would have it checked."""
    if file.kind == "huggingface":
        return huggingface.HuggingFaceTables(read_file(data, file.label))
    if file.kind == "sentencepiece":
        return sentencepiece.SentencePieceTables(read_model(data, file.label))
    return tiktoken.RankTables(tiktoken.read(dataclasses.replace(file, fetch=lambda: data)))


def dense_ranks(table: tiktoken.RankTables) -> tuple[bytes, int]:
    """Rank file that starts at 0 and has no empty token (which is never produced), and what to add to its ids."""
    ranks = {token: rank for token, rank in table.ranks.ranks.items() if token}
    first = min(ranks.values())
    return write_ranks({token: rank - first for token, rank in ranks.items()}), first


def without_special(data: bytes) -> str:
    """Return a tokenizer.json in which special tokens are plain text, and nothing is padded, cut or added.

    For engines that always recognise special tokens: what is not listed is not recognised. Their ids are lost, and
    with special tokens off they are never produced.
    """
    content = json.loads(data)
    content["added_tokens"] = [token for token in content.get("added_tokens") or () if not token.get("special")]
    content.update(truncation=None, padding=None, post_processor=None)
    return json.dumps(content, ensure_ascii=False)


def wrap(
    engine: str,
    distribution: str,
    module: str,
    kinds: Sequence[source.Kind],
    build: Callable[[VocabularyFile], Tokenizer],
) -> Callable[[TokenizerSpec], TokenizerSpec]:
    """Return an engine's ``wrap``: the home row's file, loaded by ``build``."""

    def row(home: TokenizerSpec) -> TokenizerSpec:
        file = home.load
        if not isinstance(file, VocabularyFile) or file.kind not in kinds:
            what = file.kind if isinstance(file, VocabularyFile) else "no vocabulary file"
            raise InputError(f"{engine} cannot run {home.name!r} ({what}); it runs files of kind {', '.join(kinds)}")
        source.require(f"{engine}+{home.name}", module, distribution, "engines")
        return dataclasses.replace(
            home,
            name=f"{engine}+{home.name}",
            load=lambda _: build(file),
            library=distribution,
            extra="engines",
            reference=False,
        )

    return row


def check_ids(ids: np.ndarray[tuple[int], np.dtype[np.uint32]], limit: int, engine: str) -> None:
    """Refuse ids that would make an engine read past its tables."""
    if len(ids) and int(ids.max()) >= limit:
        raise InputError(f"{engine}: id {int(ids.max())} is not in the vocabulary (ids are below {limit:,})")

"""Rows of other engines: the tables of the vocabulary they run, and how a home row becomes theirs."""

from __future__ import annotations

import dataclasses
import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Protocol

from pyharness.plugins import libraries
from pyharness.plugins.registry import pick
from pyharness.plugins.specification import check_options
from pyharness.tokenizers.families import huggingface, sentencepiece, tiktoken
from pyharness.tokenizers.source import VocabularyFile
from pyharness.types import (
    HasPipeline,
    Ids,
    InputError,
    RoundTrip,
    Tokenizer,
    TokenizerFamily,
    TokenizerSpec,
    Vocabulary,
)
from pyharness.vocabularies.files import vocabulary_file
from pyharness.vocabularies.huggingface.file import read_file
from pyharness.vocabularies.rank_file import write_ranks
from pyharness.vocabularies.sentencepiece_file import read_model


class Tables(Protocol):
    """Facts of a vocabulary's file, read without its home library."""

    id_limit: int
    vocab_size: int
    round_trip: RoundTrip
    notes: tuple[str, ...]

    def vocabulary(self) -> Vocabulary:
        """Return the whole vocabulary."""


class EngineRow:
    """Base of tokenizers that run another library's vocabulary.

    ``home`` is the file that the home library would run. Rank vocabularies need none, as they normalise nothing.
    """

    def __init__(self, tables: Tables, *notes: str, home: VocabularyFile | None = None) -> None:
        self.id_limit = tables.id_limit
        self.vocab_size = tables.vocab_size
        self.round_trip = tables.round_trip
        self.notes = (*tables.notes, *notes)
        self._tables = tables
        self._home = home

    def vocabulary(self) -> Vocabulary:
        """Return the vocabulary of the file."""
        return self._tables.vocabulary()

    def normalize(self, text: str) -> str:
        """Return the text that decoding can restore at best, by the home library (which is loaded once for this)."""
        return text if self._pipeline is None else self._pipeline.normalize(text)

    @cached_property
    def mapped_strings(self) -> tuple[str, ...]:
        """Strings that the engine cannot treat as the home library does, so that texts with them get other ids."""
        return ()

    @cached_property
    def _pipeline(self) -> HasPipeline | None:
        if self._home is None or isinstance(self._tables, tiktoken.RankTables):
            return None
        library = sentencepiece if self._home.kind == "sentencepiece" else huggingface
        home = library.load(self._home)
        return home if isinstance(home, HasPipeline) else None


def tables(file: VocabularyFile, data: bytes) -> huggingface.HuggingFaceTables | tiktoken.RankTables | Tables:
    """Read and check a vocabulary file as its home library's row does."""
    if file.kind == "huggingface":
        return huggingface.HuggingFaceTables(read_file(data, file.label))
    if file.kind == "sentencepiece":
        return sentencepiece.SentencePieceTables(read_model(data, file.label))
    return tiktoken.RankTables(tiktoken.read(dataclasses.replace(file, fetch=lambda: data)))


@contextmanager
def on_disk(data: bytes, name: str) -> Iterator[str]:
    """Write a file that an engine reads by its path; yield that."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(data)
        yield str(path)


def dense_ranks(table: tiktoken.RankTables) -> tuple[bytes, int]:
    """Return a rank file that starts at 0 without the empty token (never produced), and a number to add to its ids."""
    ranks = {token: rank for token, rank in table.ranks.ranks.items() if token}
    first = min(ranks.values())
    return write_ranks({token: rank - first for token, rank in ranks.items()}), first


def without_special(data: bytes) -> str:
    """Return a tokenizer.json in which special tokens are plain text, and nothing is padded, cut or added.

    It is for engines that always recognise special tokens: they cannot recognise what is not listed. The ids of special
    tokens that the model's vocabulary lacks are lost; with special tokens off they are never produced.
    """
    content = json.loads(data)
    content["added_tokens"] = [token for token in content.get("added_tokens") or () if not token.get("special")]
    content.update(truncation=None, padding=None, post_processor=None)
    return json.dumps(content, ensure_ascii=False)


def wrap(
    engine: str, distribution: str, kinds: Sequence[vocabulary_file.Kind],
    build: Callable[[VocabularyFile], Tokenizer], also: str = "",
) -> Callable[[TokenizerSpec], TokenizerSpec]:  # fmt: skip
    """Return an engine's ``wrap``: the home row's file, loaded by ``build``. ``also``: what else it runs, in words."""

    def row(home: TokenizerSpec) -> TokenizerSpec:
        file, name = home.load, f"{engine}+{home.name}"
        if not isinstance(file, VocabularyFile) or file.kind not in kinds:
            what = file.kind if isinstance(file, VocabularyFile) else "no vocabulary file"
            runs = f"{also}files of kind {', '.join(kinds)}"
            raise InputError(f"{engine} cannot run {home.name!r} ({what}); it runs {runs}")
        libraries.require(f"tokenizer {name!r}", engine, "engines", distribution)
        return dataclasses.replace(
            home, name=name, load=lambda _: build(file), library=distribution, extra="engines", reference=False,
        )  # fmt: skip

    return row


def of_wheel(
    engine: str, distribution: str, licence: str, vocabularies: Mapping[str, str],
    load: Callable[[TokenizerSpec], Tokenizer], summary: str,
) -> TokenizerFamily:  # fmt: skip
    """Return the rows ``engine:NAME`` of the vocabularies in its wheel. These are its names to those of all rows."""

    def expand(argument: str, options: Mapping[str, str]) -> TokenizerSpec:
        name = f"{engine}:{argument}"
        vocabulary = pick(f"{engine} vocabulary", argument, vocabularies)
        check_options(name, options, ())
        libraries.require(f"tokenizer {name!r}", engine, "engines", distribution)
        return TokenizerSpec(
            name=name, load=load, library=distribution, source=f"{distribution} wheel", licence=licence,
            extra="engines", vocabulary=vocabulary,
        )  # fmt: skip

    return TokenizerFamily(
        name=engine, place=99, expand=expand, summary=summary, example=f"{engine}:cl100k_base",
        known=lambda: tuple(vocabularies), extra="engines",
    )  # fmt: skip


def check_ids(ids: Ids, limit: int, engine: str, first: int = 0) -> None:
    """Refuse ids that would make an engine read past its tables."""
    if len(ids) and not first <= int(ids.min()) <= int(ids.max()) < limit:
        wrong = int(ids.max()) if int(ids.max()) >= limit else int(ids.min())
        raise InputError(f"{engine}: id {wrong} is not in the vocabulary (ids are from {first:,} to {limit - 1:,})")

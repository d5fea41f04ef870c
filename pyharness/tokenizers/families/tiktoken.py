"""Rank vocabularies run by tiktoken: rank files, tekken files, and OpenAI's encodings by name."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property

import numpy as np

from pyharness.tokenizers.source import Loader, VocabularyFile, refusing
from pyharness.tokenizers.timed_calls import Timed
from pyharness.types import Ids, InputError, MergeModel, RoundTrip, Tokens, Vocabulary
from pyharness.vocabularies import rank_file
from pyharness.vocabularies.encodings import PATTERNS, part_of
from pyharness.vocabularies.rank_file import RankVocabulary, read_tekken
from pyharness.vocabularies.stages import SplitStep, Stages, byte_forms

RUNS = 8  # of documents, for each thread: they differ in size
LONG = 512  # characters from which an array takes less time than a list, as measured


class RankTables:
    """Facts of a rank vocabulary, the same for every engine that runs it."""

    def __init__(self, ranks: RankVocabulary) -> None:
        self.ranks = ranks
        self.id_limit = max(*ranks.ranks.values(), *ranks.special.values(), 0) + 1
        self.vocab_size = len(ranks.ranks)
        self.round_trip: RoundTrip = "exact" if ranks.exact else "lossy"
        self.notes = ranks.notes if ranks.exact else (*ranks.notes, "a split pattern of one's own may leave text out")

    def vocabulary(self) -> Vocabulary:
        """Return the bytes of every rank and special token."""
        return self._vocabulary

    @cached_property
    def _vocabulary(self) -> Vocabulary:
        return rank_file.vocabulary(self.ranks)

    def merge_model(self) -> MergeModel:
        """Return the ranks form."""
        return rank_file.merge_model(self.ranks)


class RankPipeline(RankTables):
    """The stages before the model: only the split pattern."""

    def normalize(self, text: str) -> str:
        """Return the text: nothing is normalised."""
        return text

    def added_tokens(self) -> Mapping[str, int]:
        """Return no tokens: special tokens are off during measurements, and there are no others."""
        return {}

    def stages(self) -> Stages:
        """Return the stages before the model: the split pattern, which drops unmatched text."""
        splits = (SplitStep(self.ranks.pattern, "fancy_regex", keeps_gaps=False),)
        return Stages(str, (), splits, (), byte_forms(self.vocabulary()), "bpe", whole_pieces=True)


class TiktokenTokenizer(RankPipeline):
    """A rank vocabulary in tiktoken."""

    thread_safe = True

    def __init__(self, ranks: RankVocabulary, label: str) -> None:
        super().__init__(ranks)
        import tiktoken

        with refusing(label, "tiktoken"):
            self.encoding = tiktoken.Encoding(
                label, pat_str=ranks.pattern, mergeable_ranks=dict(ranks.ranks), special_tokens=dict(ranks.special)
            )

    def encode_batch(self, texts: Sequence[str], threads: int = 1) -> Tokens:
        """Encode documents with special tokens as plain text.

        Threads take runs of documents: the batch call hands over each one, which takes longer than to encode a word.
        """
        encode = self._encode
        if threads == 1:
            return Tokens.from_lists([encode(text) for text in texts])
        size = len(texts) // (RUNS * threads) + 1
        runs = [texts[start : start + size] for start in range(0, len(texts), size)]
        with ThreadPoolExecutor(threads) as pool:
            encoded = pool.map(lambda run: [encode(text) for text in run], runs)
            return Tokens.from_lists([ids for run in encoded for ids in run])

    def _encode(self, text: str) -> Ids | Sequence[int]:
        """Return ids as an array where that is faster: a list takes a third of the time that two threads need."""
        if len(text) >= LONG:
            with contextlib.suppress(UnicodeEncodeError):  # half of a surrogate pair: the other call replaces it
                return self.encoding.encode_to_numpy(text, disallowed_special=())
        return self.encoding.encode_ordinary(text)

    def decode(self, ids: Ids) -> bytes:
        """Return the bytes of the text of one document's ids."""
        return self.encoding.decode_bytes(np.asarray(ids).tolist())

    def timed_call(self, texts: Sequence[str], threads: int = 1) -> Timed:
        """Return a loop of the single call on one thread, else the batch call.

        The batch call is a Python executor with a future for every document.
        """
        documents, encode, batch = list(texts), self.encoding.encode_ordinary, self.encoding.encode_ordinary_batch
        if threads > 1:
            return Timed(lambda: batch(documents, num_threads=threads), Tokens.from_lists)
        return Timed(lambda: [encode(text) for text in documents], Tokens.from_lists)

    def timed_decode(self, tokens: Tokens, threads: int = 1) -> Timed:
        """Return the same for decoding to bytes: a loop on one thread, else the batch call."""
        documents = [tokens.document(index).tolist() for index in range(len(tokens))]
        decode, batch = self.encoding.decode_bytes, self.encoding.decode_bytes_batch
        if threads > 1:
            return Timed(lambda: batch(documents, num_threads=threads), b"".join)
        return Timed(lambda: [decode(ids) for ids in documents], b"".join)

    def timed_single(self, text: str) -> Timed:
        """Return tiktoken's single call."""
        encode = self.encoding.encode_ordinary
        return Timed(lambda: encode(text), lambda ids: Tokens.from_lists([ids]))


def read(file: VocabularyFile) -> RankVocabulary:
    """Read a rank file or tekken file.

    Raises:
        InputError: the file has a fault, or a rank file comes without an ``encoding``.
    """
    data = file.fetch()
    if file.kind == "tekken":
        return read_tekken(data, file.label)
    if file.encoding is None:
        raise InputError(f"{file.label} does not say how text is split; add ?pattern=")
    ranks = rank_file.read_ranks(data, file.label)
    rank_file.check_special(file.encoding.special, ranks, file.label)
    is_published = file.encoding.pattern in PATTERNS.values()
    notes = part_of(data, hashlib.sha256(data).hexdigest())
    return RankVocabulary(ranks, file.encoding.special, file.encoding.pattern, exact=is_published, notes=notes)


def load(file: VocabularyFile, options: Mapping[str, str] | None = None) -> TiktokenTokenizer:
    """Load a rank or tekken file into tiktoken; options are in ``file.encoding``."""
    del options
    return TiktokenTokenizer(read(file), file.label)


LOADERS = (Loader("rank_file", "tiktoken", load, ("pattern", "special")), Loader("tekken", "tiktoken", load))

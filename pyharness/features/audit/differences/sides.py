"""One side of a comparison: a loaded row, its ways of reading a text, and what each stage makes of a text.

A *reading* is a setting of the library. ``plain``: special tokens in a text are text, as rows measure. ``control``:
they become their ids, as many libraries do by default. ``template``: plain, with what the post-processor adds.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np

from pyharness import tokenizers
from pyharness.features.audit.differences import definitions, sources
from pyharness.features.audit.differences.changes import keys_of
from pyharness.features.audit.differences.definitions import ADDED, NORMALISER, OTHER, PATTERN, Definition, Key
from pyharness.tokenizers.families.huggingface import HuggingFaceTokenizer
from pyharness.tokenizers.families.sentencepiece import SentencePieceTokenizer
from pyharness.tokenizers.families.tiktoken import TiktokenTokenizer
from pyharness.tokenizers.source import refusing
from pyharness.types import HasVocabulary, Ids, Tokenizer, TokenKind, Tokens, Unsupported

Reading: TypeAlias = Literal["plain", "control", "template"]
_MOST_SECONDS = 5.0  # a stranger's pattern may take for ever on some text
Span: TypeAlias = tuple[int, int, str]  # start and end in characters, and the content of an added token


class Encoder(Protocol):
    """What gives ids for texts in a reading."""

    @property
    def thread_safe(self) -> bool:
        """Whether several threads may encode at a time."""

    def encode(self, texts: Sequence[str], reading: Reading = "plain", threads: int = 1) -> Tokens:
        """Encode texts."""


@dataclass(slots=True)
class Side:
    """A row: ``tokenizer`` gives the ids, ``home`` is the same file in its own library, which explains them."""

    spec: str
    library: str
    tokenizer: Tokenizer
    home: Tokenizer
    definition: Definition
    vocabulary: str | None = None  # rows that claim one vocabulary give equal ids
    spelled: Mapping[int, Key] = field(default_factory=dict)  # by id, as both sides of the comparison spell
    known: frozenset[Key] = frozenset()  # all spellings
    unknown: frozenset[int] = frozenset()  # ids of the unknown token
    equal_stages: frozenset[str] = frozenset()  # stages at which the other side of the comparison cannot differ

    @property
    def thread_safe(self) -> bool:
        """Whether several threads may encode at a time."""
        return bool(getattr(self.tokenizer, "thread_safe", False))

    @property
    def has_engine(self) -> bool:
        """Whether another library than the file's own gives the ids."""
        return self.tokenizer is not self.home

    @property
    def is_settled(self) -> bool:
        """Whether each load of the file is the same tokenizer: no two added tokens are the same text once normalised.

        ``tokenizers`` picks one of them by the order of a hash table, which each load draws again.
        """
        if not isinstance(self.home, HuggingFaceTokenizer):
            return True
        contents = [token.content for token in self.definition.added.values() if token.normalized]
        return len({self.normal(content) for content in contents}) == len(contents)

    @property
    def readings(self) -> tuple[Reading, ...]:
        """Readings that this side has."""
        if self.has_engine:
            return ("plain",)
        if isinstance(self.tokenizer, HuggingFaceTokenizer):
            return ("plain", "control", "template")
        return ("plain", "control") if isinstance(self.tokenizer, TiktokenTokenizer) else ("plain",)

    def encode(self, texts: Sequence[str], reading: Reading = "plain", threads: int = 1) -> Tokens:
        """Encode texts with the row's library in a reading.

        Raises:
            InputError: the library fails on a text.
        """
        with refusing(self.spec, self.library):
            if reading == "plain":
                return self.tokenizer.encode_batch(texts, threads)
            if isinstance(self.tokenizer, TiktokenTokenizer):
                encoding = self.tokenizer.encoding
                return Tokens.from_lists([encoding.encode(text, allowed_special="all") for text in texts])
            library: Any = self.tokenizer.library  # type: ignore[attr-defined]
            library.encode_special_tokens = reading != "control"
            try:
                encoded = library.encode_batch_fast(list(texts), add_special_tokens=reading == "template")
            finally:
                library.encode_special_tokens = True
            return Tokens.from_lists([one.ids for one in encoded])

    def keys(self, ids: Ids) -> list[Key | int]:
        """Return ids as spellings that both sides share; an id without one stays."""
        return [self.spelled.get(token, token) for token in ids.tolist()]

    # -------------------------------------------------------------------------------------- stages

    def added(self, text: str, reading: Reading) -> list[Span] | None:
        """Return the added tokens that are matched in a text; None where the library does not tell."""
        if isinstance(self.home, TiktokenTokenizer):
            return [] if reading != "control" else _special_spans(text, self.definition)
        if not isinstance(self.home, HuggingFaceTokenizer):
            return None
        library, by_id = self.home.library, {token.id: token for token in self.definition.added.values()}
        library.encode_special_tokens = reading != "control"
        try:
            encoded = library.encode(text, add_special_tokens=False)
        finally:
            library.encode_special_tokens = True
        spans: list[Span] = []
        for token, (start, end) in zip(encoded.ids, encoded.offsets, strict=True):
            one = by_id.get(token)
            if one is None or (one.special and reading != "control"):
                continue
            if token not in self.unknown or one.content in text[start:end]:  # the model itself gives the unknown token
                spans.append((start, end, one.content))
        return spans

    def between(self, text: str, reading: Reading) -> list[str]:
        """Return the parts of a text between added tokens: each is normalised and cut by itself."""
        spans = self.added(text, reading)
        if not spans:
            return [text]
        starts, ends = [0, *(end for _, end, _ in spans)], [*(start for start, _, _ in spans), len(text)]
        return [text[start:end] for start, end in zip(starts, ends, strict=True) if start < end]

    def normal(self, text: str) -> str | None:
        """Return a text after the normaliser; None where the library does not tell."""
        if isinstance(self.home, HuggingFaceTokenizer):
            normalizer = self.home.library.normalizer
            return text if normalizer is None else str(normalizer.normalize_str(text))
        if isinstance(self.home, SentencePieceTokenizer):
            return str(self.home.processor.Normalize(text))
        return text if isinstance(self.home, TiktokenTokenizer) else None

    def written_pieces(self, text: str) -> list[tuple[str, tuple[int, int]]] | None:
        """Return the pieces of a normalised text as the model reads them; None where the library does not tell."""
        if not isinstance(self.home, HuggingFaceTokenizer):
            return None
        splitter = self.home.library.pre_tokenizer
        return [(text, (0, len(text)))] if splitter is None else splitter.pre_tokenize_str(text)

    def pieces(self, text: str) -> Iterable[tuple[int, int]] | None:
        """Return where the split pattern cuts a normalised text; None where the library does not tell.

        Raises:
            TimeoutError: on reading them, a stranger's pattern takes too long.
        """
        if (written := self.written_pieces(text)) is not None:
            return [span for _, span in written]
        pattern = self.definition.settings.get(PATTERN)
        return _matches(str(pattern), text) if isinstance(self.home, TiktokenTokenizer) else None


def _matches(pattern: str, text: str) -> Iterable[tuple[int, int]] | None:
    """Return the matches of a pattern in ``regex``, as tiktoken documents it; None where that cannot run it."""
    import regex

    flags = regex.VERSION1 if "&&" in pattern else regex.VERSION0  # intersections of classes, as Kimi's pattern has
    try:
        return (match.span() for match in regex.compile(pattern, flags).finditer(text, timeout=_MOST_SECONDS))
    except regex.error:
        return None


def normalised_otherwise(one: Side, other: Side, text: str) -> bool:
    """Return whether the normalisers make different texts; False where a library does not tell."""
    normal = one.normal(text), other.normal(text)
    return None not in normal and normal[0] != normal[1]


def cut_otherwise(one: Side, other: Side, text: str) -> bool:
    """Return whether the split patterns make other pieces of a text, normalised by the first side.

    False where a library does not tell. The places of cuts are compared. Where both sides spell pieces alike, so is
    what stands in them, such as a space that one side adds.
    """
    normal = one.normal(text)
    text = text if normal is None else normal
    if one.definition.form == other.definition.form:
        written = one.written_pieces(text), other.written_pieces(text)
        if None not in written:
            return written[0] != written[1]
    mine, theirs = one.pieces(text), other.pieces(text)
    if mine is None or theirs is None:
        return False
    try:
        return any(piece != another for piece, another in itertools.zip_longest(mine, theirs))
    except TimeoutError:
        return False


def _special_spans(text: str, definition: Definition) -> list[Span]:
    import regex

    if not definition.added:
        return []
    pattern = _any_of(tuple(sorted(definition.added, key=len, reverse=True)))
    return [(*match.span(), match[0]) for match in regex.finditer(pattern, text)]


@cache
def _any_of(contents: Sequence[str]) -> str:
    import regex

    return "|".join(map(regex.escape, contents))


def load(spec: str) -> Side:
    """Load a side; of a file in gzip or a revision in git, a copy.

    Raises:
        InputError: there is no such row, or it cannot run.
        Unsupported: the row has no vocabulary, so its ids cannot be compared.
    """
    with sources.readable(spec) as place:
        row = tokenizers.obtain(place)
        if row.instead is not None:
            raise Unsupported(f"{spec!r} has no vocabulary: its units have no ids that could be compared")
        tokenizer = tokenizers.load(row)
        has_engine = tokenizers.without_engine(place).text != place and "+" in place.partition(":")[0]
        home = definitions.home(place) if has_engine else tokenizer
    unknown: frozenset[int] = frozenset()
    if isinstance(home, HasVocabulary):
        unknown = frozenset(np.flatnonzero(home.vocabulary().kinds == TokenKind.UNKNOWN).tolist())
    return Side(spec, row.library, tokenizer, home, definitions.definition(home), row.vocabulary, unknown=unknown)


def pair(first: str, second: str) -> tuple[Side, Side]:
    """Load two sides, with spellings that both share.

    Raises:
        InputError: one of them cannot be loaded.
        Unsupported: one of them has no vocabulary.
    """
    return share_spellings(load(first), load(second))


def share_spellings(one: Side, other: Side) -> tuple[Side, Side]:
    """Give both sides the spellings that can be compared, and return them."""
    for side, keys in zip((one, other), keys_of(one.definition, other.definition), strict=True):
        side.spelled, side.known = {token: key for key, token in keys.items()}, frozenset(keys)
    one.equal_stages = other.equal_stages = _equal_stages(one, other)
    return one, other


def _equal_stages(one: Side, other: Side) -> frozenset[str]:
    """Return the stages that both files define alike for one library: to run them takes longer than to encode."""
    if type(one.home) is not type(other.home) or not isinstance(one.home, HuggingFaceTokenizer | TiktokenTokenizer):
        return frozenset()
    settings = one.definition.settings, other.definition.settings
    stages = {stage for stage in (NORMALISER, PATTERN) if settings[0].get(stage) == settings[1].get(stage)}
    added = [{replace(token, id=0) for token in side.definition.added.values()} for side in (one, other)]
    if NORMALISER in stages and added[0] == added[1] and one.is_settled and other.is_settled:
        stages.add(ADDED)
    return frozenset(stages)


def unequal(one: Encoder, other: Encoder, texts: Sequence[str], reading: Reading = "plain") -> list[bool]:
    """Return for each text whether the ids of both sides differ."""
    return differing(one.encode(texts, reading), other.encode(texts, reading))


def differing(mine: Tokens, theirs: Tokens) -> list[bool]:
    """Return for each document whether its ids differ."""
    # array_equal takes ten times as long on texts of a few ids.
    return [mine.document(index).tobytes() != theirs.document(index).tobytes() for index in range(len(mine))]


def same(one: Side, other: Side) -> bool:
    """Return whether files and library say the same: then all ids are equal, whatever the text."""
    all_known = one.definition.kind != OTHER or (one.vocabulary is not None and one.vocabulary == other.vocabulary)
    return (
        all_known
        and one.definition == other.definition
        and (one.library, one.has_engine) == (other.library, other.has_engine)
        and (one.is_settled and other.is_settled)
    )

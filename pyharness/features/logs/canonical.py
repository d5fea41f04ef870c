"""Entries of a log against the canonical ids: those that a tokenizer gives for the text that the ids spell.

Special ids cut an entry. What stands between them is compared, segment by segment: so text is encoded as if each
special token began a new one, as libraries do. Source: docs/deployment.md "Logs of ids".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pyharness.features.logs.entries import LogEntry
from pyharness.types import HasPipeline, HasVocabulary, Ids, InputError, Tokenizer, TokenKind, Unsupported

Cause: TypeAlias = Literal[
    "cut in two", "more tokens", "fewer tokens", "as many tokens", "two ids of one text", "missing space",
    "no text",
]  # fmt: skip
MOST_CUTS = 64  # that are tried in one place: each encodes the entry
CAUSES: Mapping[Cause, str] = {
    "cut in two": "the text was encoded in two parts, or a token was split: each side is canonical by itself",
    "more tokens": "smaller tokens than the rules give, and no single cut explains it",
    "fewer tokens": "larger tokens than the rules give",
    "as many tokens": "other tokens for the same bytes, as many",
    "two ids of one text": "another id with the same bytes",
    "missing space": "the first token lacks the space that the tokenizer puts before a text",
    "no text": "the ids end inside a character, or hold the unknown token: no text has these ids",
}


@dataclass(frozen=True, slots=True)
class IdChange:
    """The first difference of an entry from its canonical ids."""

    line: int
    token: int  # place in the ids of the entry
    cause: Cause
    text: str  # what the differing ids spell
    logged: tuple[int, ...]
    canonical: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class EntryVerdict:
    """What became of an entry: its tokens, and those of the canonical ids of the same text."""

    logged: int
    canonical: int | None  # None: no text has these ids
    change: IdChange | None = None  # None: equal ids, or only counts are known
    has_ids: bool = True


@dataclass(frozen=True, slots=True)
class _Segment:
    """Ids between two special ones: where they begin in the entry, and the text that they spell."""

    start: int
    ids: Ids
    text: str | None  # None: these ids spell no text


class Canonical:
    """The judge of entries: a loaded row.

    Raises:
        Unsupported: the row hides the bytes of its tokens, or marks ends of words in them.
    """

    def __init__(self, row: str, tokenizer: Tokenizer) -> None:
        if not isinstance(tokenizer, HasVocabulary):
            raise Unsupported(f"{row!r} does not give the bytes of its tokens; take the row without the engine")
        self.row, self.tokenizer = row, tokenizer
        self.vocabulary = tokenizer.vocabulary()
        self.lengths = np.diff(self.vocabulary.offsets)
        spelled = tokenizer.decode(tokenizer.encode_batch(["a"]).ids).strip()
        if spelled.startswith(b"a") and spelled != b"a":
            raise Unsupported(f"{row!r} spells 'a' as {spelled.decode('utf-8', 'replace')!r}: its ids lose the text")

    def verdicts(self, entries: Sequence[LogEntry], threads: int = 1) -> list[EntryVerdict]:
        """Judge entries.

        Raises:
            InputError: an id is not of the vocabulary, or a text is not what the ids spell.
        """
        cut = [self._segments(entry) for entry in entries]
        texts = [
            [entry.text or ""] if entry.ids is None else [one.text or "" for one in segments]
            for entry, segments in zip(entries, cut, strict=True)
        ]
        tokens = self.tokenizer.encode_batch([text for some in texts for text in some], threads)
        verdicts, place = [], 0
        for entry, segments, some in zip(entries, cut, texts, strict=True):
            canonical = [tokens.document(place + number) for number in range(len(some))]
            place += len(some)
            verdicts.append(self._verdict(entry, segments, canonical))
        return verdicts

    def _segments(self, entry: LogEntry) -> list[_Segment]:
        if entry.ids is None:
            return []
        ids = np.array(entry.ids, np.uint32)
        kinds = self._kinds(entry, ids)
        special = np.flatnonzero(kinds == TokenKind.SPECIAL).tolist()
        ends = [*special, len(ids)]
        starts = [0, *(place + 1 for place in special)]
        parts = [(start, ids[start:end], kinds[start:end]) for start, end in zip(starts, ends, strict=True)]
        segments = [_Segment(start, some, self._text(some, of)) for start, some, of in parts if len(some)]
        self._check_text(entry, ids, segments)
        return segments

    def _kinds(self, entry: LogEntry, ids: Ids) -> NDArray[np.uint8]:
        limit = len(self.vocabulary)
        outside = ids >= limit
        kinds: NDArray[np.uint8] = self.vocabulary.kinds[np.where(outside, 0, ids)]
        if (wrong := np.flatnonzero(outside | (kinds == TokenKind.ABSENT))).size:
            place = int(wrong[0])
            raise InputError(
                f"line {entry.line}: ids[{place}] is {int(ids[place])}, which {self.row!r} does not have (its ids are "
                f"below {limit:,}); name the tokenizer that wrote the log"
            )
        return kinds

    def _text(self, ids: Ids, kinds: NDArray[np.uint8]) -> str | None:
        if (kinds == TokenKind.UNKNOWN).any():
            return None
        try:
            return self.tokenizer.decode(ids).decode()
        except UnicodeDecodeError:
            return None

    def _check_text(self, entry: LogEntry, ids: Ids, segments: Sequence[_Segment]) -> None:
        """Refuse a text that the ids do not spell, with or without special tokens, or after the normaliser."""
        if entry.text is None or any(one.text is None for one in segments):
            return
        plain = "".join(one.text or "" for one in segments)
        spelled = {plain, self.tokenizer.decode(ids).decode("utf-8", "replace")}
        wanted = {entry.text}
        if isinstance(self.tokenizer, HasPipeline):
            wanted.add(self.tokenizer.normalize(entry.text))
        if not spelled & wanted:
            place = next((at for at, (a, b) in enumerate(zip(plain, entry.text, strict=False)) if a != b),
                         min(len(plain), len(entry.text)))  # fmt: skip
            raise InputError(
                f"line {entry.line}: text and ids disagree at character {place:,}: the text has "
                f"{entry.text[place : place + 20]!r}, the ids of {self.row!r} spell {plain[place : place + 20]!r}; "
                "name the tokenizer that wrote the log, or leave the text out with ?field="
            )

    def _verdict(self, entry: LogEntry, segments: Sequence[_Segment], canonical: Sequence[Ids]) -> EntryVerdict:
        if entry.ids is None:
            return EntryVerdict(entry.tokens, len(canonical[0]), has_ids=False)
        special = len(entry.ids) - sum(len(one.ids) for one in segments)
        change = next(filter(None, map(self._change, [entry] * len(segments), segments, canonical)), None)
        if any(one.text is None for one in segments):
            return EntryVerdict(entry.tokens, None, change)
        return EntryVerdict(entry.tokens, special + sum(map(len, canonical)), change)

    def _change(self, entry: LogEntry, segment: _Segment, canonical: Ids) -> IdChange | None:
        logged = segment.ids
        if segment.text is None:
            shown = self.tokenizer.decode(logged).decode("utf-8", "replace")[-20:]
            return IdChange(entry.line, segment.start, "no text", shown, tuple(logged[-3:].tolist()), ())
        if np.array_equal(logged, canonical):
            return None
        first, mine, theirs = self._span(logged, canonical)
        cause = self._cause(logged, canonical, first, mine, theirs)
        spelled = self.tokenizer.decode(logged[first:mine]).decode("utf-8", "replace")
        return IdChange(
            entry.line, segment.start + first, cause, spelled, tuple(logged[first:mine].tolist()),
            tuple(canonical[first:theirs].tolist()),
        )  # fmt: skip

    def _span(self, logged: Ids, canonical: Ids) -> tuple[int, int, int]:
        """Return where two ways to spell one text part, and where each is at the same byte again."""
        shared = min(len(logged), len(canonical))
        unequal = np.flatnonzero(logged[:shared] != canonical[:shared])
        first = int(unequal[0]) if unequal.size else shared
        ends = [np.cumsum(self.lengths[ids[first:]]) for ids in (logged, canonical)]
        _, mine, theirs = np.intersect1d(ends[0], ends[1], return_indices=True)
        if not len(mine):
            return first, len(logged), len(canonical)
        return first, first + int(mine[0]) + 1, first + int(theirs[0]) + 1

    def _cause(self, logged: Ids, canonical: Ids, first: int, mine: int, theirs: int) -> Cause:
        if first == 0 and self.lengths[logged].sum() == self.lengths[canonical].sum() - 1:
            return "missing space"
        if (mine - first, theirs - first) == (1, 1):
            return "two ids of one text"
        if any(self._explains(logged, cut, mine) for cut in range(first + 1, min(mine, first + MOST_CUTS))):
            return "cut in two"
        more = (mine - first) - (theirs - first)
        return "more tokens" if more > 0 else "fewer tokens" if more < 0 else "as many tokens"

    def _explains(self, logged: Ids, cut: int, end: int) -> bool:
        """Return whether the ids before and behind a cut are canonical by themselves, as far as ``end``."""
        before, behind = logged[:cut], logged[cut:]
        try:
            texts = [self.tokenizer.decode(ids).decode() for ids in (before, behind)]
        except UnicodeDecodeError:
            return False
        tokens = self.tokenizer.encode_batch(texts)
        return np.array_equal(tokens.document(0), before) and np.array_equal(
            tokens.document(1)[: end - cut], behind[: end - cut]
        )

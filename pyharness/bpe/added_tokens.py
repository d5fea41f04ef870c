"""Added tokens: finding them in texts as ``tokenizers`` does, and what stands between them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyharness import _core
from pyharness.types import Tokens
from pyharness.vocabularies.huggingface_file import AddedToken


@dataclass(slots=True)
class Stretches:
    """Documents cut at added tokens: stretches of text that are encoded by themselves, and ids between them.

    ``items`` has the id of each added token, and -1 for each stretch, in order; those of document ``d`` are
    ``items[offsets[d]:offsets[d + 1]]``. ``first`` says which stretches start where their document does.
    """

    texts: Sequence[str | bytes]
    items: NDArray[np.int64] | None = None  # None: every document is one stretch
    offsets: NDArray[np.int64] | None = None
    first: Sequence[bool] | None = None

    @classmethod
    def of_documents(cls, documents: Sequence[str | bytes]) -> Stretches:
        """Return documents as they are: one stretch each."""
        return cls(documents)

    def document_of_stretches(self) -> NDArray[np.uint64]:
        """uint64 [stretches]: the document that each is a part of."""
        if self.items is None or self.offsets is None:
            return np.arange(len(self.texts), dtype=np.uint64)
        documents = np.repeat(np.arange(len(self.offsets) - 1, dtype=np.uint64), np.diff(self.offsets))
        return documents[self.items < 0]

    def is_first(self, stretch: int) -> bool:
        """Whether a stretch starts where its document does."""
        return self.first is None or self.first[stretch]

    def join(self, encoded: Tokens) -> Tokens:
        """Lay the ids of the stretches and of the added tokens end to end, document by document."""
        if self.items is None or self.offsets is None:
            return encoded
        lengths = np.ones(len(self.items), np.int64)
        lengths[self.items < 0] = np.diff(encoded.offsets)
        starts = np.zeros(len(self.items) + 1, np.int64)
        np.cumsum(lengths, out=starts[1:])
        ids = np.empty(int(starts[-1]), np.uint32)
        of_stretch = np.ones(len(ids), np.bool_)
        added = np.flatnonzero(self.items >= 0)
        of_stretch[starts[added]] = False
        ids[starts[added]] = self.items[added]
        ids[of_stretch] = encoded.ids
        return Tokens(ids, starts[self.offsets])


class AddedTokens:
    """Finds tokens in texts: leftmost first, the longest of those that start together, the first of equal ones.

    Normalising can make tokens equal. ``tokenizers`` then takes any of them, not the same in every process.

    Tokens that are ``off`` are found too, and then taken for text: what they cover is not looked at again, as in
    ``tokenizers``.

    Args:
        tokens: with their contents as they stand in the text that is searched.
        off: ids of the tokens that are not to be mapped.
    """

    def __init__(self, tokens: Sequence[AddedToken], off: frozenset[int] = frozenset()) -> None:
        self._tokens = tuple(token for token in tokens if token.content)
        self._off = off
        self._plain = [_is_plain(token) and token.id not in off for token in self._tokens]
        self._lengths = [len(token.content.encode()) for token in self._tokens]
        self.any = any(token.id not in off for token in self._tokens)
        self._finder = _core.AddedTokenFinder([token.content for token in self._tokens])

    def cut(self, before: Stretches, threads: int = 1) -> Stretches:
        """Cut stretches further."""
        if not self.any:
            return before
        starts, tokens, offsets = self._finder.find(before.texts, threads)
        if not len(starts):
            return before
        cutter = _Cutter(before)
        found, which, edges = starts.tolist(), tokens.tolist(), offsets.tolist()
        for index, text in enumerate(before.texts):
            low, high = edges[index], edges[index + 1]
            if low == high:
                cutter.keep(text)
                continue
            data = text.encode() if isinstance(text, str) else text
            cutter.cut(data, self._matches(data, found[low:high], which[low:high]))
        return cutter.finish()

    def _matches(self, data: bytes, starts: list[int], tokens: list[int]) -> Iterator[tuple[int, int, int]]:
        """Start, end and id of what is mapped. Where a token took spaces along, the next can start before its end."""
        after = 0  # end of the latest match
        for found, which in zip(starts, tokens, strict=True):
            start, end = found, found + self._lengths[which]
            token = self._tokens[which]
            if not self._plain[which]:
                if token.id in self._off or (token.single_word and not _stands_alone(data, start, end)):
                    continue
                if token.lstrip:
                    start = max(after, _spaces_start(data, start))
                    if start >= end:  # it is all spaces that the last one took along
                        continue
                if token.rstrip:
                    end = _SPACES.match(data, end).end()  # type: ignore[union-attr] # it matches nothing as well
            after = end
            yield start, end, token.id


class _Cutter:
    """Builds stretches from older ones, in order."""

    def __init__(self, before: Stretches) -> None:
        self._before = before
        self._texts: list[str | bytes] = []
        self._first: list[bool] = []
        self._items: list[list[int]] = []  # of each older stretch

    def keep(self, text: str | bytes) -> None:
        self._first.append(self._before.is_first(len(self._items)))
        self._texts.append(text)
        self._items.append([-1])

    def cut(self, data: bytes, matches: Iterator[tuple[int, int, int]]) -> None:
        first = self._before.is_first(len(self._items))
        items: list[int] = []
        at = 0
        for start, end, token in matches:
            if at < start:
                self._add(data[at:start], first and at == 0, items)
            items.append(token)
            at = end
        if at != len(data):
            self._add(data[at:], first and at == 0, items)
        self._items.append(items)

    def _add(self, data: bytes, first: bool, items: list[int]) -> None:
        self._texts.append(data)
        self._first.append(first)
        items.append(-1)

    def finish(self) -> Stretches:
        before = self._before
        counts = np.array([len(items) for items in self._items], np.int64)
        flat = np.fromiter((item for items in self._items for item in items), np.int64, int(counts.sum()))
        if before.items is None or before.offsets is None:
            return Stretches(self._texts, flat, _ends(counts), self._first)
        # Added tokens of the older cut stay where they were, the new items go where their stretch was.
        lengths = np.ones(len(before.items), np.int64)
        lengths[before.items < 0] = counts
        starts = _ends(lengths)
        items = np.empty(int(starts[-1]), np.int64)
        older = np.repeat(before.items >= 0, lengths)
        items[older] = before.items[before.items >= 0]
        items[~older] = flat
        return Stretches(self._texts, items, starts[before.offsets], self._first)


def _ends(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    ends = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=ends[1:])
    return ends


def _is_plain(token: AddedToken) -> bool:
    return not (token.lstrip or token.rstrip or token.single_word)


# White_Space of Unicode, which Rust's regex and so the library goes by; str.isspace() has U+001C to U+001F too.
_SPACE = tuple(
    chr(point).encode()
    for point in (
        *range(9, 14),
        0x20,
        0x85,
        0xA0,
        0x1680,
        *range(0x2000, 0x200B),
        0x2028,
        0x2029,
        0x202F,
        0x205F,
        0x3000,
    )
)
_SPACES = re.compile(b"(?:" + b"|".join(_SPACE) + b")*")


def _spaces_start(data: bytes, end: int) -> int:
    """Where the white space starts that ends at ``end``."""
    while space := next((space for space in _SPACE if data.endswith(space, 0, end)), b""):
        end -= len(space)
    return end


@lru_cache(maxsize=1)
def _word_patterns() -> tuple[Callable[[str], Any], Callable[[str], Any]]:
    """Word character at the end and at the start, as Rust's regex defines them."""
    import regex

    word = r"[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]"
    return regex.compile(rf"{word}\Z").search, regex.compile(word).match


def _stands_alone(data: bytes, start: int, end: int) -> bool:
    ends_with_word, starts_with_word = _word_patterns()
    before = data[max(start - 4, 0) : start].decode(errors="ignore")  # the last character and what is whole before it
    behind = data[end : end + 4].decode(errors="ignore")
    return not ends_with_word(before) and not starts_with_word(behind)

"""Added tokens in texts, found as ``tokenizers`` finds them, and the stretches of text between them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from pyharness import _core
from pyharness.plugins.registry import suggest
from pyharness.types import InputError, Tokens, offsets_of
from pyharness.vocabularies.huggingface.file import AddedToken

Specials: TypeAlias = Literal["all"] | Collection[str]
_Text = TypeVar("_Text", str, bytes, str | bytes)


@dataclass(slots=True)
class Stretches:
    """Documents cut at added tokens: stretches of text that are encoded separately, and ids between them.

    ``items`` has the id of each added token, and -1 for each stretch, in order. Those of document ``d`` are
    ``items[offsets[d]:offsets[d + 1]]``, at least one.
    """

    texts: Sequence[str | bytes]  # after a cut, objects exist only for texts that Python reads
    items: NDArray[np.int64] | None = None  # None: every document is one stretch
    offsets: NDArray[np.int64] | None = None
    moved: NDArray[np.bool_] | None = None  # [documents]: those whose start the normaliser removed

    def __len__(self) -> int:
        """Number of documents."""
        return len(self.texts) if self.offsets is None else len(self.offsets) - 1

    def document_of_stretches(self) -> NDArray[np.uint64]:
        """Return the document of each stretch: uint64 [stretches]."""
        if self.items is None or self.offsets is None:
            return np.arange(len(self.texts), dtype=np.uint64)
        documents = np.repeat(np.arange(len(self.offsets) - 1, dtype=np.uint64), np.diff(self.offsets))
        return documents[self.items < 0]

    def starts_document(self) -> NDArray[np.bool_]:
        """Return which stretches start with the first character of their document: bool [stretches]."""
        kept = True if self.moved is None else ~self.moved
        if self.items is None or self.offsets is None:
            return np.ones(len(self.texts), np.bool_) & kept
        first = np.zeros(len(self.items), np.bool_)
        first[self.offsets[:-1]] = kept
        return first[self.items < 0]

    def join(self, encoded: Tokens) -> Tokens:
        """Concatenate the ids of the stretches and of the added tokens, document by document."""
        if self.items is None or self.offsets is None:
            return encoded
        return Tokens(*_core.join_stretches(encoded.ids, encoded.offsets, self.items, self.offsets))


class AddedTokens:
    """Finder of tokens in texts: leftmost first, then the longest, then the first of equal ones.

    Normalising can make tokens equal. ``tokenizers`` then takes any of them, not the same in every process.

    Tokens that are ``off`` are matched too, and then treated as text: the search does not look within them again, as in
    ``tokenizers``.

    White space and the characters of words are those of Unicode 16.0, as in ``tokenizers`` 0.23. Invalid UTF-8 is
    neither.

    Args:
        tokens: with their contents as they occur in the searched text.
        off: ids of the tokens that are not to be mapped.
    """

    def __init__(self, tokens: Sequence[AddedToken], off: frozenset[int] = frozenset()) -> None:
        searched = [token for token in tokens if token.content]
        self.any = any(token.id not in off for token in searched)
        self._cutter = _core.AddedTokenCutter(
            [
                (token.content, token.id, token.lstrip, token.rstrip, token.single_word, token.id in off)
                for token in searched
            ]
        )

    def cut(self, before: Stretches, threads: int = 1) -> Stretches:
        """Cut stretches further."""
        cut = self._cutter.cut(before.texts, threads) if self.any else None
        if cut is None:
            return before
        texts, items, offsets = cut
        if before.items is None or before.offsets is None:
            return Stretches(texts, items, offsets, before.moved)
        # Added tokens of the earlier cut stay in place; the new items replace their stretch.
        lengths = np.ones(len(before.items), np.int64)
        lengths[before.items < 0] = np.diff(offsets)
        starts = offsets_of(lengths)
        merged = np.repeat(before.items, lengths)
        merged[merged < 0] = items
        return Stretches(texts, merged, starts[before.offsets], before.moved)


def chosen(
    known: Collection[str], allowed_special: Specials, disallowed_special: Specials
) -> tuple[frozenset[str], frozenset[str]]:
    """Return the special tokens to be mapped, and those to be refused; ``all`` for the latter excludes the mapped.

    Raises:
        InputError: an option names a text that is no special token, or is a ``str`` other than ``all``.
    """
    allowed = _parse_specials("allowed_special", allowed_special, known)
    disallowed = _parse_specials("disallowed_special", disallowed_special, known)
    return allowed, disallowed - allowed if disallowed_special == "all" else disallowed


def _parse_specials(option: str, given: Specials, known: Collection[str]) -> frozenset[str]:
    if isinstance(given, str):
        if given == "all":
            return frozenset(known)
        raise InputError(f"{option} is {given[:60]!r}; it is 'all' or a set of special tokens, such as {{{given!r}}}")
    for content in given:  # a misspelt one would let through what it should refuse
        if content not in known:
            raise suggest("special token", str(content)[:60], known)
    return frozenset(given)


def refuse(texts: Iterable[str | bytes], disallowed: frozenset[str]) -> None:
    """Refuse texts that spell a token.

    Raises:
        InputError: a text does; the message gives the position.
    """
    if not disallowed:
        return
    in_characters, in_bytes = _expressions(disallowed)
    for index, text in enumerate(texts):
        match = (in_bytes if isinstance(text, bytes) else in_characters).search(text)
        if match is None:
            continue
        content = match.group() if isinstance(text, str) else match.group().decode()
        unit = "character" if isinstance(text, str) else "byte"
        raise InputError(
            f"text {index} spells the special token {content!r} at {unit} {match.start()}, which is disallowed: map it "
            f"with allowed_special={{{content!r}}}, or leave it out of disallowed_special to have it encoded as text"
        )


@lru_cache(maxsize=32)
def _expressions(contents: frozenset[str]) -> tuple[re.Pattern[Any], re.Pattern[Any]]:
    longest_first = sorted(contents, key=lambda content: (-len(content), content))
    return (
        re.compile("|".join(map(re.escape, longest_first))),
        re.compile(b"|".join(re.escape(content.encode()) for content in longest_first)),
    )


def joined(text: _Text) -> _Text:
    """Join halves of surrogate pairs; a half without the other becomes U+FFFD, as in ``tiktoken``."""
    if not isinstance(text, str):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def all_joined(texts: Sequence[str | bytes]) -> list[str | bytes]:
    """Return all texts as :func:`joined` does.

    Raises:
        TypeError: ``texts`` is one text, not a sequence of texts.
    """
    if isinstance(texts, (str, bytes)):
        raise TypeError("texts must be a sequence of texts, not one text")
    return [joined(text) for text in texts]

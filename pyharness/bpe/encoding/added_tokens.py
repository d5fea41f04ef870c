"""Added tokens in texts, as ``tokenizers`` finds them, and the stretches of text between them."""

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
    """Documents cut at added tokens: stretches of text that are encoded by themselves, and ids between them.

    ``items`` has the id of each added token, and -1 for each stretch, in order; those of document ``d`` are
    ``items[offsets[d]:offsets[d + 1]]``, one at least.
    """

    texts: Sequence[str | bytes]  # after a cut, objects for those only that Python looks at
    items: NDArray[np.int64] | None = None  # None: every document is one stretch
    offsets: NDArray[np.int64] | None = None
    moved: NDArray[np.bool_] | None = None  # [documents]: whose start the normaliser took away

    def __len__(self) -> int:
        """Documents."""
        return len(self.texts) if self.offsets is None else len(self.offsets) - 1

    def document_of_stretches(self) -> NDArray[np.uint64]:
        """uint64 [stretches]: the document that each is a part of."""
        if self.items is None or self.offsets is None:
            return np.arange(len(self.texts), dtype=np.uint64)
        documents = np.repeat(np.arange(len(self.offsets) - 1, dtype=np.uint64), np.diff(self.offsets))
        return documents[self.items < 0]

    def starts_document(self) -> NDArray[np.bool_]:
        """Bool [stretches]: which of them start with the first character of their document."""
        kept = True if self.moved is None else ~self.moved
        if self.items is None or self.offsets is None:
            return np.ones(len(self.texts), np.bool_) & kept
        first = np.zeros(len(self.items), np.bool_)
        first[self.offsets[:-1]] = kept
        return first[self.items < 0]

    def join(self, encoded: Tokens) -> Tokens:
        """Lay the ids of the stretches and of the added tokens end to end, document by document."""
        if self.items is None or self.offsets is None:
            return encoded
        return Tokens(*_core.join_stretches(encoded.ids, encoded.offsets, self.items, self.offsets))


class AddedTokens:
    """Finds tokens in texts: leftmost first, the longest of those that start together, the first of equal ones.

    Normalising can make tokens equal. ``tokenizers`` then takes any of them, not the same in every process.

    Tokens that are ``off`` are found too, and then taken for text: what they cover is not looked at again, as in
    ``tokenizers``.

    White space and the characters of words are those of Unicode 16.0, as in ``tokenizers`` 0.23. Bytes that are no
    UTF-8 are neither.

    Args:
        tokens: with their contents as they stand in the text that is searched.
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
        # Added tokens of the older cut stay where they were, the new items go where their stretch was.
        lengths = np.ones(len(before.items), np.int64)
        lengths[before.items < 0] = np.diff(offsets)
        starts = offsets_of(lengths)
        merged = np.repeat(before.items, lengths)
        merged[merged < 0] = items
        return Stretches(texts, merged, starts[before.offsets], before.moved)


def chosen(
    known: Collection[str], allowed_special: Specials, disallowed_special: Specials
) -> tuple[frozenset[str], frozenset[str]]:
    """Contents of the special tokens that are mapped, and of those that are refused; ``all`` leaves out the mapped.

    Raises:
        InputError: an option names a text that is no special token.
    """
    allowed = _named("allowed_special", allowed_special, known)
    disallowed = _named("disallowed_special", disallowed_special, known)
    return allowed, disallowed - allowed if disallowed_special == "all" else disallowed


def _named(option: str, given: Specials, known: Collection[str]) -> frozenset[str]:
    if isinstance(given, str):
        if given == "all":
            return frozenset(known)
        raise InputError(f"{option} is {given[:60]!r}; it is 'all' or a set of special tokens, such as {{{given!r}}}")
    for content in given:  # one that is misspelt would let through what it should refuse
        if content not in known:
            raise suggest("special token", str(content)[:60], known)
    return frozenset(given)


def refuse(texts: Iterable[str | bytes], disallowed: frozenset[str]) -> None:
    """Refuse texts that spell a token.

    Raises:
        InputError: one does; the error says where.
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
    """Text with halves of surrogate pairs joined; one without the other half becomes U+FFFD. As ``tiktoken`` has it."""
    if not isinstance(text, str):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def all_joined(texts: Sequence[str | bytes]) -> list[str | bytes]:
    """Texts, each as :func:`joined` gives it."""
    if isinstance(texts, (str, bytes)):
        raise TypeError("texts must be a sequence of texts, not one text")
    return [joined(text) for text in texts]

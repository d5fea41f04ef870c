"""Special tokens that a text spells: which are mapped to their ids, and which must not stand there."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from typing import Any, Literal, TypeAlias, TypeVar

from pyharness.plugins.registry import suggest
from pyharness.types import InputError

Specials: TypeAlias = Literal["all"] | Collection[str]
_Text = TypeVar("_Text", str, bytes, str | bytes)


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

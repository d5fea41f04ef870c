"""Tokens whose ids may be used again: no text of the corpus may have them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from pyharness.bpe.adapting.placing import place
from pyharness.bpe.model.model import BpeModel
from pyharness.types import InputError


def reserved(model: BpeModel, pattern: str | None) -> dict[int, str]:
    """Added tokens whose ids an expression gives to new tokens, with their contents.

    Raises:
        InputError: it matches none.
    """
    if pattern is None:
        return {}
    free = {token for token in place(model, model.id_limit, reuse=pattern).ids.tolist() if token < model.id_limit}
    return {token.id: token.content for token in model.added if token.id in free}


def without(texts: Iterable[str], tokens: Mapping[int, str]) -> Iterator[str]:
    """Texts in which none of some tokens occurs.

    Raises:
        InputError: one does.
    """
    if not tokens:
        yield from texts
        return
    ids = {content: token for token, content in tokens.items()}
    found = re.compile("|".join(map(re.escape, sorted(ids, key=len, reverse=True)))).search
    for text in texts:
        if match := found(text):
            raise InputError(
                f"--reuse would take id {ids[match[0]]} of {match[0]!r}, which occurs in the corpus; match less"
            )
        yield text

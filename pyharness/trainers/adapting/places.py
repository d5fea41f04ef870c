"""Which ids new tokens get: those behind the largest, or first reserved ones and gaps."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from pyharness.bpe.model.model import BpeModel
from pyharness.trainers.adapting.base_file import BaseFile
from pyharness.types import InputError, Placement, TokenKind


@dataclass(frozen=True, slots=True)
class Places:
    """Ids that can be used again, in the order of their use; others follow the largest id.

    ``reserved``: contents of the tokens that lose their ids so; gaps have none.
    """

    limit: int  # of the base: its largest id + 1
    free: tuple[int, ...]
    reserved: Mapping[int, str]

    @classmethod
    def of(cls, base: BaseFile, pattern: str | None) -> Places:
        """Find the places of a base; without a pattern, none is used again.

        Raises:
            InputError: no token can give its id.
        """
        model = base.model
        if pattern is None:
            return cls(model.id_limit, (), {})
        reserved = _reserved(model, re.compile(pattern))
        gaps = np.flatnonzero(model.vocabulary.kinds == TokenKind.ABSENT).tolist()
        least = _least(base)
        free = tuple(token for token in sorted({*reserved, *gaps}) if token >= least)
        if not free:
            behind = f" from {least:,} on, behind the largest rank" if least else ""
            raise InputError(
                f"{base.label} has no reserved or unused token that {pattern!r} matches, and no gap{behind}"
            )
        return cls(model.id_limit, free, {token: reserved[token] for token in free if token in reserved})

    def tokens(self, wanted: int, multiple_of: int) -> int:
        """Number of new tokens with which the number of ids is a multiple: ``wanted`` or some more."""
        while (self.limit + max(0, wanted - len(self.free))) % multiple_of and wanted < 1 << 31:
            wanted += 1
        return wanted

    def place(self, tokens: int) -> Placement:
        """Ids for so many tokens."""
        used = self.free[:tokens]
        size = self.limit + tokens - len(used)
        return Placement(np.array([*used, *range(self.limit, size)], np.uint32), size)

    def watched(self, texts: Iterable[str], label: str) -> Iterator[str]:
        """Texts in which no token occurs whose id may be used again.

        Raises:
            InputError: one does.
        """
        if not self.reserved:
            yield from texts
            return
        contents = {content: token for token, content in self.reserved.items()}
        found = re.compile("|".join(map(re.escape, sorted(contents, key=len, reverse=True)))).search
        for text in texts:
            if match := found(text):
                raise InputError(
                    f"the corpus has {match[0]!r}, the token {contents[match[0]]} of {label}: its id cannot be used "
                    "again; choose another expression for reuse"
                )
            yield text


def _reserved(model: BpeModel, pattern: re.Pattern[str]) -> dict[int, str]:
    """Tokens that no text gives unless it spells them, and that the expression matches in full."""
    tokens = {token.id: token.content for token in model.added}
    for token in np.flatnonzero(model.vocabulary.kinds == TokenKind.UNUSED).tolist():
        merges = model.merges
        string = merges.data[merges.offsets[token] : merges.offsets[token + 1]].tobytes()
        tokens[token] = string.decode(errors="replace")
    return {token: content for token, content in tokens.items() if pattern.fullmatch(content)}


def _least(base: BaseFile) -> int:
    """Smallest id of a new token: in rank files and tekken files, whose ids are ranks, it is behind all others."""
    if base.kind not in ("rank_file", "tekken"):
        return 0
    kinds = base.model.vocabulary.kinds
    return int(np.flatnonzero(kinds == TokenKind.NORMAL)[-1]) + 1

"""A vocabulary that grew in rounds, as data."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from pyharness.types import InputError, TokenKind, Vocabulary
from pyharness.vocabularies.files.vocabulary_file import BIGGEST_ID

Symbols: TypeAlias = Literal["bytes", "characters"]
MOST_BYTES = 1 << 24  # of all strings: what joins took 47 times as much memory where every part of a string is one


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CurriculumModel:
    """Everything that decides ids.

    A text becomes symbols, which are the first strings: bytes in their order, or the characters that were seen.
    ``FixpointEncoder`` joins them. Special tokens and the unknown token, which stands for
    characters that have no symbol, follow the strings; without one, such characters are left out.
    """

    strings: tuple[bytes, ...]  # id -> what it stands for; symbols first, then in the order in which they were added
    symbols: Symbols = "bytes"
    sizes: tuple[int, ...]  # strings before the first round, which are the symbols, and after each
    special: tuple[str, ...] = ()
    unknown: str | None = None
    origin: Mapping[str, Any] = field(default_factory=dict)  # where it comes from; JSON values

    @property
    def alphabet(self) -> tuple[bytes, ...]:
        """The symbols."""
        return self.strings[: self.sizes[0]]

    @property
    def added(self) -> tuple[str, ...]:
        """Special tokens and the unknown token, in the order of their ids."""
        return (*self.special, *(() if self.unknown is None else (self.unknown,)))

    def truncated(self, size: int) -> CurriculumModel:
        """The model of the first ``size`` strings; with one of ``sizes``, as it was after that round.

        Raises:
            InputError: there are not so many, or not even all symbols.
        """
        if not self.sizes[0] <= size <= len(self.strings):
            raise InputError(
                f"a vocabulary of {len(self.strings):,} strings, {self.sizes[0]:,} of them symbols, cannot be cut to "
                f"{size:,}"
            )
        sizes = (*(one for one in self.sizes if one < size), size)
        return dataclasses.replace(self, strings=self.strings[:size], sizes=sizes)

    def vocabulary(self) -> Vocabulary:
        """Return the bytes and kind of every id."""
        first = len(self.strings)
        kinds = {first + place: TokenKind.SPECIAL for place in range(len(self.special))}
        if self.unknown is not None:
            kinds[first + len(self.special)] = TokenKind.UNKNOWN
        return Vocabulary.from_tokens(dict(enumerate((*self.strings, *(one.encode() for one in self.added)))), kinds)


def check(model: CurriculumModel, label: str) -> None:
    """Refuse a model that contradicts itself.

    Raises:
        InputError: strings are empty, equal or too many; the symbols are not what they should be; sizes fall.
    """
    strings, sizes = model.strings, model.sizes
    size = sum(map(len, strings))
    if len(strings) + len(model.added) > BIGGEST_ID or size > MOST_BYTES:
        raise InputError(
            f"{label} has {len(strings):,} strings of {size:,} bytes; at most {MOST_BYTES:,} can be joined"
        )
    if len(set(strings)) != len(strings) or b"" in strings:
        raise InputError(f"{label}: a string is empty, or there are two of it")
    if list(sizes) != sorted(sizes) or not sizes or sizes[0] < 1 or sizes[-1] != len(strings):
        raise InputError(f"{label}: sizes {str(list(sizes))[:60]} are not those of {len(strings):,} strings that grew")
    if model.symbols == "bytes":
        if model.alphabet != tuple(bytes([byte]) for byte in range(256)) or model.unknown is not None:
            raise InputError(f"{label}: its symbols are not the 256 bytes, or it has an unknown token beside them")
    elif not all(_is_character(symbol) for symbol in model.alphabet):
        raise InputError(f"{label}: a symbol is not a character")
    if len(set(model.added)) != len(model.added) or "" in model.added:
        raise InputError(f"{label}: a special token is empty, or there are two of it")


def _is_character(symbol: bytes) -> bool:
    try:
        return len(symbol.decode()) == 1
    except UnicodeDecodeError:
        return False

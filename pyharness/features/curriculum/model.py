"""A vocabulary grown in rounds, and its file, ``format: pyharness-curriculum``: one JSON object.

- ``format``, ``version``, ``digest``, ``written_by``: :mod:`pyharness.vocabularies.own_file`; the version is 1.
- ``tokens``: id -> string, in the byte alphabet of GPT-2 (``Ġthe`` is `` the``): the symbols first.
- ``sizes``: number of tokens before the first round, and after each.
- ``symbols``: ``bytes`` or ``characters``.
- ``special``, ``unknown``: texts of the last ids; ``unknown`` may be null.
- ``origin``: source of the model; does not affect ids.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from pyharness.system import atomic_file
from pyharness.types import InputError, TokenKind, Vocabulary
from pyharness.vocabularies import own_file
from pyharness.vocabularies.files import vocabulary_file
from pyharness.vocabularies.files.byte_alphabet import in_letters
from pyharness.vocabularies.files.json_file import Members, byte_strings
from pyharness.vocabularies.files.vocabulary_file import BIGGEST_ID

Symbols: TypeAlias = Literal["bytes", "characters"]
MOST_BYTES = 1 << 24  # of all strings: the joiner took 47 times as much memory where every part of a string is a string


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CurriculumModel:
    """Everything that affects ids, and the origin of the model.

    A text becomes symbols, which are the first strings: bytes in their order, or characters.
    ``FixpointEncoder`` joins them. Special tokens and the unknown token follow the strings. The unknown token replaces
    characters without a symbol; without it, they are dropped.
    """

    strings: tuple[bytes, ...]  # id -> string; symbols first, then in the order of their addition
    symbols: Symbols = "bytes"
    sizes: tuple[int, ...]  # number of strings before the first round (the symbols) and after each
    special: tuple[str, ...] = ()
    unknown: str | None = None
    origin: Mapping[str, Any] = field(default_factory=dict)  # source of the model; JSON values

    @property
    def alphabet(self) -> tuple[bytes, ...]:
        """The symbols."""
        return self.strings[: self.sizes[0]]

    @property
    def added(self) -> tuple[str, ...]:
        """Special tokens and the unknown token, in the order of their ids."""
        return (*self.special, *(() if self.unknown is None else (self.unknown,)))

    def truncated(self, size: int) -> CurriculumModel:
        """Return the model of the first ``size`` strings; one of ``sizes`` gives the state after that round.

        Raises:
            InputError: the model has fewer strings, or ``size`` is below the number of symbols.
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
        InputError: strings or special tokens are empty, equal or too many; the symbols are wrong; sizes decrease.
    """
    strings, sizes = model.strings, model.sizes
    size = sum(map(len, strings))
    if len(strings) + len(model.added) > BIGGEST_ID or size > MOST_BYTES:
        raise InputError(
            f"{label} has {len(strings) + len(model.added):,} ids and {size:,} bytes of strings; "
            f"the most are {BIGGEST_ID:,} and {MOST_BYTES:,}"
        )
    if len(set(strings)) != len(strings) or b"" in strings:
        raise InputError(f"{label}: a string is empty or occurs twice")
    if list(sizes) != sorted(sizes) or not sizes or sizes[0] < 1 or sizes[-1] != len(strings):
        raise InputError(f"{label}: sizes {str(list(sizes))[:60]} are not those of {len(strings):,} strings that grew")
    if model.symbols == "bytes":
        if model.alphabet != tuple(bytes([byte]) for byte in range(256)) or model.unknown is not None:
            raise InputError(f"{label}: its symbols are not the 256 bytes, or it has an unknown token as well")
    elif not all(_is_character(symbol) for symbol in model.alphabet):
        raise InputError(f"{label}: a symbol is not a character")
    if len(set(model.added)) != len(model.added) or "" in model.added:
        raise InputError(f"{label}: a special token is empty or occurs twice")


def _is_character(symbol: bytes) -> bool:
    try:
        return len(symbol.decode()) == 1
    except UnicodeDecodeError:
        return False


FORMAT = "pyharness-curriculum"
VERSION = 1
MEMBERS = frozenset({"version", "written_by", "symbols", "sizes", "special", "unknown", "origin", "tokens"})


def save(model: CurriculumModel, path: str | Path) -> None:
    """Write a model file atomically; replace an existing one.

    Raises:
        InputError: the model contradicts itself, or the file cannot be written.
    """
    atomic_file.write(Path(path), save_bytes(model, str(path)), overwrite=True)


def load(path: str | Path) -> CurriculumModel:
    """Read a model file.

    Raises:
        InputError: the file cannot be read, is truncated, altered, of a newer version or of another format, or
            contradicts itself.
    """
    return load_bytes(vocabulary_file.read(Path(path)), str(path))


def save_bytes(model: CurriculumModel, label: str = "the model") -> bytes:
    """Return the file content of a model; raise ``InputError``, in which ``label`` is its name."""
    check(model, label)
    members = {
        "symbols": model.symbols,
        "sizes": list(model.sizes),
        "special": list(model.special),
        "unknown": model.unknown,
        "origin": dict(model.origin),
        "tokens": [in_letters(string) for string in model.strings],
    }
    return own_file.write(FORMAT, VERSION, members, label)


def load_bytes(data: bytes, label: str) -> CurriculumModel:
    """Read a model from file content; raise ``InputError``, in which ``label`` is its name."""
    content = own_file.read(FORMAT, VERSION, data, label, "'pyharness list tokenizers' says what")
    if unknown := content.keys() - MEMBERS:
        raise InputError(f"{label}: unknown member {min(unknown)[:40]!r}")
    members = Members(content, label)
    tokens = members.take("tokens", list)
    if len(tokens) > BIGGEST_ID:
        raise InputError(f"{label} has {len(tokens):,} tokens; a vocabulary has at most {BIGGEST_ID:,}")
    model = CurriculumModel(
        strings=tuple(byte_strings(tokens, f"{label}: 'tokens'")),
        symbols=members.choose("symbols", get_args(Symbols)),
        sizes=tuple(members.integers("sizes", 0, len(tokens) + 1).tolist()),
        special=tuple(_texts(members.take("special", list), f"{label}: 'special'")),
        unknown=members.take("unknown", (str, type(None))),
        origin=members.take("origin", dict),
    )
    check(model, label)
    return model


def _texts(values: list[object], label: str) -> list[str]:
    texts = [value for value in values if isinstance(value, str)]
    if len(texts) != len(values):
        raise InputError(f"{label} has an entry that is not a string")
    return texts

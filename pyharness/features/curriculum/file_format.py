"""Files of vocabularies that grew in rounds, ``format: pyharness-curriculum``: one JSON object.

- ``format``, ``version``, ``digest``, ``written_by``: :mod:`pyharness.vocabularies.files.own_file`; the version is 1.
- ``tokens``: id -> string, in the byte alphabet of GPT-2 (``Ġthe`` is `` the``): the symbols first.
- ``sizes``: how many of them there were before the first round, and after each.
- ``symbols``: ``bytes`` or ``characters``.
- ``special``, ``unknown``: texts of the last ids; ``unknown`` may be null.
- ``origin``: where the model comes from; decides nothing.
"""

from __future__ import annotations

from pathlib import Path
from typing import get_args

from pyharness.features.curriculum.model import CurriculumModel, Symbols, check
from pyharness.system import atomic_file
from pyharness.types import InputError
from pyharness.vocabularies.files import own_file, vocabulary_file
from pyharness.vocabularies.files.byte_alphabet import in_letters
from pyharness.vocabularies.files.members import Members, byte_strings
from pyharness.vocabularies.files.vocabulary_file import BIGGEST_ID

FORMAT = "pyharness-curriculum"
VERSION = 1
MEMBERS = frozenset({"version", "written_by", "symbols", "sizes", "special", "unknown", "origin", "tokens"})


def save(model: CurriculumModel, path: str | Path) -> None:
    """Write a model file, whole or not at all. What is there is replaced.

    Raises:
        InputError: the model contradicts itself, or the file cannot be written.
    """
    atomic_file.write(Path(path), save_bytes(model, str(path)), overwrite=True)


def load(path: str | Path) -> CurriculumModel:
    """Read a model file.

    Raises:
        InputError: the file is cut off, altered, of a newer version, or no such file.
    """
    return load_bytes(vocabulary_file.read(Path(path)), str(path))


def save_bytes(model: CurriculumModel, label: str = "the model") -> bytes:
    """Content of the file of a model; ``label`` is what errors call it."""
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
    """Model of the content of a file; ``label`` is what errors call it."""
    content = own_file.read(FORMAT, VERSION, data, label, "'pyharness list tokenizers' says what")
    if unknown := content.keys() - MEMBERS:
        raise InputError(f"{label}: unknown member {min(unknown)[:40]!r}")
    members = Members(content, label)
    tokens = members.take("tokens", list)
    if len(tokens) > BIGGEST_ID:
        raise InputError(f"{label} has {len(tokens):,} tokens; a vocabulary has at most {BIGGEST_ID:,}")
    model = CurriculumModel(
        strings=tuple(byte_strings(tokens, f"{label}: 'tokens'")),
        symbols=_symbols(members),
        sizes=tuple(members.integers("sizes", 0, len(tokens) + 1).tolist()),
        special=tuple(_texts(members.take("special", list), f"{label}: 'special'")),
        unknown=members.take("unknown", (str, type(None))),
        origin=members.take("origin", dict),
    )
    check(model, label)
    return model


def _symbols(members: Members) -> Symbols:
    chosen: Symbols = members.choose("symbols", get_args(Symbols))
    return chosen


def _texts(values: list[object], label: str) -> list[str]:
    texts = [value for value in values if isinstance(value, str)]
    if len(texts) != len(values):
        raise InputError(f"{label} has an entry that is no string")
    return texts

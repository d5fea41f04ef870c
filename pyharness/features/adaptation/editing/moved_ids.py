"""What editors of every format ask of new ids, and of maps from old ids to new ones."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NoReturn, TypeVar

import numpy as np

from pyharness.features.adaptation.types import IdMap
from pyharness.types import InputError
from pyharness.vocabularies.files.vocabulary_file import BIGGEST_ID

# Keys of settings whose values are ids: numbers, lists of numbers, or objects that map names to them. Of these only
# those of Whisper and SeamlessM4T: label_to_id numbers classes, and vocoder_lang_code_to_id is of another vocabulary.
NAMES_IDS = re.compile(
    r"\w+_token_ids?|\w+_token_index|(begin_)?suppress_tokens|(bad|force)_words_ids|(lang|task)_to_id"
    r"|text_decoder_lang_to_code_id"
)
AMBIGUOUS = ("forced_decoder_ids", "sequence_bias")  # ids beside other numbers
_DIGITS = len(str(BIGGEST_ID))
_String = TypeVar("_String", str, bytes)


def check_new(tokens: Sequence[tuple[int, bytes]], label: str) -> None:
    """Refuse new tokens without a string, two of one string or id, and ids that are none."""
    strings: set[bytes] = set()
    ids: set[int] = set()
    for token, string in tokens:
        if not 0 <= token < BIGGEST_ID:
            raise InputError(f"{label}: the new token {string!r} gets id {token}; ids are below {BIGGEST_ID:,}")
        if not string or string in strings or token in ids:
            raise InputError(f"{label}: the new token {string!r} (id {token}) is empty, or there are two of it")
        strings.add(string)
        ids.add(token)


def check_absent(strings: Iterable[_String], present: Mapping[_String, int], label: str) -> None:
    """Refuse new strings that the file has."""
    for string in strings:
        if string in present:
            raise InputError(f"{label} has the new token {string!r} already, as id {present[string]}")


def check_map(ids: IdMap, owners: Mapping[int, object], label: str, *, gaps: bool = True) -> None:
    """Refuse a map that leaves out an id of the file, or changes the order of those that stay.

    ``gaps``: whether ids may be left out of the new numbering, or 0, 1, 2, ... must have an owner each.
    """
    if (largest := max(owners)) >= len(ids):
        raise InputError(f"{label} has id {largest}, and the map is of {len(ids)} ids: it is of another file")
    kept = ids.new[np.array(sorted(owners))]
    kept = kept[kept >= 0]
    if (np.diff(kept) <= 0).any() or (len(kept) and int(kept[-1]) >= ids.size):
        raise InputError(f"{label}: the map of ids changes their order, joins two, or goes beyond its {ids.size:,} ids")
    if not gaps and not np.array_equal(kept, np.arange(len(kept))):
        raise InputError(f"{label} numbers its tokens without gaps, and the map of ids has some")


def moved(ids: IdMap, token: int, what: str, label: str) -> int:
    """New id of one that has to stay; an id that the map does not speak of is what it was."""
    if token >= len(ids) or token < 0:
        return token
    if ids.new[token] < 0:
        refuse_removal(token, what, label)
    return int(ids.new[token])


def id_of_key(key: str) -> int | None:
    """Id that a key of a JSON object is, in decimal digits of ASCII; None where it is none."""
    return int(key) if key.isascii() and key.isdecimal() and len(key) <= _DIGITS else None


def refuse_removal(token: int, what: str, label: str) -> NoReturn:
    """Raise the error for a token that cannot go."""
    raise InputError(f"{label}: {what} has id {token}, which would be removed; keep that token")

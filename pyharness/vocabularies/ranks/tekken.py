"""Mistral's tekken JSON: a rank file with its pattern and special tokens inside.

The model's ids are rank + number of special tokens; ids below that number are special. Entries beyond the default
vocabulary size are in the file but not in the model, and must not take part in merging.
"""

from __future__ import annotations

import binascii
from collections.abc import Mapping
from typing import Any

from pyharness.types import InputError
from pyharness.vocabularies.files.json_file import parse_json
from pyharness.vocabularies.files.stage_bounds import check_pattern
from pyharness.vocabularies.files.vocabulary_file import BIGGEST_ID
from pyharness.vocabularies.ranks.rank_file import RankVocabulary, check_ranks


def read_tekken(data: bytes, label: str) -> RankVocabulary:
    """Parse a tekken file into ranks that are the model's ids."""
    content = parse_json(data, label)
    config = _field(content, "config", dict, label)
    pattern = _field(config, "pattern", str, label)
    check_pattern(pattern, label)
    specials = _count(config, "default_num_special_tokens", label)
    size = _count(config, "default_vocab_size", label)
    vocab = _field(content, "vocab", list, label)
    if not 0 <= specials < size or size - specials > len(vocab):
        raise InputError(
            f"{label}: a vocabulary of {size:,} ids with {specials:,} special ones needs "
            f"{max(0, size - specials):,} entries, the file has {len(vocab):,}"
        )
    ranks: dict[bytes, int] = {}
    for index, entry in enumerate(vocab[: size - specials]):
        token = _token(entry, index, label)
        if token in ranks:
            raise InputError(f"{label}: entries {ranks[token] - specials} and {index} are both {token!r}")
        ranks[token] = index + specials
    check_ranks(ranks, label)
    notes = (f"ids are rank + {specials}; {len(vocab) - size + specials:,} entries of the file are outside the model",)
    return RankVocabulary(ranks, _special(content, specials, label), pattern, exact=True, notes=notes)


def _field(content: Mapping[str, Any], name: str, kind: type, label: str) -> Any:
    value = content.get(name)
    if not isinstance(value, kind):
        raise InputError(f"{label}: {name!r} is {type(value).__name__}, not {kind.__name__}")
    return value


def _count(config: Mapping[str, Any], name: str, label: str) -> int:
    value = config.get(name)
    if type(value) is not int or not 0 <= value < BIGGEST_ID:
        raise InputError(f"{label}: {name!r} is {value!r}, not a number from 0 to {BIGGEST_ID:,}")
    return value


def _token(entry: Any, index: int, label: str) -> bytes:
    if not isinstance(entry, dict) or entry.get("rank") != index or not isinstance(entry.get("token_bytes"), str):
        raise InputError(
            f"{label}: vocab entry {index} is not {{rank: {index}, token_bytes: base64}}: {str(entry)[:80]}"
        )
    try:
        return binascii.a2b_base64(entry["token_bytes"], strict_mode=True)
    except (binascii.Error, ValueError) as error:
        raise InputError(f"{label}: token_bytes of vocab entry {index} is not base64: {error}") from None


def _special(content: Mapping[str, Any], count: int, label: str) -> dict[str, int]:
    # Files before v8 leave the names to mistral-common's code; ours say what the id is.
    names = {token: f"<SPECIAL_{token}>" for token in range(count)}
    for entry in content.get("special_tokens") or ():
        if (
            not isinstance(entry, dict)
            or type(entry.get("rank")) is not int
            or not isinstance(entry.get("token_str"), str)
        ):
            raise InputError(f"{label}: special token {str(entry)[:80]} has no rank or token_str")
        if entry["rank"] not in names:
            raise InputError(
                f"{label}: special token {entry['token_str']!r} has rank {entry['rank']}, not below {count}"
            )
        names[entry["rank"]] = entry["token_str"]
    special = {name: token for token, name in names.items()}
    if len(special) != len(names):
        raise InputError(f"{label} names two special tokens alike")
    return special

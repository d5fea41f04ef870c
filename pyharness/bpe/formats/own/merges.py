"""The member ``merges`` of a model file."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from pyharness.types import Ids, InputError, MergeModel, Vocabulary
from pyharness.vocabularies.files.json_file import Members, byte_strings, integers
from pyharness.vocabularies.files.merge_model import byte_level_model, symbol_model
from pyharness.vocabularies.files.vocabulary_file import BIGGEST_ID


def read_merges(members: Members, internal: Vocabulary, alphabet: Mapping[bytes, int], *, in_bytes: bool) -> MergeModel:
    """Merge model of the internal tokens; ``in_bytes``: every base symbol is a byte and nothing more.

    Raises:
        InputError: neither or both of rules and ranks, a wrong length, an id out of range, or a byte without a symbol.
    """
    rules, ranks = _rules(members, len(internal)), _ranks(members, len(internal))
    if (rules is None) == (ranks is None):
        raise InputError(f"{members.label} must have either 'rules' or 'ranks'")
    if "base" in members.content:
        strings, base = _symbols(members, len(internal))
        return symbol_model(strings, base, internal.kinds, rules=rules, ranks=ranks)
    if not in_bytes:
        raise InputError(f"{members.label} has no 'base', which only symbols that are bytes can do without")
    absent = np.iinfo(np.uint32).max
    byte_ids = np.array([alphabet.get(bytes([byte]), absent) for byte in range(256)], np.uint32)
    present = np.bincount(internal.data, minlength=256) > 0
    if (present & (byte_ids == absent)).any():
        raise InputError(f"{members.label}: a token has a byte that is not in the alphabet")
    return byte_level_model(internal, byte_ids, rules=rules, ranks=ranks)


def _symbols(members: Members, size: int) -> tuple[list[bytes], list[list[int]]]:
    """String of every token before decoding, and the base symbols that it starts from."""
    base = members.take("base", list)
    strings = byte_strings(members.take("strings", list), f"{members.label}: 'strings'")
    label = f"{members.label}: 'base'"
    if len(base) != size or len(strings) != size or not set(map(type, base)) <= {list}:
        raise InputError(f"{label} and 'strings' must have one entry for each of the {size:,} tokens")
    integers([symbol for symbols in base for symbol in symbols], 0, size, label)
    return strings, base


def _rules(members: Members, size: int) -> NDArray[np.uint32] | None:
    if "rules" not in members.content:
        return None
    flat = members.integers("rules", 0, size)
    if len(flat) % 3:
        raise InputError(f"{members.label}: 'rules' is cut off: {len(flat)} ids are no triples")
    return flat.astype(np.uint32).reshape(-1, 3)


def _ranks(members: Members, size: int) -> Ids | None:
    if "ranks" not in members.content:
        return None
    ranks = members.integers("ranks", -1, BIGGEST_ID)
    if len(ranks) != size:
        raise InputError(f"{members.label}: {len(ranks)} ranks for {size} tokens")
    return ranks.astype(np.uint32)

"""Adds tokens to rank files, or takes some away; the lines of all others stay as they are."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from pyharness.features.adaptation.editing.moved_ids import check_absent, check_map, check_new, refuse_removal
from pyharness.features.adaptation.types import IdMap
from pyharness.types import InputError
from pyharness.vocabularies.ranks.rank_file import read_ranks, write_ranks

_RANK = re.compile(rb"^(\s*\S+\s+)([0-9]+)")


def extend_ranks(data: bytes, tokens: Sequence[tuple[int, bytes]], label: str) -> bytes:
    """Put lines behind the last. Ids are ranks: new ones are above all that are there, and may leave gaps.

    Raises:
        InputError: the file is damaged; a token is there already; an id is not above those before it.
    """
    ranks = read_ranks(data, label)
    check_new(tokens, label)
    check_absent([string for _, string in tokens], ranks, label)
    _check_order([token for token, _ in tokens], max(ranks.values()), label)
    lines = data.splitlines(keepends=True)
    ending = lines[-1][len(lines[-1].rstrip(b"\r\n")) :] or b"\n"
    new = b"".join(line + ending for line in write_ranks({string: token for token, string in tokens}).splitlines())
    return data if not new else data + (b"" if lines[-1].endswith((b"\r", b"\n")) else ending) + new


def _check_order(ids: Sequence[int], largest: int, label: str) -> None:
    before = largest
    for token in ids:
        if token <= before:
            raise InputError(f"{label}: a new token gets id {token} after {before}; ids are ranks here, and rise")
        before = token


def prune_ranks(data: bytes, ids: IdMap, label: str) -> bytes:
    """Leave out the lines of removed tokens, and write the new ranks of the others.

    Raises:
        InputError: the file is damaged; a single byte would go; the map is of another file or changes the order.
    """
    ranks = read_ranks(data, label)
    check_map(ids, {rank: token for token, rank in ranks.items()}, label)
    check_bytes_stay(ranks, ids, label)
    new = ids.new.tolist()
    lines = []
    for line in data.splitlines(keepends=True):
        entry = _RANK.match(line)
        rank = int(entry[2]) if entry else -1
        if entry is None or new[rank] == rank:
            lines.append(line)
        elif new[rank] >= 0:
            lines.append(b"%s%d%s" % (entry[1], new[rank], line[entry.end() :]))
    result = b"".join(lines)
    return result if result == data or result.endswith((b"\r", b"\n")) else result + b"\n"


def check_bytes_stay(ranks: Mapping[bytes, int], ids: IdMap, label: str) -> None:
    """Refuse a map that removes a single byte."""
    for byte in range(256):
        if ids.new[ranks[bytes([byte])]] < 0:
            refuse_removal(ranks[bytes([byte])], f"the byte 0x{byte:02X}", label)

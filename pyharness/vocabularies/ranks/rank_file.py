"""Rank files: one token per line, ``base64 rank``. Read and checked without tiktoken."""

from __future__ import annotations

import binascii
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from pyharness.types import InputError, MergeModel, TokenKind, Vocabulary
from pyharness.vocabularies.files.bpe_model import byte_level_model
from pyharness.vocabularies.files.vocabulary_file import BIGGEST_ID


@dataclass(frozen=True, slots=True)
class RankVocabulary:
    """A byte-level BPE vocabulary whose merge order is its ids, with what tiktoken needs to run it."""

    ranks: Mapping[bytes, int]
    special: Mapping[str, int]
    pattern: str
    exact: bool = True  # the pattern is known to cover every text
    notes: tuple[str, ...] = ()


def read_ranks(data: bytes, label: str) -> dict[bytes, int]:
    """Parse a rank file; a line that is not ``base64 rank``, a double token or rank, or a lost byte is an error."""
    ranks: dict[bytes, int] = {}
    for number, line in enumerate(data.splitlines(), 1):
        if not line.strip():
            continue
        token, rank = _entry(line, number, label)
        if token in ranks:
            raise InputError(f"{label}, line {number}: token {token!r} occurs twice (ranks {ranks[token]} and {rank})")
        ranks[token] = rank
    check_ranks(ranks, label)
    _check_last(data, ranks, label)
    return ranks


def _check_last(data: bytes, ranks: Mapping[bytes, int], label: str) -> None:
    """Refuse a file that ends within its last line: its rank has lost digits, and is not the one that comes next."""
    if data.endswith(b"\n"):
        return
    *_, before, last = (-1, *ranks.values())
    if last != before + 1:
        raise InputError(f"{label} ends within its last line (rank {last} after {before}): it is cut off")


def _entry(line: bytes, number: int, label: str) -> tuple[bytes, int]:
    parts = line.split()
    if len(parts) != 2:
        raise InputError(f"{label}, line {number}: {line[:60]!r} is not a base64 token and a rank")
    try:
        # Whisper's file writes its empty token as a lone "=", which strict decoders refuse.
        token = b"" if parts[0] == b"=" else binascii.a2b_base64(parts[0], strict_mode=True)
    except binascii.Error as error:
        raise InputError(f"{label}, line {number}: {parts[0][:60]!r} is not base64: {error}") from None
    if not parts[1].isdigit() or len(parts[1]) > 20:
        raise InputError(f"{label}, line {number}: rank {parts[1][:30]!r} is not an integer of 0 or more")
    rank = int(parts[1])
    if rank >= BIGGEST_ID:
        raise InputError(f"{label}, line {number}: rank {rank} is too large; ids are below {BIGGEST_ID:,}")
    return token, rank


def check_ranks(ranks: Mapping[bytes, int], label: str) -> None:
    """Refuse what would make tiktoken panic while encoding: double ranks, missing single bytes."""
    if len(set(ranks.values())) != len(ranks):
        owners: dict[int, bytes] = {}
        for token, rank in ranks.items():
            if rank in owners:
                raise InputError(f"{label}: rank {rank} belongs to both {owners[rank]!r} and {token!r}")
            owners[rank] = token
    missing = [byte for byte in range(256) if bytes([byte]) not in ranks]
    if missing:
        shown = ", ".join(f"0x{byte:02X}" for byte in missing[:5])
        raise InputError(
            f"{label} lacks {len(missing)} of the 256 single bytes ({shown}, ...): it is cut off or no rank file"
        )


def check_special(special: Mapping[str, int], ranks: Mapping[bytes, int], label: str) -> None:
    """Refuse special tokens whose id is taken."""
    taken = {rank: token for token, rank in ranks.items()}
    seen: dict[int, str] = {}
    for content, token in special.items():
        if token in taken or token in seen:
            owner: object = taken.get(token, seen.get(token))
            raise InputError(f"{label}: special token {content!r} has id {token}, which belongs to {owner!r}")
        seen[token] = content


def vocabulary(ranks: RankVocabulary) -> Vocabulary:
    """Bytes of every rank and special token."""
    tokens = {token: data for data, token in ranks.ranks.items()}
    special = {token: content.encode() for content, token in ranks.special.items()}
    return Vocabulary.from_tokens(tokens | special, dict.fromkeys(special, TokenKind.SPECIAL))


def merge_model(ranks: RankVocabulary) -> MergeModel:
    """Ranks form: an id is its own rank."""
    table = vocabulary(ranks)
    bytes_to_id = np.array([ranks.ranks[bytes([byte])] for byte in range(256)], np.uint32)
    order = np.arange(len(table), dtype=np.uint32)
    lengths = np.diff(table.offsets)
    order[(table.kinds != TokenKind.NORMAL) | (lengths < 2)] = np.iinfo(np.uint32).max
    return byte_level_model(table, bytes_to_id, ranks=order)


def write_ranks(ranks: Mapping[bytes, int]) -> bytes:
    """Rank file with these contents, in order of rank, for engines that read only files."""
    lines = [
        (binascii.b2a_base64(token, newline=False) or b"=") + b" %d\n" % rank  # as Whisper's file has its empty token
        for token, rank in sorted(ranks.items(), key=lambda item: item[1])
    ]
    return b"".join(lines)

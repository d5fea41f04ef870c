"""Rank files, read and checked without their libraries: lines of ``base64 rank``, and Mistral's tekken JSON.

A tekken file contains its pattern and special tokens. The model's ids are rank + number of special tokens; ids below
that number are special. Entries beyond the default vocabulary size are in the file but not in the model, and must not
take part in merging.
"""

from __future__ import annotations

import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pyharness.types import InputError, MergeModel, TokenKind, Vocabulary
from pyharness.vocabularies.encodings import PATTERNS
from pyharness.vocabularies.files.json_file import Members, parse_json
from pyharness.vocabularies.files.merge_model import byte_level_model
from pyharness.vocabularies.files.stage_bounds import check_pattern
from pyharness.vocabularies.files.vocabulary_file import BIGGEST_ID

# The first ids of a tekken file that lists no special tokens, as files before v8: mistral-common's code names them.
TEKKEN_NAMES = [
    "<unk>", "<s>", "</s>", "[INST]", "[/INST]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[TOOL_RESULTS]",
    "[/TOOL_RESULTS]", "[TOOL_CALLS]", "[IMG]", "<pad>", "[IMG_BREAK]", "[IMG_END]", "[PREFIX]", "[MIDDLE]", "[SUFFIX]",
    "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[TOOL_CONTENT]",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class RankVocabulary:
    """A byte-level BPE vocabulary whose merge order is its ids, with the parameters of tiktoken's encoder."""

    ranks: Mapping[bytes, int]
    special: Mapping[str, int]
    pattern: str
    exact: bool = True  # the pattern is known to cover every text
    notes: tuple[str, ...] = ()


def read_ranks(data: bytes, label: str) -> dict[bytes, int]:
    """Parse a rank file; lines of white space are skipped.

    Raises:
        InputError: another line is not ``base64 rank``, a token or rank occurs twice, a byte is missing, or the last
            line is cut off.
    """
    ranks: dict[bytes, int] = {}
    for number, line in enumerate(data.splitlines(), 1):
        if not line.strip():
            continue
        token, rank = _entry(line, number, label)
        if token in ranks:
            raise InputError(f"{label}, line {number}: token {token!r} occurs twice (ranks {ranks[token]} and {rank})")
        ranks[token] = rank
    check_ranks(ranks, label)
    if not data.endswith(b"\n"):  # its last line may have lost digits
        *_, before, last = (-1, *ranks.values())
        if last != before + 1:
            raise InputError(f"{label} ends within its last line (rank {last} after {before}): it is cut off")
    return ranks


def _entry(line: bytes, number: int, label: str) -> tuple[bytes, int]:
    parts = line.split()
    if len(parts) != 2:
        raise InputError(f"{label}, line {number}: {line[:60]!r} is not a base64 token and a rank")
    try:
        # Whisper's file writes its empty token as a lone "=", which strict decoders refuse.
        token = b"" if parts[0] == b"=" else binascii.a2b_base64(parts[0], strict_mode=True)
    except binascii.Error as error:
        raise InputError(f"{label}, line {number}: {parts[0][:60]!r} is not base64: {error}") from None
    if not parts[1].isdigit() or len(parts[1]) > 20 or int(parts[1]) >= BIGGEST_ID:
        raise InputError(f"{label}, line {number}: rank {parts[1][:30]!r} is no integer from 0 to below {BIGGEST_ID:,}")
    return token, int(parts[1])


def check_ranks(ranks: Mapping[bytes, int], label: str) -> None:
    """Refuse ranks on which tiktoken would panic while encoding: double ranks, missing single bytes.

    Raises:
        InputError: a rank occurs twice, or a byte is missing.
    """
    if len(set(ranks.values())) != len(ranks):
        owners: dict[int, bytes] = {}
        for token, rank in ranks.items():
            if rank in owners:
                raise InputError(f"{label}: rank {rank} belongs to both {owners[rank]!r} and {token!r}")
            owners[rank] = token
    missing = [byte for byte in range(256) if bytes([byte]) not in ranks]
    if missing:
        shown = ", ".join([f"0x{byte:02X}" for byte in missing[:5]] + ["..."] * (len(missing) > 5))
        raise InputError(
            f"{label} lacks {len(missing)} of the 256 single bytes ({shown}): it is cut off or no rank file"
        )


def check_special(special: Mapping[str, int], ranks: Mapping[bytes, int], label: str) -> None:
    """Refuse special tokens whose id another token has.

    Raises:
        InputError: there is such a token.
    """
    ids = set(special.values())
    taken = {rank: token for token, rank in ranks.items() if rank in ids}
    seen: dict[int, str] = {}
    for content, token in special.items():
        if token in taken or token in seen:
            owner: object = taken.get(token, seen.get(token))
            raise InputError(f"{label}: special token {content!r} has id {token}, which belongs to {owner!r}")
        seen[token] = content


def vocabulary(ranks: RankVocabulary) -> Vocabulary:
    """Return the bytes of every rank and special token."""
    tokens = {token: data for data, token in ranks.ranks.items()}
    special = {token: content.encode() for content, token in ranks.special.items()}
    return Vocabulary.from_tokens(tokens | special, dict.fromkeys(special, TokenKind.SPECIAL))


def merge_model(ranks: RankVocabulary) -> MergeModel:
    """Return the model in ranks form: an id is its own rank."""
    table = vocabulary(ranks)
    bytes_to_id = np.array([ranks.ranks[bytes([byte])] for byte in range(256)], np.uint32)
    order = np.arange(len(table), dtype=np.uint32)
    lengths = np.diff(table.offsets)
    order[(table.kinds != TokenKind.NORMAL) | (lengths < 2)] = np.iinfo(np.uint32).max
    return byte_level_model(table, bytes_to_id, ranks=order)


def write_ranks(ranks: Mapping[bytes, int]) -> bytes:
    """Write a rank file with these contents, in order of rank, for engines that read only files."""
    lines = [
        (binascii.b2a_base64(token, newline=False) or b"=") + b" %d\n" % rank  # Whisper's empty token is "="
        for token, rank in sorted(ranks.items(), key=lambda item: item[1])
    ]
    return b"".join(lines)


def read_tekken(data: bytes, label: str) -> RankVocabulary:
    """Parse a tekken file into ranks that are the model's ids.

    Raises:
        InputError: the file is damaged, or has fewer entries than the model needs.
    """
    content = Members(parse_json(data, label), label)
    config = Members(content.take("config", dict), label)
    pattern = config.take("pattern", str)
    check_pattern(pattern, label)
    specials = config.integer("default_num_special_tokens", 0, BIGGEST_ID - 1)
    size = config.integer("default_vocab_size", 0, BIGGEST_ID - 1)
    vocab = content.take("vocab", list)
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
    return RankVocabulary(ranks, _special(content, specials, label), pattern, pattern in PATTERNS.values(), notes)


def _token(entry: Any, index: int, label: str) -> bytes:
    if not isinstance(entry, dict) or entry.get("rank") != index or not isinstance(entry.get("token_bytes"), str):
        raise InputError(
            f"{label}: vocab entry {index} is not {{rank: {index}, token_bytes: base64}}: {str(entry)[:80]}"
        )
    try:
        return binascii.a2b_base64(entry["token_bytes"], strict_mode=True)
    except (binascii.Error, ValueError) as error:
        raise InputError(f"{label}: token_bytes of vocab entry {index} is not base64: {error}") from None


def _special(content: Members, count: int, label: str) -> dict[str, int]:
    names = {token: f"<SPECIAL_{token}>" for token in range(count)}
    if (listed := content.take("special_tokens", (list, type(None)))) is None:
        names |= dict(zip(range(count), TEKKEN_NAMES, strict=False))
    for place, entry in enumerate(listed or ()):
        token = Members(entry, f"{label}: special token {place}")
        names[token.integer("rank", 0, count - 1)] = token.take("token_str", str)
    special = {name: token for token, name in names.items()}
    if len(special) != len(names):
        raise InputError(f"{label} names two special tokens alike")
    return special

"""minbpe's ``.model`` files: ``minbpe v1``, the split pattern, special tokens, and the merges in order.

Merge ``k`` makes the id ``256 + k``, and the first 256 ids are the bytes. White space around a line is insignificant,
even around the pattern. Source: karpathy/minbpe ``minbpe/base.py``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyharness.types import InputError
from pyharness.vocabularies.files.stage_bounds import check_pattern
from pyharness.vocabularies.files.vocabulary_file import BIGGEST_ID

VERSION = "minbpe v1"
MAX_BYTES = 1 << 28  # of all tokens: every merge can double a token, so 60 lines could ask for 2**60 bytes


@dataclass(frozen=True, slots=True)
class MinbpeFile:
    """A checked file. An empty pattern is that of ``BasicTokenizer``: the whole text is one piece."""

    pattern: str
    special: Mapping[str, int]  # content -> id
    merges: tuple[tuple[int, int], ...]  # left and right id
    tokens: tuple[bytes, ...]  # bytes of the ids from 0 to below 256 + len(merges)
    notes: tuple[str, ...] = ()


def read_minbpe(data: bytes, label: str) -> MinbpeFile:
    """Parse a file; every defect is an ``InputError``, which names the line if it is within one."""
    try:
        lines = data.decode().split("\n")
    except UnicodeDecodeError as error:
        raise InputError(f"{label} is not valid UTF-8: {error.reason} at byte {error.start}") from None
    lines = [line.removesuffix("\r") for line in lines]
    if lines[0] == VERSION and lines[-1]:
        raise InputError(
            f"{label} is cut off: its last line, {lines[-1][:40]!r}, does not end; minbpe ends every line (if it is "
            "whole, add a newline)"
        )
    if lines[0] != VERSION or len(lines) < 3:
        raise InputError(f"{label} is not a minbpe model: its first line is {lines[0][:40]!r}, not {VERSION!r}")
    (count,) = _numbers(lines[2], 1, 3, label)
    if count > len(lines) - 3:
        raise InputError(f"{label} is cut off: it promises {count} special tokens and has {len(lines) - 3} more lines")
    check_pattern(lines[1], label)
    merges, tokens = _merges(lines[3 + count :], 4 + count, label)
    special = _special(lines[3 : 3 + count], len(tokens), label)
    return MinbpeFile(lines[1].strip(), special, merges, tokens, _gap(len(tokens), special))


def _gap(size: int, special: Mapping[str, int]) -> tuple[str, ...]:
    """Return a note on ids without a token below the special ones: the file may have lost its last merges."""
    lowest = min(special.values(), default=size)
    if lowest == size:
        return ()
    return (f"ids {size:,} to {lowest - 1:,}, below its special tokens, have no token: cut off, or numbered so",)


def _numbers(line: str, count: int, number: int, label: str) -> list[int]:
    parts = line.split()
    if len(parts) != count or not all(part.isascii() and part.isdigit() and len(part) < 20 for part in parts):
        wanted = "a number" if count == 1 else f"{count} ids"
        raise InputError(f"{label}, line {number}: {line[:60]!r} is not {wanted}")
    return [int(part) for part in parts]


def _special(lines: Sequence[str], size: int, label: str) -> dict[str, int]:
    special: dict[str, int] = {}
    for number, line in enumerate(lines, 4):
        if len(parts := line.split()) != 2:
            raise InputError(f"{label}, line {number}: {line[:60]!r} is not a special token and its id")
        content, (token,) = parts[0], _numbers(parts[1], 1, number, label)
        if not size <= token < BIGGEST_ID or token in special.values():
            raise InputError(
                f"{label}, line {number}: special token {content!r} has id {token}, which is taken or not from {size} "
                f"to below {BIGGEST_ID:,}"
            )
        if content in special:
            raise InputError(f"{label}, line {number}: special token {content!r} is listed twice")
        special[content] = token
    return special


def _merges(lines: Sequence[str], first: int, label: str) -> tuple[tuple[tuple[int, int], ...], tuple[bytes, ...]]:
    tokens = [bytes([byte]) for byte in range(256)]
    seen = set(tokens)
    merges = []
    total = 256
    for number, line in enumerate(lines, first):
        if not line and number == first + len(lines) - 1:
            break  # an empty line after the last newline
        left, right = _numbers(line, 2, number, label)
        if max(left, right) >= len(tokens):
            raise InputError(f"{label}, line {number}: id {max(left, right)} is not made before this line")
        total += len(tokens[left]) + len(tokens[right])
        if total > MAX_BYTES or len(tokens) >= BIGGEST_ID:
            raise InputError(
                f"{label}, line {number}: {len(tokens) + 1:,} tokens of {total:,} bytes; a vocabulary has at most "
                f"{BIGGEST_ID:,} tokens of {MAX_BYTES:,} bytes together"
            )
        token = tokens[left] + tokens[right]
        if token in seen:
            raise InputError(
                f"{label}, line {number}: {token[:40]!r} is made a second time, as id {len(tokens)}; no training does "
                "that"
            )
        seen.add(token)
        tokens.append(token)
        merges.append((left, right))
    return tuple(merges), tuple(tokens)


def write_minbpe(pattern: str, special: Mapping[str, int], merges: Sequence[tuple[int, int]]) -> bytes:
    """Write a file with these contents; the pattern is one line without white space around it."""
    lines = [VERSION, pattern, str(len(special))]
    lines += [f"{content} {token}" for content, token in special.items()]
    lines += [f"{left} {right}" for left, right in merges]
    return ("\n".join(lines) + "\n").encode()

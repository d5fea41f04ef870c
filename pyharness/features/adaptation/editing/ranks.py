"""Adds tokens to rank files and tekken files, or removes some; other lines and entries keep their bytes."""

from __future__ import annotations

import binascii
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pyharness.features.adaptation.editing.json_text import (
    Edit,
    Items,
    Span,
    beginning,
    bytes_of,
    elements,
    members,
    quoted,
    text_of,
)
from pyharness.features.adaptation.id_maps import IdMap, check_absent, check_map, check_new, moved, refuse_removal
from pyharness.types import InputError
from pyharness.vocabularies.rank_file import read_ranks, read_tekken, write_ranks

_LINE = re.compile(rb"^(\s*\S+\s+)([0-9]+)")
_KEYS = {"rank", "token_bytes", "token_str"}


def extend_ranks(data: bytes, tokens: Sequence[tuple[int, bytes]], label: str) -> bytes:
    """Append lines. Ids are ranks: new ones exceed all others, and may leave gaps.

    Raises:
        InputError: the file is damaged; a token already exists; an id does not exceed those before it.
    """
    ranks = read_ranks(data, label)
    check_new(tokens, label)
    check_absent([string for _, string in tokens], ranks, label)
    before = max(ranks.values())
    for token, _ in tokens:
        if token <= before:
            raise InputError(f"{label}: a new token gets id {token} after {before}; ids are ranks here, and rise")
        before = token
    lines = data.splitlines(keepends=True)
    ending = lines[-1][len(lines[-1].rstrip(b"\r\n")) :] or b"\n"
    new = b"".join(line + ending for line in write_ranks({string: token for token, string in tokens}).splitlines())
    return data if not new else data + (b"" if lines[-1].endswith((b"\r", b"\n")) else ending) + new


def prune_ranks(data: bytes, ids: IdMap, label: str) -> bytes:
    """Drop the lines of removed tokens, and write the new ranks of the others.

    Raises:
        InputError: the file is damaged; a single byte would go; the map is of another file or changes the order.
    """
    ranks = read_ranks(data, label)
    check_map(ids, {rank: token for token, rank in ranks.items()}, label)
    _check_bytes_stay(ranks, ids, label)
    new = ids.new.tolist()
    lines = []
    for line in data.splitlines(keepends=True):
        entry = _LINE.match(line)
        rank = int(entry[2]) if entry else -1
        if entry is None or new[rank] == rank:
            lines.append(line)
        elif new[rank] >= 0:
            lines.append(b"%s%d%s" % (entry[1], new[rank], line[entry.end() :]))
    result = b"".join(lines)
    return result if result == data or result.endswith((b"\r", b"\n")) else result + b"\n"


def _check_bytes_stay(ranks: Mapping[bytes, int], ids: IdMap, label: str) -> None:
    """Refuse a map that removes a single byte."""
    for byte in range(256):
        if ids.new[ranks[bytes([byte])]] < 0:
            refuse_removal(ranks[bytes([byte])], f"the byte 0x{byte:02X}", label)


def extend_tekken(data: bytes, tokens: Sequence[tuple[int, bytes]], label: str) -> bytes:
    """Insert entries after the model's last, and raise its size; entries outside of the model follow.

    Those whose string is a new token leave.

    Raises:
        InputError: the file is damaged; a token already exists; ids are not consecutive after the largest.
    """
    ranks = read_tekken(data, label)
    check_new(tokens, label)
    check_absent([string for _, string in tokens], ranks.ranks, label)
    largest = max(ranks.ranks.values())
    ids = [token for token, _ in tokens]
    if ids != [*range(largest + 1, largest + 1 + len(ids))]:
        raise InputError(f"{label} has ids without gaps: those of new tokens follow {largest} one by one")
    file = _Tekken(data, label, len(ranks.ranks))
    return file.written(range(file.size), [string for _, string in tokens])


def prune_tekken(data: bytes, ids: IdMap, label: str) -> bytes:
    """Drop the entries of removed tokens, renumber the others, and lower the size of the model.

    Raises:
        InputError: the file is damaged; a single byte or a special token would go; the map is of another file, changes
            the order or leaves gaps.
    """
    ranks = read_tekken(data, label)
    owners: dict[int, object] = {token: content for content, token in ranks.special.items()}
    check_map(ids, owners | {rank: token for token, rank in ranks.ranks.items()}, label, gaps=False)
    for content, token in ranks.special.items():
        moved(ids, token, f"the special token {content!r}", label)
    _check_bytes_stay(ranks.ranks, ids, label)
    file = _Tekken(data, label, len(ranks.ranks))
    return file.written([entry for entry in range(file.size) if ids.new[entry + file.specials] >= 0], [])


class _Tekken:
    """Text of a tekken file and its entries; the first ``size`` are in the model."""

    def __init__(self, data: bytes, label: str, size: int) -> None:
        self._text = text_of(data, label)
        self._root = members(self._text, beginning(self._text))
        self._config = members(self._text, self._root["config"][0])
        self._entries = elements(self._text, self._root["vocab"][0])
        self._parts = [members(self._text, start) for start, _ in self._entries.spans]
        if unknown := sorted(set(self._parts[size - 1]) - _KEYS):
            raise InputError(f"{label}: entries have a {unknown[0]!r}, which is not known here: it cannot be edited")
        self.size = size
        self.specials = int(self._value(self._config["default_num_special_tokens"]))

    def _value(self, span: Span) -> Any:
        return json.loads(self._text[slice(*span)])

    def written(self, kept: Sequence[int], new: Sequence[bytes]) -> bytes:
        """Return the file's bytes with these entries of the model, then new ones, then others outside of the model."""
        spans, middle = self._entries.spans, self._entries.spans[self.size - 1][1]
        inside = Items(self._text, (self._entries.inside[0], middle), spans[: self.size])
        outside = Items(self._text, (middle, self._entries.inside[1]), spans[self.size :])
        ranks = dict(zip(kept, range(len(kept)), strict=True))
        size = len(kept) + len(new)
        strings = set(new)
        rest = range(self.size, len(spans))
        data = (binascii.a2b_base64(self._value(self._parts[entry]["token_bytes"])) for entry in rest)
        others = [entry for entry, string in zip(rest, data, strict=True) if string not in strings]
        further = dict(zip(others, range(size, size + len(others)), strict=True))
        edits = [
            inside.edited(
                (self._rank(entry, ranks.get(entry)) for entry in range(self.size)),
                (self._entry(string, rank) for rank, string in enumerate(new, len(kept))),
            ),
            outside.edited(self._rank(entry, further.get(entry)) for entry in rest),
            (self._config["default_vocab_size"], str(size + self.specials)),
        ]
        return bytes_of(self._text, [*edits, *self._count_edits(size + len(others))])

    def _count_edits(self, count: int) -> Iterable[Edit]:
        """Yield the edit of the total number of entries, where the file has the right one."""
        span = self._config.get("num_vocab_tokens")
        if span is not None and self._value(span) == len(self._parts):
            yield span, str(count)

    def _rank(self, entry: int, rank: int | None) -> str | None:
        """Return an entry's text with another rank; None without a rank."""
        if rank is None:
            return None
        (start, end), digits = self._entries.spans[entry], self._parts[entry]["rank"]
        return f"{self._text[start : digits[0]]}{rank}{self._text[digits[1] : end]}"

    def _entry(self, string: bytes, rank: int) -> str:
        """Return a new entry in the format of the model's last."""
        try:
            text = quoted(string.decode(), ascii_only=self._text.isascii())
        except UnicodeDecodeError:
            text = "null"
        values = {"rank": str(rank), "token_bytes": f'"{binascii.b2a_base64(string, newline=False).decode()}"'}
        values["token_str"] = text
        parts: list[str] = []
        position, end = self._entries.spans[self.size - 1]
        for key, span in sorted(self._parts[self.size - 1].items(), key=lambda part: part[1]):
            parts += (self._text[position : span[0]], values[key])
            position = span[1]
        return "".join((*parts, self._text[position:end]))

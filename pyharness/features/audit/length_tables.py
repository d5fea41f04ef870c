"""Tables of byte lengths: written as CSV, JSON, text or an array; and the audit of a table that someone else made."""

from __future__ import annotations

import csv
import io
import json
import tokenize
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pyharness.features.audit.byte_lengths import ByteLengths, Lengths
from pyharness.report.exporters.data import to_csv
from pyharness.report.sheet import Cell, Heading, Sheet
from pyharness.report.sheet.strings import visible, writable
from pyharness.system import bounded_file
from pyharness.types import InputError, TokenKind
from pyharness.vocabularies.files.json_file import unique
from pyharness.vocabularies.files.vocabulary_file import BIGGEST_ID

BIGGEST_TABLE = 256 << 20
ABSENT = -1  # no length: the table has no such id
_HEADER = 1 << 12  # bytes of the header of an array; NumPy writes 128
_FIGURES = ("b", "h", "i", "l", "q", "B", "H", "I", "L", "Q")  # integers, as ``dtype.char``
_COLUMNS = ("id", "bytes", "at_start", "kind", "token")
_NAMES_OF_LENGTHS = ("bytes", "byte_length", "length", "len", "num_bytes", "n_bytes", "size")
# Mistakes that give a wrong length.
NO_LENGTH = "no length"
PIECE_NAME = "a byte piece counted by its name"
REPLACED = "decoded alone: part of a character counted as U+FFFD"
LOST_SPACE = "decoded alone: the leading space is lost"
SPACE_SIGN = "the sign ▁ counted instead of a space"
CHARACTERS = "characters counted instead of bytes"
ALONE = "decoded alone"
OTHER = "other"


# ---------------------------------------------------------------------------------------------- writing


def shown(token: bytes) -> str:
    """Return the bytes of a token for people: parts of characters and controls as escapes."""
    return visible(token.decode("utf-8", "backslashreplace"))


def rows(lengths: ByteLengths, values: Lengths) -> Iterator[tuple[int, int, int, str, str]]:
    """Yield id, length, length at the start of a text, kind and token of every id that is present."""
    kinds, start = lengths.vocabulary.kinds.tolist(), lengths.without_dummy_space(values).tolist()
    for token, (length, string) in enumerate(zip(values.tolist(), lengths.vocabulary.strings(), strict=True)):
        if kinds[token] != TokenKind.ABSENT:
            yield token, length, start[token], TokenKind(kinds[token]).name.lower(), shown(string)


def as_csv(lengths: ByteLengths, values: Lengths) -> str:
    """Return the table as CSV, with a head; a token that a spreadsheet would run gets an apostrophe."""
    cells = tuple(tuple(Cell(value) for value in row) for row in rows(lengths, values))
    return to_csv(Sheet("", tuple(Heading(name, "word") for name in _COLUMNS), cells))


def as_text(lengths: ByteLengths, values: Lengths) -> str:
    """Return the table for people: a line for each id."""
    lines = [("id", "bytes", "at start", "kind", "token"), *rows(lengths, values)]
    return "".join(f"{a:>7}  {b:>6}  {c:>8}  {kind:13}  {token}\n" for a, b, c, kind, token in lines)


def as_json(lengths: ByteLengths, values: Lengths, facts: Mapping[str, Any]) -> str:
    """Return facts and the table as JSON: ``bytes`` and ``at_start`` by id, null for absent ids."""
    present = (lengths.vocabulary.kinds != TokenKind.ABSENT).tolist()
    start = lengths.without_dummy_space(values).tolist()
    table = {
        "bytes": [value if here else None for value, here in zip(values.tolist(), present, strict=True)],
        "at_start": [value if here else None for value, here in zip(start, present, strict=True)],
        "kinds": [TokenKind(kind).name.lower() for kind in lengths.vocabulary.kinds.tolist()],
    }
    return json.dumps({**facts, **table}, allow_nan=False) + "\n"


def as_array(values: Lengths) -> bytes:
    """Return a NumPy file of int32 [n], 0 for absent ids."""
    file = io.BytesIO()
    np.save(file, values.astype(np.int32), allow_pickle=False)
    return file.getvalue()


# ---------------------------------------------------------------------------------------------- reading


def read(path: Path) -> Lengths:
    """Read a stranger's table: an array of integers (npy), a JSON list or object, or CSV of id and length.

    Returns int64 [n] by id, -1 for ids that the table lacks. No pickle is read, and no array is allocated before its
    size was compared with that of the file.

    Raises:
        InputError: it cannot be read, is none of these, or has ids or lengths that cannot be.
    """
    label = str(path)
    try:
        data = bounded_file.read(path, BIGGEST_TABLE, label)
    except OSError as error:
        raise InputError(f"cannot read {label!r}: {error.strerror or error}") from None
    if data.startswith(b"\x93NUMPY"):
        return _checked(enumerate(_array(data, label)), label)
    if data.lstrip()[:1] in (b"[", b"{"):
        return _checked(_of_json(data, label), label)
    return _checked(_of_csv(data, label), label)


def _array(data: bytes, label: str) -> list[int]:
    file = io.BytesIO(data)
    formats: Any = np.lib.format  # it has no types
    try:
        version = formats.read_magic(file)
        head = formats.read_array_header_1_0 if version == (1, 0) else formats.read_array_header_2_0
        shape, _, dtype = head(file, max_header_size=_HEADER)
    except (ValueError, OverflowError, SyntaxError, TypeError, MemoryError, RecursionError, tokenize.TokenError):
        # What NumPy says of it names objects of Python's parser.
        raise InputError(
            f"{label!r} is no NumPy array: its header does not give shape and type; write it with numpy.save"
        ) from None
    if dtype.char not in _FIGURES or len(shape) != 1:
        raise InputError(f"{label!r} is an array of {dtype}, {list(shape)}: a table of lengths has integers, [ids]")
    if len(data) - file.tell() != shape[0] * dtype.itemsize:
        raise InputError(f"{label!r} claims {shape[0]:,} lengths and has room for others: it is cut off, or longer")
    return [int(one) for one in np.frombuffer(data, dtype, offset=file.tell()).tolist()]


def _of_json(data: bytes, label: str) -> Iterator[tuple[Any, Any]]:
    try:
        content = json.loads(data, object_pairs_hook=unique)
    except (ValueError, RecursionError) as error:
        reason = str(error).partition("; use sys.")[0]  # what follows is for programmers
        raise InputError(f"{label!r} is not valid JSON: {reason[:120]}") from None
    if isinstance(content, dict) and isinstance(content.get("bytes"), list):
        content = content["bytes"]  # our own
    if isinstance(content, list):
        return enumerate(content)
    return ((int(key) if key.isascii() and key.isdecimal() and len(key) < 9 else key, n) for key, n in content.items())


def _of_csv(data: bytes, label: str) -> Iterator[tuple[Any, Any]]:
    try:
        lines = list(csv.reader(io.StringIO(data.decode("utf-8-sig")), strict=True))
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{label!r} is neither an array, JSON nor CSV: {error}") from None
    lines = [line for line in lines if line]
    head = [cell.strip().lower() for cell in lines[0]] if lines else []
    names = [name for name in _NAMES_OF_LENGTHS if name in head]
    if names:
        at, of_id, lines = head.index(names[0]), head.index("id") if "id" in head else None, lines[1:]
    else:
        at, of_id = (0, None) if len(head) == 1 else (1, 0)
    for number, line in enumerate(lines):
        cells = [line[place] if place < len(line) else "" for place in (at if of_id is None else of_id, at)]
        token, length = (_figure(cell) for cell in cells)
        yield number if of_id is None else token, length


def _figure(cell: str) -> int | str:
    text = cell.strip()
    return int(text) if text.isascii() and text.removeprefix("-").isdecimal() and len(text) < 12 else cell


def _checked(pairs: Iterator[tuple[Any, Any]], label: str) -> Lengths:
    table: dict[int, int] = {}
    for token, length in pairs:
        if type(token) is not int or not 0 <= token < BIGGEST_ID:
            raise InputError(f"{label!r} has the id {str(token)[:40]!r}; ids are from 0 to below {BIGGEST_ID:,}")
        if token in table:
            raise InputError(f"{label!r} has id {token} twice")
        if length is not None and (type(length) is not int or not -1 <= length < 1 << 31):
            raise InputError(f"{label!r} gives id {token} the length {str(length)[:40]!r}, which is no number of bytes")
        table[token] = ABSENT if length is None else length
    if not table:
        raise InputError(f"{label!r} has no lengths")
    values = np.full(max(table) + 1, ABSENT, np.int64)
    values[np.fromiter(table, np.int64, len(table))] = np.fromiter(table.values(), np.int64, len(table))
    return values


# ---------------------------------------------------------------------------------------------- the audit


@dataclass(frozen=True, slots=True)
class WrongLength:
    """An id whose length in a table is not its byte length."""

    id: int
    token: str  # for people
    length: int  # the right one
    stated: int | None  # None: the table has no such id, or no length
    cause: str


@dataclass(frozen=True, slots=True)
class Audit:
    """What is wrong with a table."""

    table: str
    ids: int  # ids that were compared
    wrong: tuple[WrongLength, ...]
    zeros: int  # special, unknown and absent ids with length 0: a convention of losses by byte, not a fault
    beyond: int  # ids of the table that the row does not have

    @property
    def causes(self) -> Mapping[str, int]:
        """Wrong ids by cause, the most frequent first."""
        return dict(Counter(one.cause for one in self.wrong).most_common())


def audit(table: Lengths, label: str, lengths: ByteLengths, naive: Callable[[], Lengths]) -> Audit:
    """Compare a stranger's table with the lengths of a row, and name each wrong id with the likely cause.

    An id that stands for no bytes of a text may have 0 in place of the length of its string.
    """
    count = len(lengths.lengths)
    stated = np.full(count, ABSENT, np.int64)
    stated[: min(count, len(table))] = table[:count]
    present = lengths.vocabulary.kinds != TokenKind.ABSENT
    zero = (stated == 0) & ~lengths.of_text & (lengths.lengths > 0)
    missing_special = (stated == ABSENT) & ~lengths.of_text
    wrong = np.flatnonzero(present & (stated != lengths.lengths) & ~zero & ~missing_special)
    alone = naive() if len(wrong) else stated
    return Audit(
        label, int(present.sum()),
        tuple(
            WrongLength(token, shown(lengths.vocabulary[token]), int(lengths.lengths[token]),
                        int(stated[token]) if stated[token] >= 0 else None,
                        _cause(int(stated[token]), lengths, token, int(alone[token])))
            for token in wrong.tolist()
        ),
        int(zero.sum()), int((table[count:] > 0).sum()),
    )  # fmt: skip


def _cause(stated: int, lengths: ByteLengths, token: int, naive: int) -> str:
    """Return the mistake that gives the stated length, if it is one of the usual ones."""
    string, kind = lengths.vocabulary[token], TokenKind(lengths.vocabulary.kinds[token])
    characters = string.decode("utf-8", "replace")
    usual = (
        (stated == ABSENT, NO_LENGTH),
        (kind is TokenKind.BYTE_FALLBACK and stated == len("<0x00>"), PIECE_NAME),
        (stated == naive and "\ufffd" in characters, REPLACED),
        (stated == naive and bool(lengths.leading[token]), LOST_SPACE),
        (stated == len(string.replace(b" ", "▁".encode())), SPACE_SIGN),
        (stated == len(characters), CHARACTERS),
        (stated == naive, ALONE),
    )
    return next((cause for holds, cause in usual if holds), OTHER)


def audit_json(audited: Audit) -> dict[str, Any]:
    """Return the audit as JSON values, every wrong id included."""
    wrong = [
        {"id": one.id, "token": writable(one.token), "bytes": one.length, "stated": one.stated, "cause": one.cause}
        for one in audited.wrong
    ]
    return {
        "table": audited.table, "ids": audited.ids, "wrong": len(wrong), "causes": dict(audited.causes),
        "zero_special": audited.zeros, "beyond": audited.beyond, "wrong_ids": wrong,
    }  # fmt: skip

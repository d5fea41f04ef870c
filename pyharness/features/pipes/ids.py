"""Ids in the formats of ``encode``: written, read in bounded parts, and decoded."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal, TypeAlias

import numpy as np

from pyharness.bpe.encoding.tokenizer import BpeTokenizer
from pyharness.corpora.files.reading import named_errors
from pyharness.features.pipes.documents import LONGEST_DOCUMENT
from pyharness.types import Ids, InputError, Tokenizer

IdFormat: TypeAlias = Literal["text", "json", "uint32"]
IDS_AT_A_TIME = 1 << 16  # as numbers of Python, which take 15 times the space
_MARKS: Mapping[IdFormat, tuple[str, str, str]] = {"text": ("", " ", "\n"), "json": ("[", ", ", "]\n")}


def written(parts: Iterable[tuple[Ids, bool]], form: IdFormat) -> Iterator[bytes]:
    """Yield the bytes of ids; each part of ids says whether its document ends."""
    if form == "uint32":
        yield from (ids.astype("<u4").tobytes() for ids, _ in parts)
        return
    opening, between, closing = _MARKS[form]
    before, begun = opening, False
    for ids, ends in parts:
        if ends and not begun and len(ids) <= IDS_AT_A_TIME:  # most lines
            yield f"{opening}{between.join(map(str, ids.tolist()))}{closing}".encode()
            continue
        for start in range(0, len(ids), IDS_AT_A_TIME):
            numbers = between.join(map(str, ids[start : start + IDS_AT_A_TIME].tolist()))
            last = ends and start + IDS_AT_A_TIME >= len(ids)
            yield f"{before}{numbers}{closing if last else ''}".encode()
            before, begun = between, not last
        if ends:
            if begun or not len(ids):
                yield f"{'' if begun else opening}{closing}".encode()
            before, begun = opening, False


# ---------------------------------------------------------------------------------------------- reading


PART_BYTES = 256 << 10
ID_BYTES = 4
_LONGEST_ID = 64  # bytes, with white space
_LAST_SPACE = re.compile(rb"\s(?=\S*\Z)")
_NUMBERS = re.compile(rb"\s*+(?:[0-9]{1,10}+(?:\s++|\Z))*+")
_INSIDE = re.compile(rb"[ \t\r]*+[0-9]{1,10}+[ \t\r]*+(?:,[ \t\r]*+[0-9]{1,10}+[ \t\r]*+)*+")  # of a JSON list
_LEADING_ZERO = re.compile(rb"(?<![0-9])0[0-9]")


@dataclass(frozen=True, slots=True)
class IdPart:
    """Ids of a document, and whether the document ends with them."""

    where: str  # for messages
    ids: Ids
    ends: bool = True


def ids_of(sources: Iterable[tuple[str, IO[bytes]]], form: IdFormat, *, size: int = PART_BYTES) -> Iterator[IdPart]:
    """Read ids that ``encode`` wrote, in parts of about ``size`` bytes.

    Raw numbers do not say where a document ends: a file of them is one document.

    Raises:
        InputError: something is not an id, or a file cannot be read.
    """
    for name, source in sources:
        with named_errors(Path(name), lambda: "reading it"):
            if form == "uint32":
                yield from _raw(name, source, size)
                continue
            number = 1
            for part in _parts(source, size, (lambda data: data.rfind(b",") + 1) if form == "json" else _last_space):
                where = f"{name} line {number}"
                ids = _json(where, part) if form == "json" else _text(where, part.data)
                yield IdPart(where, ids, part.ends)
                number += part.ends


@dataclass(frozen=True, slots=True)
class _LinePart:
    """Bytes of a line, with whether they begin or end it."""

    data: bytes
    begins: bool
    ends: bool


def _last_space(data: bytes) -> int:
    match = _LAST_SPACE.search(data, max(0, len(data) - _LONGEST_ID))
    return 0 if match is None else match.end()


def _parts(source: IO[bytes], size: int, cut: Callable[[bytes], int]) -> Iterator[_LinePart]:
    """Yield lines; ``cut`` returns where a number ends in a long line, which is cut there."""
    held, begins = b"", True
    while data := source.readline(size):
        held += data
        if held.endswith(b"\n"):
            yield _LinePart(held, begins, ends=True)
            held, begins = b"", True
        elif place := cut(held) or (len(held) if len(held) > size + _LONGEST_ID else 0):  # no end: not an id
            yield _LinePart(held[:place], begins, ends=False)
            held, begins = held[place:], False
    if held or not begins:
        yield _LinePart(held, begins, ends=True)


def _text(where: str, data: bytes) -> Ids:
    words = data.split()
    if _NUMBERS.fullmatch(data) is None:
        raise _no_id(where, next(word for word in words if len(word) > 10 or not word.isdigit()))
    numbers = [int(word) for word in words]
    if max(numbers, default=0) >= 1 << 32:
        raise _no_id(where, next(word for word in words if int(word) >= 1 << 32))
    return np.array(numbers, np.uint32)


def _no_id(where: str, word: bytes) -> InputError:
    return InputError(f"{where}: {word[:40].decode(errors='replace')!r} is not an id; ids are numbers below 2^32")


def _json(where: str, part: _LinePart) -> Ids:
    if part.begins and part.ends:
        return _json_list(where, part.data)
    data = part.data.strip(b" \t\r\n")
    data, opened = (data.removeprefix(b"["), data.startswith(b"[")) if part.begins else (data, True)
    mark = b"]" if part.ends else b","
    data, closed = data.removesuffix(mark), data.endswith(mark)
    if not (opened and closed and _INSIDE.fullmatch(data)) or _LEADING_ZERO.search(data):
        raise InputError(f"{where} is not a list of ids: numbers below 2^32")
    numbers = [int(number) for number in data.split(b",")]
    if max(numbers) >= 1 << 32:
        raise InputError(f"{where} is not a list of ids: numbers below 2^32")
    return np.array(numbers, np.uint32)


def _json_list(where: str, line: bytes) -> Ids:
    try:
        ids = json.loads(line)
    except (ValueError, RecursionError):
        raise InputError(f"{where} is not JSON; write one list of ids a line") from None
    if not isinstance(ids, list) or not all(type(one) is int and 0 <= one < 1 << 32 for one in ids):
        raise InputError(f"{where} is not a list of ids: numbers below 2^32")
    return np.array(ids, np.uint32)


def _raw(name: str, source: IO[bytes], size: int) -> Iterator[IdPart]:
    held, read = b"", 0
    while data := source.read(size):
        read += len(data)
        held += data
        whole = len(held) // ID_BYTES * ID_BYTES
        yield IdPart(name, np.frombuffer(held[:whole], "<u4").astype(np.uint32), ends=False)
        held = held[whole:]
    if held:
        raise InputError(f"{name} has {read:,} bytes, which is not a whole number of uint32")
    yield IdPart(name, np.zeros(0, np.uint32))


# ---------------------------------------------------------------------------------------------- decoding


def decoded(
    tokenizer: Tokenizer, parts: Iterable[IdPart], ending: bytes = b"", *, longest: int = LONGEST_DOCUMENT
) -> Iterator[bytes]:
    """Yield the bytes of documents, and the ``ending`` of each.

    Our own decoder decodes a part at a time. Others get a whole document. So does ours, if the tokenizer's file
    declares a decoder of its own.

    Raises:
        InputError: an id is not in the vocabulary; more than ``longest`` bytes of ids would have to be held.
    """
    waiting = iter(parts)
    for first in waiting:
        document = _Document(tokenizer, first, waiting)
        if isinstance(tokenizer, BpeTokenizer) and tokenizer.model.decoder is None:
            yield from tokenizer.decode_parts(document.ids())
        else:
            yield tokenizer.decode(_join(document, longest))
        yield ending


class _Document:
    """The parts of one document, after its first part was read."""

    def __init__(self, tokenizer: Tokenizer, first: IdPart, rest: Iterator[IdPart]) -> None:
        self._limit, self.first, self._rest = tokenizer.id_limit, first, rest

    def ids(self) -> Iterator[Ids]:
        part = self.first
        while True:
            if len(part.ids) and (largest := int(part.ids.max())) >= self._limit:
                raise InputError(f"{part.where} has id {largest:,}; the vocabulary ends at {self._limit - 1:,}")
            yield part.ids
            if part.ends:
                return
            part = next(self._rest)


def _join(document: _Document, longest: int) -> Ids:
    held, count = list[Ids](), 0
    for ids in document.ids():
        held.append(ids)
        count += len(ids)
        if count * ID_BYTES > longest:
            raise InputError(
                f"{document.first.where} has more than {longest // ID_BYTES:,} ids, and this tokenizer decodes a "
                "document whole: raise --max-document-bytes, or try our own decoder (native+SPEC)"
            )
    return np.concatenate(held)

"""Documents in, ids out, and back: what ``pyharness encode`` and ``decode`` do to pipes."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Literal, TypeAlias

import numpy as np

from pyharness import tokenizers
from pyharness.bpe.special_text import Specials
from pyharness.bpe.tokenizer import BpeTokenizer
from pyharness.types import Ids, InputError, Tokenizer, Tokens

Format: TypeAlias = Literal["text", "json", "uint32"]
BATCH_BYTES = 4 << 20
BATCH_DOCUMENTS = 4096
ID_BYTES = 4


def load(specification: str, special: bool = False) -> Tokenizer:
    """Load a tokenizer by its specification, or by the path of its file.

    Raises:
        InputError: there is none, or ``special`` tokens are asked of an encoder that does not map them.
    """
    path, mark, options = specification.partition("?")
    if ":" not in path and path not in tokenizers.specs():
        if os.path.exists(path):  # noqa: PTH110 - false, too, where a name is too long
            specification = f"file:{path}{mark}{options}"
        elif Path(path).suffix or os.sep in path:
            raise InputError(f"there is no file {path[:200]!r}; tokenizers with a name: pyharness list tokenizers")
    row = tokenizers.obtain(specification)
    found = tokenizers.load(row)
    if special and not isinstance(found, BpeTokenizer):
        raise InputError(
            f"--special is for our own encoder; {specification!r} runs in {row.library}: try 'native+{specification}'"
        )
    return found


def documents(sources: Iterable[tuple[str, IO[bytes]]], lines: bool) -> Iterator[tuple[str, bytes]]:
    r"""Documents of files, and what messages call them: whole files, or their lines without the ``\n``."""
    for name, source in sources:
        if not lines:
            yield name, source.read()
            continue
        for number, line in enumerate(source, 1):
            yield f"{name} line {number}", line.removesuffix(b"\n")


def encoded(
    tokenizer: Tokenizer, found: Iterable[tuple[str, bytes]], threads: int = 1, special: bool = False
) -> Iterator[Ids]:
    """Ids of each document. Our encoder keeps bytes that are not UTF-8 where its model can; others get none.

    With ``special`` it maps the special tokens that a document spells to their ids.

    Raises:
        InputError: a document cannot be encoded.
    """
    done = 0
    for batch in _batches(found):
        if isinstance(tokenizer, BpeTokenizer):
            tokens = _of_bytes(tokenizer, batch, threads, done, "all" if special else ())
        else:
            tokens = tokenizer.encode_batch([_text(name, data) for name, data in batch], threads)
        done += len(batch)
        yield from (tokens.document(index) for index in range(len(tokens)))


def _of_bytes(
    tokenizer: BpeTokenizer, batch: list[tuple[str, bytes]], threads: int, done: int, special: Specials
) -> Tokens:
    try:
        texts = [data for _, data in batch]
        return tokenizer.encode_batch(texts, threads, first_document=done, allowed_special=special)
    except InputError:
        for name, data in batch:  # say which, if that is what was wrong
            _text(name, data)
        raise


def _text(name: str, data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise InputError(
            f"{name} is not UTF-8 at byte {error.start}, and this tokenizer needs text; a byte-level model of ours "
            "(file:model.json, native+SPEC) takes any bytes"
        ) from None


def _batches(found: Iterable[tuple[str, bytes]]) -> Iterator[list[tuple[str, bytes]]]:
    batch: list[tuple[str, bytes]] = []
    size = 0
    for document in found:
        batch.append(document)
        size += len(document[1])
        if size >= BATCH_BYTES or len(batch) >= BATCH_DOCUMENTS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _as_text(ids: Ids) -> bytes:
    return " ".join(map(str, ids.tolist())).encode() + b"\n"


def _as_json(ids: Ids) -> bytes:
    return json.dumps(ids.tolist()).encode() + b"\n"


def _as_raw(ids: Ids) -> bytes:
    return ids.astype("<u4").tobytes()


WRITERS: Mapping[Format, Callable[[Ids], bytes]] = {"text": _as_text, "json": _as_json, "uint32": _as_raw}


def ids_of(sources: Iterable[tuple[str, IO[bytes]]], form: Format) -> Iterator[tuple[str, Ids]]:
    """Read what ``encode`` wrote: ids of each document, and what messages call it.

    Raw numbers do not say where a document ends: a file of them is one.

    Raises:
        InputError: something is not an id.
    """
    for name, source in sources:
        if form == "uint32":
            yield name, _raw(name, source.read())
            continue
        for number, line in enumerate(source, 1):
            where = f"{name} line {number}"
            yield where, _json(where, line) if form == "json" else _text_ids(where, line)


def _raw(name: str, data: bytes) -> Ids:
    if len(data) % ID_BYTES:
        raise InputError(f"{name} has {len(data):,} bytes, which is not a whole number of uint32")
    return np.frombuffer(data, "<u4").astype(np.uint32)


def _text_ids(where: str, line: bytes) -> Ids:
    words = line.split()
    for word in words:
        if not re.fullmatch(rb"[0-9]{1,10}", word) or int(word) >= 1 << 32:
            raise InputError(f"{where}: {word[:40].decode(errors='replace')!r} is no id; ids are numbers below 2^32")
    return np.array([int(word) for word in words], np.uint32)


def _json(where: str, line: bytes) -> Ids:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        raise InputError(f"{where} is not JSON; write one list of ids a line") from None
    if not isinstance(found, list) or not all(type(one) is int and 0 <= one < 1 << 32 for one in found):
        raise InputError(f"{where} is not a list of ids: numbers below 2^32")
    return np.array(found, np.uint32)


def decoded(tokenizer: Tokenizer, found: Iterable[tuple[str, Ids]]) -> Iterator[bytes]:
    """Bytes of each document.

    Raises:
        InputError: an id is not in the vocabulary.
    """
    for name, ids in found:
        if len(ids) and int(ids.max()) >= tokenizer.id_limit:
            raise InputError(f"{name} has id {int(ids.max()):,}; the vocabulary ends at {tokenizer.id_limit - 1:,}")
        yield tokenizer.decode(ids)

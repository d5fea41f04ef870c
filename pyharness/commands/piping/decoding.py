"""Ids to bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from pyharness.bpe.encoding.tokenizer import BpeTokenizer
from pyharness.commands.piping.documents import LONGEST_DOCUMENT
from pyharness.commands.piping.ids import ID_BYTES, IdPart
from pyharness.types import Ids, InputError, Tokenizer


def decoded(
    tokenizer: Tokenizer, parts: Iterable[IdPart], ending: bytes = b"", *, longest: int = LONGEST_DOCUMENT
) -> Iterator[bytes]:
    """Bytes of documents, and the ``ending`` of each.

    Our own decoder gives those of a part at a time; others, and the decoders of files, get a document whole.

    Raises:
        InputError: an id is not in the vocabulary; more than ``longest`` bytes of ids would have to be held.
    """
    waiting = iter(parts)
    for first in waiting:
        document = _Document(tokenizer, first, waiting)
        if isinstance(tokenizer, BpeTokenizer) and tokenizer.model.decoder is None:
            yield from tokenizer.decode_parts(document.ids())
        else:
            yield tokenizer.decode(_whole(document, longest))
        yield ending


class _Document:
    """The parts of one document, the first of which was taken already."""

    def __init__(self, tokenizer: Tokenizer, first: IdPart, rest: Iterator[IdPart]) -> None:
        self._limit, self.first, self._rest = tokenizer.id_limit, first, rest

    def ids(self) -> Iterator[Ids]:
        part = self.first
        while True:
            self._check(part)
            yield part.ids
            if part.ends:
                return
            part = next(self._rest)

    def _check(self, part: IdPart) -> None:
        if len(part.ids) and int(part.ids.max()) >= self._limit:
            raise InputError(f"{part.where} has id {int(part.ids.max()):,}; the vocabulary ends at {self._limit - 1:,}")


def _whole(document: _Document, longest: int) -> Ids:
    held, count = list[Ids](), 0
    for ids in document.ids():
        held.append(ids)
        count += len(ids)
        if count * ID_BYTES > longest:
            raise InputError(
                f"{document.first.where} has more than {longest // ID_BYTES:,} ids, and this tokenizer decodes a "
                "document whole: encode its lines with --lines, take our own encoder (native+SPEC), or raise "
                "--max-document-bytes"
            )
    return np.concatenate(held)

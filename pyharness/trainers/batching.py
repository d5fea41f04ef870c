"""Texts in batches of bounded size, and how many bytes they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from pyharness.types import InputError

BATCH_BYTES = 8 << 20


@dataclass(slots=True)
class Batch:
    """Some documents of a corpus, in order."""

    texts: list[str] = field(default_factory=list)
    bytes: int = 0  # of their UTF-8


def batches(texts: Iterable[str], size: int = BATCH_BYTES) -> Iterator[Batch]:
    """Group documents until they have ``size`` bytes.

    Raises:
        InputError: a document cannot be written as UTF-8.
    """
    batch = Batch()
    for number, text in enumerate(texts):
        batch.texts.append(text)
        batch.bytes += utf8_length(text, number)
        if batch.bytes >= size:
            yield batch
            batch = Batch()
    if batch.texts:
        yield batch


def utf8_length(text: str, number: int) -> int:
    """Bytes of a document in UTF-8."""
    if text.isascii():
        return len(text)
    try:
        return len(text.encode())
    except UnicodeEncodeError as error:
        raise InputError(
            f"document {number} has a lone surrogate at character {error.start}, which UTF-8 cannot hold; decode the "
            "text with errors='replace', or leave that document out"
        ) from None

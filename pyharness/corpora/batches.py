"""The one way to group documents, or rows and parts of them, into batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

T = TypeVar("T")
BATCH_SIZE = 1 << 20  # characters of text, where nothing speaks for another bound


def batches(
    items: Iterable[T], *, size: int | None = None, count: int | None = None, size_of: Callable[[T], int] | None = None
) -> Iterator[list[T]]:
    """Group items in their order; a batch ends with the item that reaches a bound, the last one where items end.

    Args:
        items: documents, texts or rows; nothing beyond the present batch is taken.
        size: a batch ends when the sizes of its items add up to this much.
        count: a batch ends when it has this many items.
        size_of: size of an item, asked once each; its length if not given.

    >>> list(batches(["aa", "b", "cc", "d"], size=3))
    [['aa', 'b'], ['cc', 'd']]
    >>> list(batches("abcde", count=2))
    [['a', 'b'], ['c', 'd'], ['e']]
    """
    measure: Callable[[Any], int] = size_of or len
    batch: list[T] = []
    held = 0
    for item in items:
        batch.append(item)
        if size is not None:
            held += measure(item)
        if len(batch) == count or (size is not None and held >= size):
            yield batch
            batch, held = [], 0
    if batch:
        yield batch

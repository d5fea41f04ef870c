"""Content of files that are to be written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Streamed:
    """Content that is made while it is written, because it may be larger than memory."""

    size: int  # bytes
    chunks: Callable[[], Iterator[bytes]]  # from the beginning, each time it is called


FileContent: TypeAlias = bytes | Streamed

"""Plug-ins of features for ``encode`` and ``decode`` on data other than text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from pyharness.plugins import registry

GROUP = "pyharness.streams"


@dataclass(frozen=True, slots=True)
class Stream:
    """A kind of file that encodes data other than text, and decodes it."""

    name: str
    noun: str  # its name in messages
    file: Callable[[str], Path | None]  # path of such a file, if a specification names one
    encoded: Callable[[Path, Sequence[str]], Iterator[bytes]]  # (file, names of the sources) -> parts of the output
    # (file, sources by their names, listener to remarks) -> parts of the output
    decoded: Callable[[Path, Iterable[tuple[str, IO[bytes]]], Callable[[str], None]], Iterator[bytes]]


def stream_of(specification: str) -> tuple[Stream, Path] | None:
    """Find the stream that a specification names; None for a tokenizer."""
    for stream in registry.offered(GROUP, "STREAMS").values():
        if (path := stream.file(specification)) is not None:
            return stream, path
    return None

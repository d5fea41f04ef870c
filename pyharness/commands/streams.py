"""Plug-ins of features for ``encode``, ``decode`` and ``train`` on data other than text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Generic

from pyharness.features.training.trainers import O
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


@dataclass(frozen=True, slots=True)
class Training(Generic[O]):
    """A training on data other than text."""

    name: str  # its name for ``pyharness train``
    summary: str
    options: type[O]
    # (corpora, options, folder, force) -> lines of the summary: title and text; or "module:function"
    train: Callable[[Sequence[str], O, Path, bool], Sequence[tuple[str, str]]] | str


def stream_of(specification: str) -> tuple[Stream, Path] | None:
    """Find the stream that a specification names; None for a tokenizer."""
    for stream in registry.offered(GROUP, "STREAMS").values():
        if (path := stream.file(specification)) is not None:
            return stream, path
    return None


def trainings() -> Mapping[str, Training[Any]]:
    """Return the trainings by name."""
    return registry.offered(GROUP, "TRAININGS")

"""Vocabulary files of rows, their loaders by kind, and the time in these. Imports no tokenizer library."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass

from pyharness.plugins import registry
from pyharness.types import InputError, Tokenizer, TokenizerSpec
from pyharness.vocabularies.encodings import Encoding
from pyharness.vocabularies.files.vocabulary_file import Kind


@dataclass(frozen=True, slots=True)
class VocabularyFile:
    """A file that defines a tokenizer; calling it loads the tokenizer with its home library.

    ``fetch`` reads the file, or downloads it first. ``encoding`` is the other information that a rank file needs.
    """

    kind: Kind
    label: str  # its name in error messages
    fetch: Callable[[], bytes]
    encoding: Encoding | None = None

    def __call__(self, spec: TokenizerSpec) -> Tokenizer:
        """Load the tokenizer. The libraries are imported here and no earlier."""
        return loader(self.kind).load(self, spec.options)


@dataclass(frozen=True, slots=True)
class Loader:
    """The home library's way to load one kind of file. A module ends in ``LOADERS = (Loader(...),)``."""

    name: Kind
    library: str  # the distribution
    load: Callable[[VocabularyFile, Mapping[str, str]], Tokenizer]  # (file, the row's options)
    options: tuple[str, ...] = ()  # of a row with such a file


def loader(kind: Kind) -> Loader:
    """Look the loader of a kind of file up."""
    package = sys.modules[__name__.rpartition(".")[0]]
    loaders: Mapping[str, Loader] = registry.discover(package, "LOADERS")
    return registry.pick("kind of vocabulary file", kind, loaders)


def variant(vocabulary: str | None, options: Mapping[str, str], names: tuple[str, ...]) -> str | None:
    """Return the name of the ids: another algorithm or random draws give other ids than the vocabulary's own.

    >>> variant("sha256:00", {"seed": "7", "dropout": "0.1"}, ("dropout", "seed"))
    'sha256:00/dropout=0.1&seed=7'
    """
    changed = "&".join(f"{name}={options[name]}" for name in names if name in options)
    return f"{vocabulary}/{changed}" if vocabulary and changed else vocabulary


class Stopwatch:
    """Sum of the wall time spent inside ``with`` blocks; a nested block is not counted twice.

    ``beside`` is entered before the clock starts and left after it stops: another meter of the same blocks.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self.beside: AbstractContextManager[object] = nullcontext()
        self._depth = 0
        self._started = 0.0

    def __enter__(self) -> None:
        if self._depth == 0:
            self.beside.__enter__()
            self._started = time.perf_counter()
        self._depth += 1

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        if self._depth == 0:
            self.seconds += time.perf_counter() - self._started
            self.beside.__exit__(None, None, None)


in_libraries = Stopwatch()  # time in tokenizer libraries while they build a tokenizer, without our checks of its file


@contextmanager
def refusing(label: str, library: str) -> Iterator[None]:
    """Turn any exception of a library, panics included, into an ``InputError``; add the time to ``in_libraries``.

    ``InputError``, ``KeyboardInterrupt``, ``SystemExit`` and ``GeneratorExit`` pass through.
    """
    try:
        with in_libraries:
            yield
    except (InputError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # pyo3's PanicException is no Exception
        reason = " ".join(str(error).split())[:300] or type(error).__name__
        raise InputError(f"{label} was refused by {library}: {reason}") from None

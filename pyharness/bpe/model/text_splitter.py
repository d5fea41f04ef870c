"""Splitting of texts into the pieces that BPE never merges across."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pyharness import _core
from pyharness.plugins.registry import suggest
from pyharness.types import InputError, Offsets, offsets_of
from pyharness.vocabularies.patterns.split_patterns import SPLIT_PATTERNS
from pyharness.vocabularies.patterns.syntax import Dialect, Uncompilable
from pyharness.vocabularies.patterns.tables import SplitTable, compiled

Engine: TypeAlias = Literal["native", "compiled", "regex"]

COMPILED = "split pattern compiled"
LONGEST_PATTERN = 20_000  # characters; the known patterns have fewer than 400


@dataclass(frozen=True, slots=True)
class Pieces:
    """Ends of the pieces of texts. Pieces are never empty, and together they are the whole text.

    The pieces of text ``t`` end at the bytes ``ends[offsets[t]:offsets[t + 1]]`` of its UTF-8.

    >>> pieces = TextSplitter("gpt2").split_batch(["a bc", "d"])
    >>> pieces.ends.tolist(), pieces.offsets.tolist(), pieces.of(0).tolist()
    ([1, 4, 1], [0, 2, 3], [1, 4])
    """

    ends: NDArray[np.int64]  # [pieces]
    offsets: Offsets  # int64 [texts + 1], starts at 0

    def of(self, text: int) -> NDArray[np.int64]:
        """Return the ends of the pieces of one text, without a copy."""
        return self.ends[self.offsets[text] : self.offsets[text + 1]]

    def __len__(self) -> int:
        return len(self.offsets) - 1


class TextSplitter:
    """Splitter with the results of a tokenizer's regular expression.

    Known patterns run in the native core by rules that are written for them (``engine`` is ``native``). Any other
    expression is compiled into tables for the core if possible (``compiled``), see
    :mod:`pyharness.vocabularies.patterns`. These support alternatives, groups, classes with properties and set
    operations, greedy, lazy and possessive repeats, parts that ignore case, and look-ahead by one character. Both
    engines use the character classes of Unicode 16.0, which are those of tiktoken 0.14 and tokenizers 0.23. Both split
    bytes that are not UTF-8 as if every maximal subpart of an ill-formed sequence were one U+FFFD.

    All other expressions run in the package ``regex`` (``engine`` is ``regex``; ``reason`` says why), in its dialect
    and with its Unicode version. Texts must be valid UTF-8 there.

    Text between matches is a piece of its own, and empty matches cut nothing.

    >>> TextSplitter("gpt2").split("I'm 9 pugs")
    [b'I', b"'m", b' 9', b' pugs']
    >>> digits = TextSplitter(r"\\d")
    >>> digits.split("ab12"), digits.engine
    ([b'ab', b'1', b'2'], 'compiled')

    Args:
        pattern: a name of :data:`pyharness.bpe.SPLIT_PATTERNS` or a regular expression.
        dialect: the engine of an expression: ``regex``, ``fancy_regex`` (tiktoken) or ``oniguruma`` (tokenizers).
        time_limit: seconds that an expression may take for one text in the package ``regex``.

    Raises:
        InputError: the name is unknown, or the expression is empty, too long or does not compile.
    """

    def __init__(self, pattern: str, *, dialect: Dialect = "regex", time_limit: float = 10.0) -> None:
        self.name, self.expressions, self.rules = _resolve(pattern)
        self.time_limit, self.dialect = time_limit, dialect
        self.native: str | _core.CompiledSplitter | None = self.rules
        self.reason = ""
        if not self.rules:
            try:
                self.native = _core.CompiledSplitter([_table(expression, dialect) for expression in self.expressions])
            except Uncompilable as uncompilable:
                self.native, self.reason = None, str(uncompilable)
        self.engine: Engine = "native" if self.rules else "regex" if self.native is None else "compiled"
        self._compiled = [_compile(expression) for expression in self.expressions] if self.native is None else []

    @classmethod
    def of_tables(cls, name: str, tables: Sequence[SplitTable]) -> TextSplitter:
        """Build a splitter from tables that keep all text; errors call it ``name``."""
        splitter = cls("none")
        splitter.name, splitter.expressions, splitter.rules = name, (), ""
        splitter.native, splitter.engine = _core.CompiledSplitter(tables), "compiled"
        return splitter

    @property
    def note(self) -> str:
        """Note on how texts are split; empty where hand-written rules do it."""
        if self.engine == "native":
            return ""
        return COMPILED if self.engine == "compiled" else f"split by regex: {self.reason}"

    def split(self, text: str | bytes) -> list[bytes]:
        """Return the pieces of one text, one object per piece, for people to read.

        Raises:
            InputError, ValueError, TypeError: as :meth:`split_batch`.
        """
        data = text.encode() if isinstance(text, str) else text
        return [data[start:end] for start, end in pairwise([0, *self.split_batch([data]).ends.tolist()])]

    def split_batch(self, texts: Sequence[str | bytes], threads: int = 1) -> Pieces:
        """Split texts. ``threads`` share the texts in the native core and do not change the result; ``regex`` uses one.

        Raises:
            InputError: an expression backtracks over a text without end; or, in the package ``regex``, it ran out of
                time or met bytes that are not UTF-8.
            ValueError: a text has lone surrogates; ``threads`` is out of range.
            TypeError: a text is neither ``str`` nor ``bytes``.
        """
        if self.native is not None:
            with native_errors():
                return Pieces(*_core.split_texts(self.native, texts, threads))
        _core.split_texts("none", texts, threads)  # refuses what the core refuses
        ends = [self._ends(text, index) for index, text in enumerate(texts)]
        offsets = offsets_of([len(document) for document in ends])
        return Pieces(np.fromiter((end for document in ends for end in document), np.int64, int(offsets[-1])), offsets)

    def _ends(self, text: str | bytes, index: int) -> list[int]:
        """Return the byte positions at which the pieces of one text end, by the expressions."""
        try:
            characters = text if isinstance(text, str) else text.decode()
        except UnicodeDecodeError as error:
            raise InputError(
                f"text {index} is not UTF-8 at byte {error.start}, which the expression {self.name!r} cannot split; "
                f"the patterns that can: {', '.join(SPLIT_PATTERNS)}"
            ) from None
        deadline = time.monotonic() + self.time_limit
        cuts = [0, len(characters)] if characters else [0]
        try:
            for pattern in self._compiled:
                cuts = _cut(pattern, characters, cuts, deadline)
        except TimeoutError:
            raise InputError(
                f"the split pattern {self.name!r} took more than {self.time_limit:g} s on text {index}; "
                "it may backtrack without end: use possessive quantifiers, or a known pattern"
            ) from None
        return list(accumulate(len(characters[start:end].encode()) for start, end in pairwise(cuts)))


@contextmanager
def native_errors() -> Iterator[None]:
    """Raise errors of a native splitter or counter as errors of the input.

    Raises:
        InputError: a compiled pattern backtracks over a text without end, or distinct pieces take too much memory.
    """
    try:
        yield
    except ValueError as error:
        if str(error).startswith(("the split pattern", "the distinct pieces", "counting the distinct pieces")):
            raise InputError(str(error)) from None
        raise


_table = lru_cache(maxsize=32)(compiled)


def _resolve(pattern: str) -> tuple[str, tuple[str, ...], str]:
    """Return name, expressions and native rules (empty: none) of a name or an expression."""
    for name, split in SPLIT_PATTERNS.items():
        if pattern in (name, *split.aliases, *split.expressions[: len(split.expressions) == 1], *split.spellings):
            return name, split.expressions, split.rules
    if not pattern:
        raise InputError(f"empty split pattern; known: {', '.join(SPLIT_PATTERNS)}, or a regular expression")
    if len(pattern) > LONGEST_PATTERN:
        raise InputError(f"the split pattern has {len(pattern):,} characters; the most are {LONGEST_PATTERN:,}")
    if pattern.replace("_", "").replace("-", "").replace(".", "").isalnum():
        raise suggest("split pattern", pattern, SPLIT_PATTERNS)
    return pattern, (pattern,), ""


def _compile(expression: str) -> Any:
    import regex

    try:
        # Set operations exist only in version 1 of the module's behaviour.
        return regex.compile(expression, regex.V1 if "&&" in expression else regex.V0)
    except regex.error as error:
        raise InputError(f"the split pattern {expression!r} does not compile: {error}") from None


def _cut(pattern: Any, text: str, cuts: Sequence[int], deadline: float) -> list[int]:
    """Cut each part of a text at the start and end of every match in it, as if the part were the whole text."""
    edges = set(cuts)
    for start, end in pairwise(cuts):
        left = max(deadline - time.monotonic(), 1e-3)
        part = text[start:end]
        for match in pattern.finditer(part, timeout=left):
            if match.end() > match.start():
                edges.update((start + match.start(), start + match.end()))
    return sorted(edges)

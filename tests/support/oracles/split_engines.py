"""What `regex`, tiktoken and tokenizers cut at an expression, for expressions of any kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import regex
import tiktoken
from tokenizers import Regex, pre_tokenizers

from pyharness import _core
from pyharness.vocabularies.patterns.syntax import Dialect
from pyharness.vocabularies.patterns.tables import SplitTable

Pieces = list[bytes]
ENGINES: dict[Dialect, str] = {"regex": "regex", "fancy_regex": "tiktoken", "oniguruma": "tokenizers"}


def native_pieces(table: SplitTable, text: str | bytes) -> Pieces:
    """Pieces by a table that leaves out nothing."""
    data = text.encode() if isinstance(text, str) else text
    ends, _ = _core.split_texts(_core.CompiledSplitter([table]), [data])
    return [data[start:end] for start, end in pairwise([0, *ends.tolist()])]


def native_matches(table: SplitTable, text: str) -> Pieces:
    """Pieces that are matches."""
    (data,), ends, _ = _core.split_and_remove(_core.CompiledSplitter([replace(table, removed="gaps")]), [text])
    return [data[start:end] for start, end in pairwise([0, *ends.tolist()])]


def agrees(expression: str, dialect: Dialect) -> Callable[[SplitTable, str], bool]:
    """Return what tells whether a table gives the pieces of the dialect's engine."""
    if dialect == "regex":
        compiled: Any = regex.compile(expression, regex.V1 if "&&" in expression else regex.V0)
        return lambda table, text: native_pieces(table, text) == _spans(compiled.finditer(text), text)
    if dialect == "oniguruma":
        split: Any = pre_tokenizers.Split(Regex(expression), "isolated")
        return lambda table, text: native_pieces(table, text) == _strings(split, text)
    return lambda table, text: _same_in_tiktoken(expression, text, native_matches(table, text))


def _spans(matches: Any, text: str) -> Pieces:
    edges = {0, len(text), *(edge for match in matches if match[0] for edge in match.span())}
    return [text[start:end].encode() for start, end in pairwise(sorted(edges))]


def _strings(split: Any, text: str) -> Pieces:
    return [text[start:end].encode() for _, (start, end) in split.pre_tokenize_str(text)]


def _same_in_tiktoken(expression: str, text: str, matches: Sequence[bytes]) -> bool:
    """Whether tiktoken has the same matches, told by ids; see `oracles.splitting.same_in_tiktoken`."""
    vocabulary = {bytes([byte]): byte for byte in range(256)}
    for piece in matches:
        vocabulary.setdefault(piece, len(vocabulary))
    expected = [vocabulary[piece] for piece in matches]
    for count in (2, 3):
        for neighbours in zip(*(matches[i:] for i in range(count)), strict=False):
            vocabulary.setdefault(b"".join(neighbours), len(vocabulary))
    encoding = tiktoken.Encoding("pieces", pat_str=expression, mergeable_ranks=vocabulary, special_tokens={})
    return encoding.encode_ordinary(text) == expected

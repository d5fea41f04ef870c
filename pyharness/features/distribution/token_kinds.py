"""What tokens are made of: white space, scripts, whole characters; of the text's tokens, as tokka-bench counts them.

What a token has follows from the bytes of its entry. So counts by text are sums over ids, and need no text.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from pyharness.metrics.counting.state import CorpusMetric, CorpusState, Counts, measure
from pyharness.statistics.jackknife import Undefined
from pyharness.types import PERCENT, Column, Measurement, Metric, Table, Tokens, Vocabulary

# A letter is of the first script of which its name has a word, as "CJK" in "CJK UNIFIED IDEOGRAPH-4E00".
SCRIPTS = {
    "Korean": {"HANGUL"}, "Japanese": {"HIRAGANA", "KATAKANA"}, "Chinese": {"CJK"}, "Latin": {"LATIN"},
    "Cyrillic": {"CYRILLIC"}, "Arabic": {"ARABIC"}, "Devanagari": {"DEVANAGARI"}, "Thai": {"THAI"},
    "Hebrew": {"HEBREW"}, "Greek": {"GREEK"},
}  # fmt: skip
_OF_CATEGORY = {"P": "punctuation", "S": "symbols", "N": "numbers"}
KINDS = (*SCRIPTS, *_OF_CATEGORY.values())
LEADING, INNER, SEVERAL, WHOLE, ACROSS = FLAGS = (
    "leading space", "inner space", "several kinds", "whole characters", "across characters",
)  # fmt: skip
COLUMNS = (*FLAGS, *KINDS)
# Measured: docs/papers.md.
_PARTS = "parts of characters are rare: CIs hold in 98 to 100 % of the fifth of samples of code that show one"
_NO_CI = {WHOLE: _PARTS, ACROSS: _PARTS}
_OF_KINDS = "CIs of kinds hold in 88 to 99 % of samples, not in 95 %"
_HIDDEN = "this engine does not expose the bytes of its tokens: what they are made of is unknown"


@lru_cache(maxsize=1 << 16)
def kind_of(character: str) -> str | None:
    """Return the kind of a character; None for white space, marks and letters of other scripts.

    >>> [kind_of(character) for character in "a漢の1!+ 𝕏"]
    ['Latin', 'Chinese', 'Japanese', 'numbers', 'punctuation', 'symbols', None, 'symbols']
    """
    if character.isspace():
        return None
    words = set(unicodedata.name(character, "").replace("-", " ").split())
    if "MATHEMATICAL" in words or {"DOUBLE", "STRUCK"} <= words:
        return "symbols"
    if (kind := _OF_CATEGORY.get(unicodedata.category(character)[0])) is not None:
        return kind
    return next((script for script, names in SCRIPTS.items() if words & names), None)


def flags_of(data: bytes) -> list[bool]:
    """Return ``COLUMNS`` of a token. Parts of characters are of no kind; a token of none has no white space.

    >>> [name for name, flag in zip(COLUMNS, flags_of(b" a-b")) if flag]
    ['leading space', 'several kinds', 'whole characters', 'Latin', 'punctuation']
    """
    text, inside = (data.decode(errors=how) for how in ("replace", "ignore"))
    kinds = {kind_of(character) for character in inside} - {None}
    whole = inside.encode() == data
    touched = sum(place == 0 or byte & 0xC0 != 0x80 for place, byte in enumerate(data))
    inner = any(map(str.isspace, text.strip()))
    flags = (text[:1].isspace(), inner, len(kinds) > 1, whole, not whole and touched > 1)
    return [*flags, *(kind in kinds for kind in KINDS)]


@dataclass(frozen=True, slots=True)
class TokenKindTable:
    """What each id is made of."""

    flags: NDArray[np.bool_]  # [ids, COLUMNS]

    @classmethod
    def of(cls, vocabulary: Vocabulary) -> TokenKindTable:
        """Look at each entry of a vocabulary."""
        return cls(np.array([flags_of(data) for data in vocabulary.strings()], np.bool_).reshape(-1, len(COLUMNS)))

    def count(self, tokens: Tokens) -> Iterator[tuple[str, NDArray[np.int64]]]:
        """Yield each column with its count in each text, int64 [texts]."""
        for name, column in zip(COLUMNS, self.flags.T, strict=True):
            sums = np.concatenate(([0], np.cumsum(column[tokens.ids])))
            yield name, np.diff(sums[tokens.offsets])


def measurements(state: CorpusState) -> Iterator[Measurement]:
    """Yield every metric."""
    metrics = zip(REPORTED, FLAGS, strict=False)
    yield from measure(state, [CorpusMetric(about, _share(name), _NO_CI.get(name)) for about, name in metrics])
    of_kinds = measure(state, [CorpusMetric(REPORTED[-1], _share(kind), _OF_KINDS) for kind in KINDS])
    for kind, one in zip(KINDS, of_kinds, strict=True):
        yield replace(one, part=kind)


def _share(column: str) -> Callable[[Counts], float]:
    def share(counts: Counts) -> float:
        if column not in counts.counters:
            raise Undefined(_HIDDEN)
        if not counts["tokens"]:
            raise Undefined("no tokens were produced")
        return counts[column] / counts["tokens"]

    return share


REPORTED = (
    Metric("tokens_with_leading_space", "share", "none", "tokens that begin with white space", format=PERCENT),
    Metric("tokens_with_inner_space", "share", "none", "tokens with white space between other characters",
           format=PERCENT),
    Metric("tokens_of_several_kinds", "share", "none", "tokens with characters of two kinds or more", format=PERCENT),
    Metric("tokens_of_whole_characters", "share", "higher", "tokens whose bytes are whole characters", format=PERCENT),
    Metric("tokens_across_characters", "share", "lower", "tokens with bytes of several characters, not all whole",
           format=PERCENT),
    Metric("tokens_of_kind", "share", "none", "tokens with a character of the script or kind in the part",
           format=PERCENT),
)  # fmt: skip
TABLES = (
    Table(
        "Characters of tokens",
        tuple(Column(metric.name, title, interval=True) for metric, title in zip(
            REPORTED[:-1], ("leading space %", "inner space %", "several kinds %", "whole characters %", "across %"),
            strict=True,
        )),
        ("Of the tokens of the text. across: with bytes of several characters, not all of them whole.",),
        joined=("alpha", "window"),
    ),
    Table(
        "Scripts of tokens", (Column("tokens_of_kind", "{part} %", each=True),),
        ("Tokens with a character of it, of all tokens of the text. Parts of characters are of no kind.",),
        joined=("alpha", "window"), needs=("tokens_of_kind",),
    ),
)  # fmt: skip

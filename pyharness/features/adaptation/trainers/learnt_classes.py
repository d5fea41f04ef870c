"""What kinds of strings a tokenizer has learnt: scripts, and what is rarely meant, such as mojibake and table rules."""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable
from functools import cache

from pyharness.vocabularies.patterns.code_points import table

_NEUTRAL = ("common", "inherited")
_JAPANESE = frozenset({"Han", "Hiragana", "Katakana"})
EXAMPLES = 5


def classes(strings: Iterable[bytes]) -> dict[str, dict[str, object]]:
    """Count strings by what they are, most first, with the first examples of each.

    >>> {name: found["tokens"] for name, found in classes([b" kas", "да".encode(), b"----", b"\\xe4"]).items()}
    {'Latin': 1, 'Cyrillic': 1, 'punctuation, several': 1, 'part of a character': 1}
    """
    counts: Counter[str] = Counter()
    examples: dict[str, list[str]] = {}
    for string in strings:
        name = class_of(string)
        counts[name] += 1
        if len(shown := examples.setdefault(name, [])) < EXAMPLES:
            shown.append(string.decode(errors="backslashreplace"))
    return {name: {"tokens": count, "examples": examples[name]} for name, count in counts.most_common()}


def class_of(string: bytes) -> str:
    """Name what a string is.

    >>> class_of("naïve".encode()), class_of("кaт".encode()), class_of(b" 12"), class_of(b"  ")
    ('Latin', 'mixed scripts', 'digits', 'white space')
    """
    try:
        text = string.decode().replace("▁", " ")
    except UnicodeDecodeError:
        return "part of a character"
    if "\ufffd" in text or any(unicodedata.category(character) == "Co" for character in text):
        return "U+FFFD and private use"
    if not text.strip():
        return "white space"
    scripts = {_script(character) for character in text if unicodedata.category(character)[0] in "LM"} - {""}
    if len(scripts) > 1:
        return "Han and kana" if scripts <= _JAPANESE else "mixed scripts"
    if scripts:
        return next(iter(scripts))
    if any(unicodedata.category(character)[0] == "N" for character in text):
        return "digits"
    return "punctuation, several" if len(text.strip()) > 1 else "punctuation"


@cache
def _script(character: str) -> str:
    """Name of the script; empty for what goes with any."""
    starts, ranges = _scripts()
    _, end, name = ranges[max(bisect_right(starts, ord(character)) - 1, 0)]
    return name if ord(character) < end else ""


def _in_full(name: str) -> tuple[bool, int]:
    """Key of which the greater is the name of a script in full: short forms have four letters (Hani for Han)."""
    return len(name) < 4, len(name)


@cache
def _scripts() -> tuple[list[int], list[tuple[int, int, str]]]:
    """Ranges of code points with the script of each, rising, and where they begin."""
    names: dict[tuple[int, ...], str] = {}
    for (kind, name), edges in table().sets.items():
        if kind == "sc":
            names[edges] = max(name, names.get(edges, name), key=_in_full)
    ranges = [
        (start, end, "" if name in _NEUTRAL else name.capitalize())
        for edges, name in names.items()
        for start, end in zip(edges[::2], edges[1::2], strict=True)
    ]
    return [start for start, _, _ in sorted(ranges)], sorted(ranges)

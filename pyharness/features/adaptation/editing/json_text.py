"""JSON as text: positions of the parts of objects and arrays, to edit some and keep the bytes of the rest.

Texts must have passed :func:`pyharness.vocabularies.files.json_file.parse_json`; nothing is checked twice.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from pyharness.types import InputError

Span: TypeAlias = tuple[int, int]  # begin, and end after the last character
Edit: TypeAlias = tuple[Span, str]

STRING = r'"[^"\\]*(?:\\.[^"\\]*)*"'
GAP = r"[ \t\n\r]*"
_GAP = re.compile(GAP)
_BLANKS = " \t\n\r"
_TAIL = 256  # characters at the end of an array to search for the end of its last item
_DECODER = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class Items:
    """Elements of an array, or members of an object (a key and its value), as text between two brackets."""

    text: str
    inside: Span  # without the brackets
    spans: Sequence[Span]

    @property
    def opening(self) -> str:
        """Text before the first item."""
        return self.text[self.inside[0] : self.spans[0][0] if self.spans else self.inside[1]]

    @property
    def closing(self) -> str:
        """Text after the last item."""
        return self.text[self.spans[-1][1] : self.inside[1]] if self.spans else self.opening

    @property
    def between(self) -> str:
        """Text between the last two items, a comma and white space; of fewer, a comma and the text before the first."""
        if len(self.spans) < 2:
            return "," + self.opening
        return self.text[self.spans[-2][1] : self.spans[-1][0]]

    def edited(self, items: Iterable[str | None], new: Iterable[str] = (), like: Items | None = None) -> Edit:
        """Return the edit that replaces every item (None: removes it) and appends new ones.

        ``like``: source of the white space where there are no items.
        """
        source = self if self.spans else like or self
        parts: list[str] = []
        before = self.inside[0]
        for (start, end), item in zip(self.spans, items, strict=True):
            if item is not None:
                parts += (self.text[before:start] if parts else self.opening, item)
            before = end
        for item in new:
            parts += (source.between if parts else source.opening, item)
        return self.inside, "".join(parts) + (source if parts else self).closing

    def extended(self, new: Iterable[str]) -> Edit:
        """Return the edit that appends new items. At least one is there; the spans of only the last two are enough."""
        end = self.spans[-1][1]
        return (end, end), "".join(f"{self.between}{item}" for item in new)

    def texts(self) -> list[str | None]:
        """Return the text of each item."""
        return [self.text[start:end] for start, end in self.spans]


def text_of(data: bytes, label: str) -> str:
    """Decode a JSON file in UTF-8, and keep a byte order mark.

    Raises:
        InputError: the file has another encoding, which ``tokenizers`` does not read either.
    """
    try:
        return data.decode(errors="surrogatepass")
    except UnicodeDecodeError:
        raise InputError(f"{label} is not in UTF-8: it cannot be edited; write it in UTF-8") from None


def bytes_of(text: str, edits: Iterable[Edit]) -> bytes:
    """Apply edits that do not overlap, and return the bytes."""
    parts: list[str] = []
    position = 0
    for (start, end), new in sorted(edits):
        parts += (text[position:start], new)
        position = end
    return "".join((*parts, text[position:])).encode(errors="surrogatepass")


def quoted(string: str, *, ascii_only: bool) -> str:
    """Return a string as JSON."""
    return json.dumps(string, ensure_ascii=ascii_only)


def beginning(text: str) -> int:
    """Return the position of a file's first bracket."""
    return text.index("{")


def members(text: str, start: int) -> dict[str, Span]:
    """Return the values, by key, of the object whose bracket is at ``start``."""
    items, values = keyed_items(text, start)
    return {key: (value, end) for (key, value), (_, end) in zip(values, items.spans, strict=True)}


def keyed_items(text: str, start: int) -> tuple[Items, list[tuple[str, int]]]:
    """Return the members of the object whose bracket is at ``start``, with each key and the start of its value."""
    spans, values = [], []
    position = _behind_gap(text, start + 1)
    while text[position] != "}":
        first = position
        key, position = _DECODER.raw_decode(text, position)
        value = _behind_gap(text, _behind_gap(text, position) + 1)
        _, end = _DECODER.raw_decode(text, value)
        spans.append((first, end))
        values.append((key, value))
        position = _behind_comma(text, end)
    return Items(text, (start + 1, position), spans), values


def elements(text: str, start: int) -> Items:
    """Return the elements of the array whose bracket is at ``start``."""
    spans = []
    position = _behind_gap(text, start + 1)
    while text[position] != "]":
        _, end = _DECODER.raw_decode(text, position)
        spans.append((position, end))
        position = _behind_comma(text, end)
    return Items(text, (start + 1, position), spans)


def matches(expression: re.Pattern[str], text: str, value: Span, count: int) -> tuple[Items, list[re.Match[str]]]:
    """Return the items of a large object or array by an expression that matches each.

    This is much faster than :func:`keyed_items` and :func:`elements`. ``count``: number of items in the parsed file.

    Raises:
        AssertionError: the expression matches another number of items.
    """
    inside = value[0] + 1, value[1] - 1
    items = list(expression.finditer(text, *inside))
    if len(items) != count:
        raise AssertionError(f"{len(items)} items of a JSON text match {expression.pattern!r}; the text has {count}")
    return Items(text, inside, [match.span() for match in items]), items


def last_matches(expression: re.Pattern[str], text: str, value: Span, count: int) -> tuple[Items, list[re.Match[str]]]:
    """Return the result of :func:`matches` for only the last two items, if each has one string or a pair of them.

    Where these two cannot be told, return the result for all items.
    """
    inside = value[0] + 1, value[1] - 1
    pairs = text[max(inside[1] - _TAIL, 0) : inside[1]].rstrip(_BLANKS).endswith("]")
    start = inside[1]
    for _ in range(8 if pairs else 4):
        start = _last_quote(text, start)
    if pairs:
        start = text.rfind("[", 0, start)
    items = list(expression.finditer(text, max(start, inside[0]), inside[1])) if count > 1 else []
    if len(items) != 2 or text[items[0].end() : items[1].start()].strip(_BLANKS) != ",":
        return matches(expression, text, value, count)
    return Items(text, inside, [match.span() for match in items]), items


def _last_quote(text: str, end: int) -> int:
    """Return the position of the last quote before ``end`` that opens or closes a string; -1 without one."""
    while (end := text.rfind('"', 0, end)) > 0:
        before = end
        while text[before - 1] == "\\":
            before -= 1
        if (end - before) % 2 == 0:
            break
    return end


def _behind_gap(text: str, position: int) -> int:
    gap = _GAP.match(text, position)
    return gap.end() if gap else position


def _behind_comma(text: str, end: int) -> int:
    position = _behind_gap(text, end)
    return _behind_gap(text, position + 1) if text[position] == "," else position

"""Text from files and strangers: it never acts on its reader, and shortened names stay different."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias

CellValue: TypeAlias = float | int | str | None

# Markdown's own marks: an underscore within a word is no mark.
_SPECIAL = re.compile(r"([\\`*\[\]|~])|(?<![^\W_])(_)|(_)(?![^\W_])")
# Text that GitHub acts on. It searches the text of the rendered Markdown, so neither a backslash nor an entity hides a
# name, and skips code. (GitHub Docs, "Autolinked references and URLs"; GitHub Desktop, app/src/lib/markdown-filters.)
# Each part matches more than GitHub does, and needs no end of a word.
_ACTS = re.compile(
    r"@"  # people and teams, who are notified; commits of others (user@5e1b7e2), addresses of mail
    r"|#\w|[a-z]-\d|ghsa-"  # issues (#1, owner/repo#1, GH-1), tickets of other systems, advisories
    r"|/(?:issues|pull|discussions)/"  # issues, by their path: owner/repo/issues/1
    r"|[0-9a-f]{7}"  # commits: seven to forty digits
    r"|:/|www\.|mailto:|xmpp:"  # links: http, https, ftp and whatever else has two slashes
    r"|:[\w+-]+:"  # symbols by name
    r"|\$",  # formulas
    re.IGNORECASE,
)
# A number with a fraction, which is never the name of a commit: measurements keep their spelling.
_DECIMAL = re.compile(r"(?<![\w.])\d{1,6}\.\d+(?:e[+-]?\d+)?(?!\w|\.\w)", re.IGNORECASE)
# Beginnings of a list, heading, quotation, line below a heading, or table's head; and of an order to a robot (/merge).
_BLOCK = re.compile(r"^(?=[-+=#>:/])|^(\d+)(?=[.)](?:\s|$))")
_CLOSING = re.compile(r"(?<!\S)(?=#+$)")  # signs at the end of a heading are not part of it
# Brackets around a word and signs behind it, which no code span needs; brackets within it stay with it.
_WRAPPED = re.compile(r"^(\(*)([^()]+?|.+)([).,;]*)$")
# Controls; lone surrogates, which no terminal or file accepts; characters that XML cannot hold; ends of lines; blanks
# other than a space; and Unicode's Default_Ignorable_Code_Point, which has no glyph, or reorders other text: names
# would look alike.
_UNSEEN = re.compile(
    r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029\xa0\u1680\u2000-\u200a\u202f\u205f\u2800\u3000"
    r"\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    r"\ufeff\uffa0\ufff0-\ufff8\ufffe\uffff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)


def visible(text: str) -> str:
    r"""Escape characters that drive a terminal, or are invisible: control, bidirectional and invisible characters.

    >>> visible("a\x1b[31mb"), visible("a\N{ZERO WIDTH SPACE}b")
    ('a\\x1b[31mb', 'a\\x200bb')
    """
    return _UNSEEN.sub(lambda match: f"\\x{ord(match[0]):02x}", text)


def writable(value: CellValue) -> CellValue:
    r"""Escape lone surrogates, which come from file names: no UTF-8 file can hold them.

    >>> writable("a\udcff"), writable(1.5)
    ('a\\udcff', 1.5)
    """
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value


def markdown(text: str) -> str:
    r"""Return foreign text for a line of GitHub's Markdown: it marks nothing, links nowhere and notifies nobody.

    A word that GitHub would act on goes into a code span, where it has no effect; in other words, marks are escaped.
    The rendered text reads as ``visible(text)``.

    >>> markdown("a*b"), markdown("(ask @someone)."), markdown("<b>|")
    ('a\\*b', '(ask `@someone`).', '&lt;b&gt;\\|')
    """
    return _inert(text, _code)


def markdown_line(text: str) -> str:
    r"""Return foreign text for a line, an item or a heading of its own, which begins no other block.

    >>> markdown_line("# a"), markdown_line("1. a"), markdown_line("a #")
    ('\\# a', '1\\. a', 'a \\#')
    """
    return _CLOSING.sub(r"\\", _BLOCK.sub(r"\1\\", markdown(text.strip(" "))))


def markdown_cell(text: str) -> str:
    r"""Return foreign text for a cell of a table: a pipe would end the cell anywhere, in code as well.

    >>> markdown_cell("a|b"), markdown_cell("@a|b")
    ('a\\|b', '`@a\\|b`')
    """
    return _inert(text, lambda word: _code(word).replace("|", "\\|"))


def _inert(text: str, code: Callable[[str], str]) -> str:
    words = visible(text).split(" ")
    return " ".join(code(word) if _ACTS.search(_DECIMAL.sub("0", word)) else _escape(word) for word in words)


def _escape(word: str) -> str:
    escaped = _SPECIAL.sub(lambda match: f"\\{match[0]}", word)
    return escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _code(word: str) -> str:
    """Return a code span; its fence is longer than any in the text, and signs around the text stay outside."""
    _, before, word, after, _ = _WRAPPED.split(word)
    fence = "`" * (1 + max(map(len, re.findall("`+", word)), default=0))
    pad = " " if word.startswith("`") or word.endswith("`") else ""
    return f"{before}{fence}{pad}{word}{pad}{fence}{after}"


# ---------------------------------------------------------------------------------------------- long names


LEAST_WIDTH = 4  # of a shortened name; a wider one may have two cuts, a character between them and one at each end


def shorten(text: str, width: int) -> str:
    """Cut the middle out of a long name: both ends distinguish names.

    >>> shorten("file:/a/long/path/tokenizer.json", 16)
    'file:…nizer.json'
    """
    if len(text) <= width:
        return text
    tail = (width - 1) * 2 // 3
    return f"{text[: width - 1 - tail]}…{text[len(text) - tail :]}"


def shorten_apart(texts: Iterable[str], width: int) -> dict[str, str]:
    """Shorten the names of one table so that all stay different.

    If ``shorten`` makes names alike, the cut keeps their differing part, and as much around it as fits.

    >>> list(shorten_apart(["speed/test_a.py::test[english-2]", "speed/test_a.py::test[polish-2]"], 16).values())
    ['speed…english-2]', 'speed…[polish-2]']
    """
    names = list(dict.fromkeys(texts))
    return dict(zip(names, _number(_tell_apart(names, width), width), strict=True))


def _tell_apart(names: Sequence[str], width: int) -> list[str]:
    shown = {name: shorten(name, width) for name in names}
    alike: dict[str, list[str]] = {}
    for name, short in shown.items():
        alike.setdefault(short, []).append(name)
    for group in alike.values():
        if len(group) > 1 and width > LEAST_WIDTH:
            shown |= zip(group, _around_difference(group, width), strict=True)
    return [shown[name] for name in names]


def _around_difference(names: Sequence[str], width: int) -> Iterator[str]:
    """Cut before and behind the differing part of names, between their common beginning and end."""
    begin = beginning(names)
    end = min(beginning([name[::-1] for name in names]), min(map(len, names)) - begin)
    differing = _tell_apart([name[begin : len(name) - end] for name in names], width - 2)
    room = width - 2 - max(map(len, differing))
    before = min(begin, max(room // 2, room - end))
    after = min(end, room - before)
    for name, part in zip(names, differing, strict=True):
        left = name[:before] + "…" * (before < begin)
        yield left + part + "…" * (after < end) + name[len(name) - after :]


def beginning(names: Sequence[str]) -> int:
    """Count the characters of the common beginning."""
    first, last = min(names), max(names)
    return next(
        (place for place, (one, other) in enumerate(zip(first, last, strict=False)) if one != other), len(first)
    )


def _number(shown: Sequence[str], width: int) -> Iterator[str]:
    """Number names that are still alike: they differ in more places than fit."""
    met = set[str]()
    for text in shown:
        number, unlike = 1, text
        while unlike in met:
            number += 1
            unlike = f"{text[: width - 1 - len(str(number))]}…{number}"
        met.add(unlike)
        yield unlike

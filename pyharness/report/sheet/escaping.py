"""Text from files, for terminals and tables: nothing in it acts on its reader."""

from __future__ import annotations

import re
from typing import TypeAlias

CellValue: TypeAlias = float | int | str | None

_SPECIAL = re.compile(r"([\\`*\[\]|~])|(?<![^\W_])(_)|(_)(?![^\W_])")  # an underscore within a word marks nothing
# Words that GitHub acts on: people, teams and addresses; issues, tickets, advisories; links; commits; symbols by name;
# formulas.
_ACTS = re.compile(
    r"@|#\w|[a-z]-\d|ghsa-|:/|www\.|mailto:|xmpp:|[0-9a-f]{7}|:[\w+-]+:|\$",
    re.IGNORECASE,
)
_BLOCK = re.compile(r"^(?=[-+=#>])|^(\d+)(?=[.)](?:\s|$))")  # what begins a list, a heading, a quotation
_CONTROL = re.compile(  # also lone surrogates, which no terminal or file can be given
    r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def visible(text: str) -> str:
    r"""Show control and bidirectional characters as escapes: a token must not drive the terminal.

    >>> visible("a\x1b[31mb")
    'a\\x1b[31mb'
    """
    return _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", text)


def writable(value: CellValue) -> CellValue:
    r"""Escape lone surrogates, which come from file names: no UTF-8 file can hold them.

    >>> writable("a\udcff"), writable(1.5)
    ('a\\udcff', 1.5)
    """
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value


def markdown(text: str) -> str:
    r"""Text of others in a line or a cell of GitHub's Markdown: it marks nothing, links nowhere and notifies nobody.

    A word that GitHub would act on stands in a code span, where it acts on nothing; in others, marks are escaped.

    >>> markdown("a*b"), markdown("ask @someone"), markdown("<b>|")
    ('a\\*b', 'ask `@someone`', '&lt;b&gt;\\|')
    """
    return " ".join(_code(word) if _ACTS.search(word) else _escaped(word) for word in visible(text).split(" "))


def markdown_line(text: str) -> str:
    r"""Text of others as a line or an item of its own, which begins nothing else.

    >>> markdown_line("# a"), markdown_line("1. a")
    ('\\# a', '1\\. a')
    """
    return _BLOCK.sub(r"\1\\", markdown(text.lstrip()))


def _escaped(word: str) -> str:
    escaped = _SPECIAL.sub(lambda match: f"\\{match[0]}", word)
    return escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _code(word: str) -> str:
    """Return a code span: its fence is longer than any in it, and ``\\|`` is a pipe in a cell before it is code."""
    fence = "`" * (1 + max(map(len, re.findall("`+", word)), default=0))
    pad = " " if word.startswith("`") or word.endswith("`") else ""
    return f"{fence}{pad}{word}{pad}{fence}".replace("|", "\\|")

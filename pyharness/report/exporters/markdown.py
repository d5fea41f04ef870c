"""Sheets as GitHub-flavoured Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pyharness.report.sheet import Sheet
from pyharness.report.sheet.escaping import visible

_SPECIAL = re.compile(r"([\\`*\[\]|~])|(?<![^\W_])(_)|(_)(?![^\W_])")  # an underscore within a word marks nothing
_REFERENCE = re.compile(r"([@#])(?=\w)")  # GitHub would tell a person, or link an issue
_BLOCK = re.compile(r"^(?=[-+=#>])")  # what begins a list, a heading, a quotation


def to_markdown(sheets: Iterable[Sheet]) -> str:
    """Return sheets with their titles and notes."""
    parts = []
    for sheet in sheets:
        lines = [f"### {_escaped(sheet.title)}", ""]
        lines.append("| " + " | ".join(map(_escaped, sheet.columns)) + " |")
        ruler = ["--:" if heading.kind == "number" else ":--" for heading in sheet.headings]
        lines.append("| " + " | ".join(ruler) + " |")
        lines += ["| " + " | ".join(map(_escaped, row)) + " |" for row in sheet.texts]
        lines += ["", *(_BLOCK.sub(r"\\", _escaped(note)) for note in sheet.notes)]
        parts.append("\n".join(lines).rstrip())
    return "\n\n".join(parts) + "\n"


def _escaped(text: str) -> str:
    escaped = _SPECIAL.sub(lambda match: f"\\{match[0]}", visible(text))
    escaped = escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _REFERENCE.sub(r"\1<!-- -->", escaped)

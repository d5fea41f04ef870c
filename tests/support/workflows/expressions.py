"""The little of GitHub's expressions that our workflows use: a name, comparisons with text, ``&&``, ``always()``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_EXPRESSION = re.compile(r"\$\{\{\s*(.+?)\s*\}\}")


def filled(text: str, contexts: Mapping[str, Any]) -> str:
    """Return text with its expressions replaced; what is not there is empty, as on GitHub."""
    return _EXPRESSION.sub(lambda match: text_of(looked_up(match[1], contexts)), text)


def looked_up(name: str, contexts: Mapping[str, Any]) -> Any:
    """Return the value of a dotted name, or None."""
    assert re.fullmatch(r"[\w.-]+", name), f"an expression that cannot be played: {name}"
    value: Any = contexts
    for part in name.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def holds(condition: str, contexts: Mapping[str, Any], succeeded: bool) -> bool:
    """Say whether a step or a job with this condition runs."""
    parts = [part.strip() for part in condition.split("&&")]
    return all(_holds(part, contexts, succeeded) for part in parts) and (succeeded or "always()" in parts)


def _holds(part: str, contexts: Mapping[str, Any], succeeded: bool) -> bool:
    if part in ("always()", "success()"):
        return part == "always()" or succeeded
    compared = re.fullmatch(r"([\w.-]+) (==|!=) '([^']*)'", part)
    assert compared is not None, f"a condition that cannot be played: {part}"
    return (text_of(looked_up(compared[1], contexts)) == compared[3]) == (compared[2] == "==")


def text_of(value: Any) -> str:
    """Return a value as text, as GitHub does."""
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)

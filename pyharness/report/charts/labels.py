"""Names in charts: short, visible, and never two alike."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from pyharness.report.sheet.escaping import visible
from pyharness.report.sheet.shortening import shorten, shorten_apart

LONGEST_SPOKEN = 200  # characters of a name that is read out


def labels(names: Iterable[str], width: int) -> dict[str, str]:
    r"""Label each name; those that are one in compatible forms (NFKC) are numbered.

    >>> labels(["a", "\uff41", "file:/a/long/path/tokenizer.json"], 16)
    {'a': 'a', '\uff41': '\uff41 (2)', 'file:/a/long/path/tokenizer.json': 'file:…nizer.json'}
    """
    met = set[str]()
    unlike: dict[str, str] = {}
    for name in dict.fromkeys(names):
        number, label = 1, visible(name)
        while (looks := unicodedata.normalize("NFKC", label).strip()) in met:
            number += 1
            label = f"{visible(name)} ({number})"
        met.add(looks)
        unlike[name] = label
    short = shorten_apart(unlike.values(), width)
    return {name: short[shown] for name, shown in unlike.items()}


def spoken(name: str) -> str:
    """Return a name as text for those who listen."""
    return shorten(visible(name), LONGEST_SPOKEN)

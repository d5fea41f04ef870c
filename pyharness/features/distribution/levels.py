"""Groups of languages: the script that their text is in, and resource levels from a TOML file of the user."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Mapping

from pyharness.store.shape import short
from pyharness.system import bounded_file, folders
from pyharness.types import InputError

MOST_BYTES = 1 << 20
LONGEST = 40  # characters of the name of a level
EXAMPLE = 'write a table [levels] with lines such as est_Latn = "3"'


def read_levels(file: str) -> Mapping[str, str]:
    """Read the level of each language; numbers become text.

    Raises:
        InputError: the file cannot be read, or has no table of levels.
    """
    path = folders.expanded(file)
    label = f"levels {str(path)!r}"
    content = bounded_file.read_toml(path, MOST_BYTES, label)
    levels = content.get("levels")
    if not isinstance(levels, dict) or not levels:
        raise InputError(f"{label} has no table of levels: {EXAMPLE}")
    for language, level in levels.items():
        named = isinstance(level, str) and level.isprintable() and 0 < len(level) <= LONGEST
        if not named and (isinstance(level, bool) or not isinstance(level, int)):
            raise InputError(f"{label}: {short(language)} = {short(level)} is no level: {EXAMPLE}")
    return {language: str(level) for language, level in levels.items()}


class ScriptCounts:
    """Letters of a language by script, the first word of their name in Unicode, such as LATIN or CJK."""

    MOST = 4096  # letters that are looked at

    def __init__(self) -> None:
        self.letters: Counter[str] = Counter()

    def add(self, text: str) -> None:
        """Count the letters of a text, until enough are counted."""
        left = self.MOST - self.letters.total()
        if left > 0:
            letters = [one for one in text[: 4 * left] if one.isalpha()][:left]
            self.letters.update(unicodedata.name(one, "UNKNOWN").split()[0] for one in letters)

    @property
    def script(self) -> str:
        """The script of most letters; the first in the alphabet of equal ones."""
        return min(self.letters, key=lambda name: (-self.letters[name], name), default="UNKNOWN")

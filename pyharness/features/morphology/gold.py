"""Gold words: a file of the user, read up to a limit, each line once."""

from __future__ import annotations

import csv
import hashlib
import io
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate

from pyharness.features.morphology.formats import GoldWord, recognised
from pyharness.system import bounded_file, folders
from pyharness.types import InputError

MOST_BYTES = 128 << 20  # of a file; MorphyNet's largest have 60 MB
MOST_WORDS = 1 << 20
LONGEST = 256  # characters of a word
TWICE = "lines that another one repeats"
TOO_LONG = f"words of more than {LONGEST} characters"


@dataclass(frozen=True, slots=True)
class Gold:
    """The words of a file. ``left_out``: lines without one, by reason."""

    format: str
    sha256: str
    words: tuple[GoldWord, ...]
    left_out: Mapping[str, int]


def boundaries(morphemes: tuple[str, ...]) -> frozenset[int]:
    """Return where morphemes meet, in bytes of UTF-8 of the word.

    >>> sorted(boundaries(("un", "für", "s")))
    [2, 6]
    """
    return frozenset(accumulate(len(one.encode()) for one in morphemes[:-1]))


def read_gold(file: str) -> Gold:
    """Read the words of a file.

    Raises:
        InputError: it cannot be read, is too large, is of no known format, or has no words.
    """
    path = folders.expanded(file)
    label = f"gold file {str(path)!r}"
    try:
        data = bounded_file.read(path, MOST_BYTES, label)
        return gold_of(lambda: _lines(data), label, hashlib.sha256(data).hexdigest())
    except OSError as error:
        raise InputError(f"{label} cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise InputError(f"{label} is not UTF-8: convert it first") from None


def gold_of(lines: Callable[[], Iterable[str]], label: str, sha256: str) -> Gold:
    """Read the words of lines that are not blank, which each call gives again; errors call them ``label``.

    Raises:
        InputError: they are of no known format, or have no words.
    """
    words: dict[GoldWord, None] = {}
    left_out: Counter[str] = Counter()
    try:
        kind = recognised(lines(), label)
        for one in kind.parse(lines()):
            reason = one if isinstance(one, str) else _refused(one, words)
            if reason:
                left_out[reason] += 1
            elif isinstance(one, GoldWord):
                words[one] = None
            if len(words) > MOST_WORDS:
                raise InputError(f"{label} has more than {MOST_WORDS:,} words, the most that are read: take a part")
    except csv.Error as error:
        raise InputError(f"{label} is not valid CSV: {error}") from None
    if not words:
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in left_out.items()) or "nothing"
        raise InputError(f"{label} has no words to measure; left out: {reasons}; formats and rules: docs/papers.md")
    return Gold(kind.name, sha256, tuple(words), dict(sorted(left_out.items())))


def _lines(data: bytes) -> Iterator[str]:
    """Yield lines that are not blank, one by one: a list of many short lines takes 30 times the file."""
    text = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8-sig", newline="\n")
    return (line.rstrip("\r\n") for line in text if not line.isspace())


def _refused(one: GoldWord, words: Mapping[GoldWord, None]) -> str:
    return TOO_LONG if len(one.word) > LONGEST else TWICE if one in words else ""

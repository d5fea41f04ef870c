"""Formats of files with morphemes, recognised by what they hold: MorphScore, MorphyNet, UniMorph and SIGMORPHON.

Sources: Arnett and Bergen 2024 (arXiv 2411.14198) and Arnett et al. 2025 (arXiv 2507.06378) for MorphScore; Batsuren et
al. 2021 for MorphyNet; Batsuren et al. 2022 (arXiv 2205.03608) for UniMorph 4, and 2022 (arXiv 2206.07615) for the
SIGMORPHON task.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeAlias

from pyharness.types import InputError

Lines: TypeAlias = Iterable[str]  # without their ends; none is blank
NO_MORPHEMES = "lines without morphemes"
NOT_SPELLED = "words that their morphemes do not spell"
FILTERED = "words that MorphScore 2 leaves out (not unique, stem is not the lemma, digits)"
_LOOKED_AT = 200  # lines that decide about the format
MOST_FREQUENCY = 1e15  # sums of more could be infinite
_SPLITS = ("train", "dev", "test")


@dataclass(frozen=True, slots=True)
class GoldWord:
    """A word with its morphemes, which spell it end to end, and its frequency if the file has one."""

    word: str
    morphemes: tuple[str, ...]
    frequency: float | None = None


Parsed: TypeAlias = Iterator[GoldWord | str]  # a word, or why a line gives none


@dataclass(frozen=True, slots=True)
class GoldFormat:
    """A format: its name, whether the first lines are of it, and the words of all lines."""

    name: str
    has: Callable[[Sequence[str]], bool]
    parse: Callable[[Lines], Parsed]


def recognised(lines: Iterable[str], label: str) -> GoldFormat:
    """Return the format of the lines of a file; raise ``InputError`` for no known format."""
    first = list(islice(lines, _LOOKED_AT))
    for one in FORMATS:
        if first and one.has(first):
            return one
    names = "; ".join(one.name for one in FORMATS)
    if first and all(line.count("\t") == 2 for line in first):
        hint = "it looks like UniMorph without segmentation: take a file whose fourth column is word|s"
    else:
        hint = "see docs/papers.md for an example of each"
    raise InputError(f"{label} is of no known format; known: {names}; {hint}")


def _word(word: str, morphemes: Sequence[str], frequency: float | None = None) -> GoldWord | str:
    kept = tuple(filter(None, morphemes))
    return GoldWord(word, kept, frequency) if "".join(kept) == word and word.strip() else NOT_SPELLED


def _columns(lines: Lines) -> Iterator[list[str]]:
    return (line.split("\t") for line in lines)


# ------------------------------------------------------------------------------------------------------ MorphScore


def _has_columns(*wanted: str) -> Callable[[Sequence[str]], bool]:
    return lambda lines: set(wanted) <= {name.strip('"') for name in lines[0].split(",")}


def _rows(lines: Lines) -> Iterator[Mapping[str, str]]:
    return ({name: value or "" for name, value in row.items() if name is not None} for row in csv.DictReader(lines))


def _first_version(lines: Lines) -> Parsed:
    for row in _rows(lines):
        yield _word(row["full_word"], (row["pt1"], row["rest"]))


def _second_version(lines: Lines) -> Parsed:
    for row in _rows(lines):
        word = row["wordform"]
        if not _is_scored(row):
            yield FILTERED
            continue
        parts = row["preceding_part"], row["stem"], row["following_part"]
        yield _word(word, parts, _frequency(row.get("word_freq_norm", "")))


def _is_scored(row: Mapping[str, str]) -> bool:
    """Whether the defaults of MorphScore 2 score the word of a row."""
    unique = row.get("unique", "unique") == "unique"
    split = row.get("data_split", _SPLITS[0]).startswith(_SPLITS)
    return unique and split and row["stem"] == row.get("lemma", row["stem"]) and not re.search(r"\d", row["wordform"])


def _frequency(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 <= value <= MOST_FREQUENCY else None


# --------------------------------------------------------------------------------- MorphyNet, UniMorph and SIGMORPHON


def _has_affixes(lines: Sequence[str]) -> bool:
    return all(len(row) == 6 and row[5].strip() in ("prefix", "suffix", "infix") for row in _columns(lines))


def _derivations(lines: Lines) -> Parsed:
    """Yield words of MorphyNet's derivations: source, word, two parts of speech, affix, kind of affix."""
    for row in _columns(lines):
        word, affix, kind = (row[1], row[4], row[5].strip()) if len(row) == 6 else ("", "", "")
        rest = len(word) - len(affix)
        if kind == "suffix" and rest > 0 and word.endswith(affix):
            yield _word(word, (word[:rest], affix))
        elif kind == "prefix" and rest > 0 and word.startswith(affix):
            yield _word(word, (affix, word[len(affix) :]))
        else:
            yield NOT_SPELLED


def _has_bars(lines: Sequence[str]) -> bool:
    rows = list(_columns(lines))
    return all(len(row) == 4 for row in rows) and any("|" in row[3] for row in rows)


def _inflections(lines: Lines) -> Parsed:
    """Yield words of lemma, word, features, and morphemes with bars between them; a dash stands for no morphemes."""
    for row in _columns(lines):
        morphemes = row[3].strip() if len(row) == 4 else "-"
        yield NO_MORPHEMES if morphemes in ("-", "") else _word(row[1], morphemes.split("|"))


def _has_marks(lines: Sequence[str]) -> bool:
    rows = list(_columns(lines))
    return all(len(row) in (2, 3) for row in rows) and any(" @@" in row[1] for row in rows)


def _task(lines: Lines) -> Parsed:
    """Yield words of the SIGMORPHON task: word, morphemes of which all but the first begin with @@, a category."""
    for row in _columns(lines):
        morphemes = row[1].split() if len(row) in (2, 3) else []
        yield _word(row[0], [one.removeprefix("@@") for one in morphemes])


FORMATS = (
    GoldFormat("MorphScore 1 (CSV: full_word,pt1,rest)", _has_columns("full_word", "pt1", "rest"), _first_version),
    GoldFormat(
        "MorphScore 2 (CSV: wordform,preceding_part,stem,following_part)",
        _has_columns("wordform", "preceding_part", "stem", "following_part"), _second_version,
    ),
    GoldFormat("MorphyNet derivations (6 columns, the last is prefix or suffix)", _has_affixes, _derivations),
    GoldFormat("MorphyNet or UniMorph inflections (4 columns, the last is word|s)", _has_bars, _inflections),
    GoldFormat("SIGMORPHON 2022 (2 or 3 columns, the second is word @@s)", _has_marks, _task),
)  # fmt: skip

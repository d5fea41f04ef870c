"""Units of text that are no tokens: ``units:sentence``, ``units:word``, ``units:character``."""

from __future__ import annotations

from collections.abc import Mapping

from pyharness.plugins.registry import pick
from pyharness.plugins.specification import check_options
from pyharness.segmenters.sentences import CAP, SentenceUnits
from pyharness.segmenters.words import CharacterUnits, WordUnits
from pyharness.tokenizers.segmenting import row_of_units, whole_number
from pyharness.types import InputError, TokenizerFamily, TokenizerSpec

LARGEST = 1 << 31


def sentence(name: str, options: Mapping[str, str]) -> TokenizerSpec:
    """Describe sentences by rule."""
    check_options(name, options, ("cap", "commas"))
    cap = whole_number(name, options, "cap", CAP, LARGEST)
    if (commas := options.get("commas", "0")) not in ("0", "1"):
        raise InputError(f"{name}: commas={commas} is neither 0 nor 1")
    source = f"sentences by rule, of at most {cap} characters" + (", cut at commas, too" if commas == "1" else "")
    return row_of_units(name, lambda _: SentenceUnits(cap, commas == "1"), source)


def word(name: str, options: Mapping[str, str]) -> TokenizerSpec:
    """Describe the segments of UAX #29."""
    check_options(name, options, ())
    return row_of_units(name, lambda _: WordUnits(), "segments of UAX #29")


def character(name: str, options: Mapping[str, str]) -> TokenizerSpec:
    """Describe code points."""
    check_options(name, options, ())
    return row_of_units(name, lambda _: CharacterUnits(), "code points")


KINDS = {"sentence": sentence, "word": word, "character": character}


def expand(argument: str, options: Mapping[str, str]) -> TokenizerSpec:
    """Describe the row."""
    return pick("kind of units", argument, KINDS)(f"units:{argument}", options)


FAMILIES = (
    TokenizerFamily(
        name="units",
        expand=expand,
        summary="units of text, without a vocabulary: sentences by rule (?cap=256, ?commas=1), words, characters",
        example="units:sentence",
        known=lambda: tuple(KINDS),
    ),
)

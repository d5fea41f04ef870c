"""Units of text that are no tokens: ``units:sentence``, ``units:word``, ``units:character``."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from functools import lru_cache, partial

from pyharness.features.segmentation.segmenters.characters import CharacterUnits
from pyharness.features.segmentation.segmenters.sat import MODEL, THRESHOLD, SatSentences, Splitter
from pyharness.features.segmentation.segmenters.sentences import CAP, SentenceUnits
from pyharness.features.segmentation.segmenters.words import WordUnits
from pyharness.plugins import libraries
from pyharness.plugins.registry import pick
from pyharness.plugins.specification import check_options
from pyharness.tokenizers.segmenting import row_of_units, whole_number
from pyharness.tokenizers.source import refusing
from pyharness.types import HasSegments, InputError, TokenizerFamily, TokenizerSpec, Unsupported

LARGEST = 1 << 31
LIBRARY = "wtpsplit"


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


def sat(name: str, options: Mapping[str, str]) -> TokenizerSpec:
    """Describe sentences as a model finds them; it is loaded once texts are cut."""
    check_options(name, options, ("model", "threshold"))
    model, said = options.get("model", MODEL), options.get("threshold", str(THRESHOLD))
    try:
        threshold = float(said)
    except ValueError:
        threshold = math.nan
    if not 0 < threshold < 1:
        raise InputError(f"{name}: threshold={said} is no share between 0 and 1")
    row = row_of_units(name, partial(_of_sat, model, threshold), f"sentences that {model} finds")
    return dataclasses.replace(row, library=LIBRARY, extra="sat")


def _of_sat(model: str, threshold: float, spec: TokenizerSpec) -> HasSegments:
    return SatSentences(_sat(spec.name, model), threshold)


@lru_cache(maxsize=1)  # the cases of a row follow each other
def _sat(name: str, model: str) -> Splitter:
    library = libraries.load(f"{name!r}", LIBRARY, "sat", error=Unsupported)
    with refusing(f"{name!r}", LIBRARY):
        loaded: Splitter = library.SaT(model)
    return loaded


KINDS = {"sentence": sentence, "word": word, "character": character, "sat": sat}


def expand(argument: str, options: Mapping[str, str]) -> TokenizerSpec:
    """Describe the row."""
    return pick("kind of units", argument, KINDS)(f"units:{argument}", options)


FAMILIES = (
    TokenizerFamily(
        name="units",
        expand=expand,
        summary="units of text, without a vocabulary: sentences by rule (?cap=256, ?commas=1), words, characters; "
        "sentences that a model finds (units:sat)",
        example="units:sentence",
        known=lambda: tuple(KINDS),
    ),
)

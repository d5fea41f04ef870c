"""Units of text other than tokens: ``units:sentence``, ``units:word``, ``units:character``, ``units:sat``.

Sentences by rule are "concepts", the units of Large Concept Models (arXiv 2412.08821). Nothing is lost: the units are
the text. Their embeddings and the decoder's output are not measured here.

Sentences by model are those of SaT ("Segment any Text", Frohmann et al. 2024, arXiv 2406.16678), in wtpsplit. The
library returns them as text, and does not document whether it keeps white space. So they are searched in the original
text, and any text between two of them belongs to the first.

>>> SentenceUnits().segment_batch(["One. Two?\\nThree"]).ends.tolist()
[5, 10, 15]
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from pyharness.features.segmentation.text_bytes import (
    bytes_of_characters,
    continues_character,
    laid_out,
    segments_of_starts,
)
from pyharness.kernels.text import segment_ends
from pyharness.plugins import libraries
from pyharness.plugins.registry import pick
from pyharness.plugins.specification import check_options
from pyharness.tokenizers.segmenting import row_of_units, whole_number
from pyharness.tokenizers.source import refusing
from pyharness.types import InputError, Segments, TokenizerFamily, TokenizerSpec, Unsupported


@dataclass(slots=True)
class CharacterUnits:
    """Code points as units."""

    is_causal: bool = True

    def segment_batch(self, texts: Sequence[str], threads: int = 1) -> Segments:
        """Cut documents. One thread suffices: this runs at memory speed."""
        del threads
        data, offsets = laid_out(texts)
        return segments_of_starts(~continues_character(data), offsets)


@dataclass(slots=True)
class WordUnits:
    """Segments of UAX #29 as units: a word, a space, a mark. The end of one depends on the text after it."""

    is_causal: bool = False

    def segment_batch(self, texts: Sequence[str], threads: int = 1) -> Segments:
        """Cut documents, shared by threads."""
        return segment_ends(texts, threads)


ENDERS, CJK_ENDERS = ".!?", "。！？"
COMMAS, CJK_COMMAS = ",", "，、"
CLOSERS = "\"')]}»”’"
SPACES = " \t\n\r"
SEPARATORS = ("\n", ";", ":", ",", " ")  # cuts of a long unit: at its last separator of the first kind that occurs
CAP = 256  # characters of a unit, at most


def sentence_rule(enders: str, cjk_enders: str) -> re.Pattern[str]:
    """Return the rule for the end of a unit: enders and closing marks before white space or the end; or new lines.

    Enders of Chinese and Japanese need no white space. White space belongs to the unit before it. Quantifiers are
    possessive, and an ender after another is not tried again, so the time is linear in the text. The expression begins
    with a set of characters, because ``re`` skips quickly to the next member of a set.
    """
    any_ender, closing, space = f"[{enders}{cjk_enders}]", f"[{re.escape(CLOSERS)}]*+", f"[{SPACES}]"
    after_cjk = rf"{any_ender}*+{closing}{space}*+"
    run = rf"(?<=[{cjk_enders}]){after_cjk}|[{enders}]*+(?:[{cjk_enders}]{after_cjk}|{closing}(?:{space}++|\Z))"
    return re.compile(rf"[{enders}{cjk_enders}\n](?:(?<=\n){space}*+|(?<!{any_ender}{any_ender})(?:{run}))")


SENTENCE_RULES = {
    False: sentence_rule(ENDERS, CJK_ENDERS),
    True: sentence_rule(ENDERS + COMMAS, CJK_ENDERS + CJK_COMMAS),
}


@dataclass(slots=True)
class SentenceUnits:
    """Sentences of at most ``cap`` characters; ``commas`` also cuts at commas."""

    cap: int = CAP
    commas: bool = False
    is_causal: bool = False  # a too long unit is cut inside, where its beginning alone would not be

    def segment_batch(self, texts: Sequence[str], threads: int = 1) -> Segments:
        """Cut documents, on one thread."""
        del threads
        return Segments.from_arrays([bytes_of_characters(text, list(self._ends(text))) for text in texts])

    def _ends(self, text: str) -> Iterator[int]:
        start = 0
        for match in SENTENCE_RULES[self.commas].finditer(text):
            yield from self._within_cap(text, start, match.end())
            start = match.end()
        if start < len(text):
            yield from self._within_cap(text, start, len(text))

    def _within_cap(self, text: str, start: int, end: int) -> Iterator[int]:
        while end - start > self.cap:
            limit = start + self.cap
            places = (text.rfind(separator, start, limit) for separator in SEPARATORS)
            start = next((place + 1 for place in places if place >= 0), limit)
            yield start
        yield end


MODEL, THRESHOLD = "sat-6l", 0.01  # from the repository of Large Concept Models


class Splitter(Protocol):
    """Interface of ``wtpsplit.SaT`` used here."""

    def split(self, text: str, *, threshold: float) -> Sequence[str]:
        """Return the sentences of one text."""


@dataclass(slots=True)
class SatSentences:
    """Sentences by the model's probability above ``threshold``. Texts that the library changes are missing."""

    splitter: Splitter
    threshold: float = THRESHOLD
    is_causal: bool = False

    def segment_batch(self, texts: Sequence[str], threads: int = 1) -> Segments:
        """Cut documents one by one: the library has its own threads."""
        del threads
        return Segments.from_lists([self._ends(text) for text in texts])

    def _ends(self, text: str) -> list[int] | None:
        sentences = self.splitter.split(text, threshold=self.threshold) if text else []
        ends = ends_of(text, sentences)
        return None if ends is None else [int(end) for end in bytes_of_characters(text, ends)]


def ends_of(text: str, sentences: Sequence[str]) -> list[int] | None:
    """Return the end of each sentence's unit in the text; None where the sentences do not occur in order.

    >>> ends_of("One. Two.\\n", ["One.", "Two."])
    [5, 10]
    """
    starts, place = [], 0
    for sentence in filter(None, sentences):
        start = text.find(sentence, place)
        if start < 0:
            return None
        starts.append(start)
        place = start + len(sentence)
    return [*starts[1:], len(text)] if text else []


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
    """Describe sentences that a model finds; making the segmenter of the row loads the model."""
    check_options(name, options, ("model", "threshold"))
    model, share = options.get("model", MODEL), options.get("threshold", str(THRESHOLD))
    try:
        threshold = float(share)
    except ValueError:
        threshold = math.nan
    if not 0 < threshold < 1:
        raise InputError(f"{name}: threshold={share} is not a share between 0 and 1")
    row = row_of_units(
        name, lambda spec: SatSentences(_sat(spec.name, model), threshold), f"sentences that {model} finds"
    )
    return dataclasses.replace(row, library=LIBRARY, extra="sat")


@lru_cache(maxsize=1)  # the cases of a row are consecutive
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

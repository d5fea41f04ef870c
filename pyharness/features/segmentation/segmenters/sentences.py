"""Sentences by rule, as "concepts": the units in which Large Concept Models (arXiv 2412.08821) read text.

Nothing is lost: the units are the text. Their embedding, and what a decoder makes of it, are not measured here.

>>> SentenceUnits().segment_batch(["One. Two?\\nThree"]).ends.tolist()
[5, 10, 15]
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pyharness.features.segmentation.segmenters.text_bytes import bytes_of_characters
from pyharness.types import Segments

ENDERS, CJK_ENDERS = ".!?", "。！？"
COMMAS, CJK_COMMAS = ",", "，、"
CLOSERS = "\"')]}»”’"
SPACES = " \t\n\r"
SEPARATORS = ("\n", ";", ":", ",", " ")  # at the last of which, the first kind first, a long unit is cut
CAP = 256  # characters of a unit, at most


def rule(enders: str, cjk_enders: str) -> re.Pattern[str]:
    """What ends a unit: enders with what closes behind them, before white space or the end; or a run of new lines.

    Enders of Chinese and Japanese need no white space. White space stays with the unit before it. Quantifiers give
    nothing back, and an ender behind another is not looked at again, so the time is that of the text; a set of
    characters stands first, as ``re`` skips quickly to the next one of a set.
    """
    any_ender, closing, space = f"[{enders}{cjk_enders}]", f"[{re.escape(CLOSERS)}]*+", f"[{SPACES}]"
    after_cjk = rf"{any_ender}*+{closing}{space}*+"
    run = rf"(?<=[{cjk_enders}]){after_cjk}|[{enders}]*+(?:[{cjk_enders}]{after_cjk}|{closing}(?:{space}++|\Z))"
    return re.compile(rf"[{enders}{cjk_enders}\n](?:(?<=\n){space}*+|(?<!{any_ender}{any_ender})(?:{run}))")


RULES = {False: rule(ENDERS, CJK_ENDERS), True: rule(ENDERS + COMMAS, CJK_ENDERS + CJK_COMMAS)}


@dataclass(slots=True)
class SentenceUnits:
    """Sentences of at most ``cap`` characters; with ``commas``, what is between commas is a unit, too."""

    cap: int = CAP
    commas: bool = False
    is_causal: bool = False  # a unit that is too long is cut in the middle, where its beginning alone is not

    def segment_batch(self, texts: Sequence[str], threads: int = 1) -> Segments:
        """Cut documents, on one thread."""
        del threads
        return Segments.from_arrays([bytes_of_characters(text, list(self._ends(text))) for text in texts])

    def _ends(self, text: str) -> Iterator[int]:
        start = 0
        for found in RULES[self.commas].finditer(text):
            yield from self._within_cap(text, start, found.end())
            start = found.end()
        if start < len(text):
            yield from self._within_cap(text, start, len(text))

    def _within_cap(self, text: str, start: int, end: int) -> Iterator[int]:
        while end - start > self.cap:
            limit = start + self.cap
            places = (text.rfind(separator, start, limit) for separator in SEPARATORS)
            start = next((place + 1 for place in places if place >= 0), limit)
            yield start
        yield end

"""Segmenters, which cut the texts of a row into units: the row's own, or one for the tokens of its tokenizer.

>>> from pyharness.tokenizers import load
>>> segmenter_of(load("raw_bytes")).segment_batch(["né"]).ends.tolist()
[1, 2, 3]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyharness.kernels.text import spelled_by
from pyharness.types import (
    HasSegments,
    HasVocabulary,
    Ids,
    InputError,
    Instead,
    Segments,
    Tokenizer,
    TokenizerSpec,
    Tokens,
    Unsupported,
    Vocabulary,
    offsets_of,
)


def segmenter(spec: TokenizerSpec, load: Callable[[], Tokenizer]) -> HasSegments:
    """Return the segmenter of a row.

    Raises:
        InputError: its tokenizer cannot be loaded.
        Unsupported: its tokenizer hides the bytes of its tokens, or it has neither a tokenizer nor a segmenter.
    """
    units = None if spec.instead is None else spec.instead.make(spec)
    return units if isinstance(units, HasSegments) else segmenter_of(load())


def segmenter_of(tokenizer: Tokenizer) -> HasSegments:
    """Return a segmenter whose units are the tokens of a tokenizer.

    Raises:
        Unsupported: it hides the bytes of its tokens.
    """
    if not isinstance(tokenizer, HasVocabulary):
        raise Unsupported("this engine does not expose the bytes of its tokens: where they end is unknown")
    return TokenSegments(tokenizer, tokenizer.vocabulary())


def unit_facts(units: HasSegments) -> dict[str, Any]:
    """Return a segmenter's facts for a record: its ``settings``, if any, whether it is causal, and ``notes``.

    Raises:
        TypeError: ``is_causal`` is not a boolean.
    """
    if not isinstance(causal := units.is_causal, bool):
        raise TypeError(f"is_causal of {type(units).__name__} is {causal!r}; it must be True or False")
    settings, notes = getattr(units, "settings", {}), getattr(units, "notes", ())
    return {"units": {**settings, "is_causal": causal}, "notes": notes}


def row_of_units(name: str, segments: Callable[[TokenizerSpec], HasSegments], source: str) -> TokenizerSpec:
    """Describe a row that cuts text into units and has no vocabulary."""
    return TokenizerSpec(
        name, _without_vocabulary, library="pyharness", source=source, instead=Instead(segments, unit_facts)
    )


def whole_number(name: str, options: Mapping[str, str], key: str, default: int, largest: int, least: int = 1) -> int:
    """Read an option of a row: a whole number from ``least`` to ``largest``; raise ``InputError`` for anything else."""
    text = options.get(key, str(default))
    if not (text.isascii() and text.isdecimal() and len(text) < 20 and least <= int(text) <= largest):
        raise InputError(f"{name}: {key}={text} is not a whole number from {least} to {largest:,}")
    return int(text)


def _without_vocabulary(spec: TokenizerSpec) -> Tokenizer:
    kind, _, _ = spec.name.partition("?")  # the options of some are long
    raise Unsupported(
        f"{kind!r} cuts text into units and has no vocabulary; measure it with segmentation (or fairness)"
    )


@dataclass(slots=True)
class TokenSegments:
    """Ends of the tokens of texts. A token without bytes joins the unit before it, or the one after at the start.

    A space that the tokenizer puts before a text (SentencePiece) is not part of its first unit.
    """

    tokenizer: Tokenizer
    vocabulary: Vocabulary
    is_causal: bool = False

    def segment_batch(self, texts: Sequence[str], threads: int = 1) -> Segments:
        """Encode documents and locate their tokens; a document whose tokens spell another text is missing."""
        tokens = self.tokenizer.encode_batch(texts, threads)
        stops, leads = place_tokens(tokens, [text.encode() for text in texts], self.vocabulary)
        missing = leads < 0
        kept = (stops > 0) & (_lengths(tokens.ids, self.vocabulary) > 0) & ~np.repeat(missing, np.diff(tokens.offsets))
        return Segments(stops[kept], offsets_of(kept)[tokens.offsets], missing)


def place_tokens(
    tokens: Tokens, documents: Sequence[bytes], vocabulary: Vocabulary
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Locate the tokens of documents in their text.

    Returns:
        Where each token stops, in bytes of its document, int64 [tokens]. And the bytes that are spelled before each
        document, int64 [documents]: 1 for the space that SentencePiece puts there; -1 if the tokens spell another text:
        then its stops mean nothing.
    """
    edges = offsets_of(_lengths(tokens.ids, vocabulary))
    bounds = edges[tokens.offsets]  # of documents in what their tokens spell
    spelled = spelled_by(tokens.ids, vocabulary)
    leads = np.full(len(documents), -1, np.int64)
    for index, (start, stop) in enumerate(pairwise(bounds.tolist())):
        lead = stop - start - len(documents[index])
        if lead in (0, 1) and spelled[start:stop] == b" " * lead + documents[index]:
            leads[index] = lead
    return edges[1:] - np.repeat(bounds[:-1] + leads, np.diff(tokens.offsets)), leads


def _lengths(ids: Ids, vocabulary: Vocabulary) -> NDArray[np.int64]:
    lengths: NDArray[np.int64] = vocabulary.offsets[1:][ids] - vocabulary.offsets[:-1][ids]  # no pass over all tokens
    return lengths

"""``continued_word_share``: words of a sample that their tokens cut, in their text.

A word is continued when a token ends inside it: behind its first byte and before its last. So `` the`` does not cut
"the", and a token of several words cuts none of them. To locate the ends of tokens, the spelled bytes are compared with
the document: byte by byte; or without the white space of both; or without white space, and with every segment as the
tokenizer normalises it. This locates the tokens of WordPiece, of SentencePiece with its dummy space, and of lower-case
vocabularies. Documents whose tokens spell none of these (unknown tokens) have no cuts to count. If more than
``MOST_UNPLACED`` of the words are in such documents, there is no number.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from pyharness.kernels.text import segment_ends, spelled_by
from pyharness.metrics.counting.words import UNSEGMENTED, WORD_LIKE, Bounds
from pyharness.tokenizers import HasNormalize
from pyharness.tokenizers.segmenting import place_tokens
from pyharness.types import Ids, Measurement, Tokenizer, Tokens, Vocabulary, cut, offsets_of

METRIC = "continued_word_share"
MOST_UNPLACED = 0.01  # of the words of a sample: tokens may cut the excluded words differently
NARROW = "\u202f".encode()  # the one white space inside words: without white space, these have other cuts

Normalize = Callable[[str], str]
Flags = NDArray[np.bool_]


@dataclass(slots=True)
class WordCuts:
    """Words of a sample of documents. Integers only."""

    words: int = 0  # in documents whose tokens are placed
    continued: int = 0  # of these, those that a token cuts
    unplaced: int = 0  # words of the other documents
    unsegmented: int = 0  # of all words, with a character of a script written without spaces

    @classmethod
    def of(cls, counts: NDArray[np.int64]) -> WordCuts:
        """Add up the counts of documents, int64 [documents, 4]."""
        return cls(*counts.sum(axis=0).tolist())


def count(
    tokenizer: Tokenizer, documents: Sequence[tuple[str, Ids]], vocabulary: Vocabulary | None
) -> NDArray[np.int64]:
    """Count the words of documents, each with the ids that the tokenizer gave it; ``vocabulary``: None if hidden.

    Returns int64 [documents, 4], in the order of the fields of ``WordCuts``.
    """
    normalize = cache(tokenizer.normalize) if isinstance(tokenizer, HasNormalize) else None
    segments = SampleSegments.of([text for text, _ in documents])
    words, unsegmented = segments.kinds()
    placed = continued = np.zeros(len(words), np.bool_)
    if vocabulary is not None and documents:
        tokens = Tokens.from_lists([ids for _, ids in documents])
        placed, continued = segments.cuts(tokens, vocabulary, normalize)
    flags = (words & placed, words & continued, words & ~placed, unsegmented)
    return np.stack([np.diff(offsets_of(one)[segments.offsets]) for one in flags], axis=1)


@dataclass(frozen=True, slots=True)
class SampleSegments:
    """The UAX #29 segments of documents, end to end."""

    data: bytes
    starts: Bounds  # int64 [segments], of segments in ``data``
    stops: Bounds
    offsets: Bounds  # int64 [documents + 1], of documents in segments
    bounds: Bounds  # int64 [documents + 1], of documents in ``data``

    @classmethod
    def of(cls, texts: Sequence[str]) -> SampleSegments:
        """Cut documents into segments."""
        documents = [text.encode() for text in texts]
        bounds = offsets_of(list(map(len, documents)))
        segments = segment_ends(documents)
        stops = segments.ends + np.repeat(bounds[:-1], np.diff(segments.offsets))
        return cls(b"".join(documents), np.append(0, stops)[:-1], stops, segments.offsets, bounds)

    def kinds(self) -> tuple[Flags, Flags]:
        """Return whether a segment is a word, and whether it is one of a script without spaces: bool [segments]."""
        data = np.frombuffer(self.data, np.uint8)
        points = np.frombuffer(self.data.decode().encode("utf-32-le"), np.uint32)
        distinct = np.flatnonzero(np.bincount(points))
        flags = np.zeros(sys.maxunicode + 1, np.uint8)
        # 1: a letter or number, 2: of a script without spaces.
        flags[distinct] = [bool(WORD_LIKE.match(one)) + 2 * bool(UNSEGMENTED.match(one)) for one in map(chr, distinct)]
        of_bytes = np.zeros(len(data), np.uint8)
        of_bytes[data & 0xC0 != 0x80] = flags.take(points)  # at the first byte of each character
        of_segments = np.bitwise_or.reduceat(of_bytes, self.starts)
        return of_segments & 1 > 0, of_segments == 3

    def cuts(self, tokens: Tokens, vocabulary: Vocabulary, normalize: Normalize | None) -> tuple[Flags, Flags]:
        """Return whether tokens spell the document of a segment, and whether one ends inside it: bool [segments]."""
        documents = cut(self.data, self.bounds)
        stops, leads = place_tokens(tokens, documents, vocabulary)
        exact = (leads == 0) | ((leads == 1) & np.array([NARROW not in document for document in documents]))
        counts = np.diff(tokens.offsets)
        # Empty tokens before the space that SentencePiece puts there would end before their document.
        ends = (np.maximum(stops, 0) + np.repeat(self.bounds[:-1], counts))[np.repeat(exact, counts)]
        continued = _holds_end(self.starts, self.stops, ends)
        placed = np.repeat(exact, np.diff(self.offsets))
        for index in np.flatnonzero(~exact).tolist():
            segments = slice(self.offsets[index], self.offsets[index + 1])
            places = zip(self.starts[segments].tolist(), self.stops[segments].tolist(), strict=True)
            texts = [self.data[start:stop].decode() for start, stop in places]
            inside = _cut_segments(texts, tokens.document(index), vocabulary, normalize)
            if inside is not None:
                placed[segments], continued[segments] = True, inside
        return placed, continued


def _cut_segments(
    segments: Sequence[str], ids: Ids, vocabulary: Vocabulary, normalize: Normalize | None
) -> Flags | None:
    """Return whether a token ends inside each segment, bool [segments]; None if the tokens spell another text."""
    dense, place = _without_spaces(spelled_by(ids, vocabulary))
    ends = np.cumsum(vocabulary.offsets[1:][ids] - vocabulary.offsets[:-1][ids])
    for form in (None,) if normalize is None else (None, normalize):
        forms = segments if form is None else map(form, segments)
        parts = ["".join(segment.split()).encode() for segment in forms]
        if b"".join(parts) == dense:
            stops = np.cumsum(list(map(len, parts)), dtype=np.int64)
            return _holds_end(np.append(0, stops)[:-1], stops, place[ends])
    return None


def _holds_end(starts: Bounds, stops: Bounds, ends: Bounds) -> Flags:
    """Return whether an end lies inside each segment, of segments that follow each other."""
    inside = np.zeros(int(stops.max(initial=0)) + 1, np.bool_)
    inside[ends] = True
    inside[starts] = inside[-1] = False
    return np.logical_or.reduceat(inside, starts)


def _without_spaces(data: bytes) -> tuple[bytes, Bounds]:
    """Return bytes without white space, and the position in them of every position of ``data``, int64 [bytes + 1]."""
    text = data.decode("utf-8", "surrogateescape")  # invalid UTF-8 equals no text
    sizes = [len(character.encode("utf-8", "surrogateescape")) for character in text]
    kept = np.repeat([not character.isspace() for character in text], sizes)
    place = offsets_of(kept)
    return "".join(text.split()).encode("utf-8", "surrogateescape"), place


def measure(cuts: WordCuts) -> Measurement:
    """Return continued words / words, both of the documents whose tokens are placed."""
    total = cuts.words + cuts.unplaced
    reason = None
    if total == 0:
        reason = "the sample of documents has no words"
    elif 2 * cuts.unsegmented > total:
        reason = "the text is mostly in a script written without spaces, where UAX #29 does not find words"
    elif cuts.words == 0 or cuts.unplaced > MOST_UNPLACED * total:
        reason = f"{cuts.unplaced:,} of {total:,} words are in documents that their tokens do not spell"
    return Measurement(METRIC, None if reason else cuts.continued / cuts.words, reason=reason)

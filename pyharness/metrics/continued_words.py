"""``continued_word_share``: words of a sample that their tokens cut, in their text.

A word is continued when a token ends inside it: behind its first byte and before its last. So `` the`` does not cut
"the", and a token of several words cuts none of them. To locate the ends of tokens, the spelled bytes are compared with
the document: byte by byte; or without the white space of both; or without white space, and with every segment as the
tokenizer normalises it. This locates the tokens of WordPiece, of SentencePiece with its dummy space, and of lower-case
vocabularies. Documents whose tokens spell none of these (unknown tokens) have no cuts to count. If more than
``MOST_UNPLACED`` of the words are in such documents, there is no number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from pyharness.metrics.counting.words import UNSEGMENTED, WORD_LIKE, Bounds, segments_of
from pyharness.tokenizers import HasNormalize
from pyharness.tokenizers.segmenting import spelled_by
from pyharness.types import HasVocabulary, Ids, Measurement, Tokenizer, Vocabulary, offsets_of

METRIC = "continued_word_share"
MOST_UNPLACED = 0.01  # of the words of a sample: tokens may cut the excluded words differently

Normalize = Callable[[str], str]


@dataclass(slots=True)
class WordCuts:
    """Words of a sample of documents. Integers only."""

    words: int = 0  # in documents whose tokens are placed
    continued: int = 0  # of these, those that a token cuts
    unplaced: int = 0  # words of the other documents
    unsegmented: int = 0  # of all words, with a character of a script written without spaces


def count(tokenizer: Tokenizer, documents: Iterable[tuple[str, Ids]]) -> WordCuts:
    """Count the words of documents, each with the ids that the tokenizer gave it."""
    vocabulary = tokenizer.vocabulary() if isinstance(tokenizer, HasVocabulary) else None
    normalize = cache(tokenizer.normalize) if isinstance(tokenizer, HasNormalize) else None
    cuts = WordCuts()
    for text, ids in documents:
        segments = segments_of(text)
        words = [WORD_LIKE.search(segment) is not None for segment in segments]
        chosen = [segment for segment, is_word in zip(segments, words, strict=True) if is_word]
        cuts.unsegmented += sum(UNSEGMENTED.search(word) is not None for word in chosen)
        continued = None if vocabulary is None else _cut_segments(segments, ids, vocabulary, normalize)
        if continued is None:
            cuts.unplaced += len(chosen)
        else:
            cuts.words += len(chosen)
            cuts.continued += int(np.count_nonzero(continued & np.array(words, np.bool_)))
    return cuts


def _cut_segments(
    segments: Sequence[str], ids: Ids, vocabulary: Vocabulary, normalize: Normalize | None
) -> NDArray[np.bool_] | None:
    """Return whether a token ends inside each segment, bool [segments]; None if the tokens spell another text."""
    spelled = spelled_by(ids, vocabulary)
    ends = np.cumsum(vocabulary.offsets[1:][ids] - vocabulary.offsets[:-1][ids], dtype=np.int64)
    for parts, data, place in _forms(segments, spelled, normalize):
        if b"".join(parts) == data:
            stops = np.cumsum(list(map(len, parts)), dtype=np.int64)
            starts = np.concatenate(([0], stops[:-1])) if len(stops) else stops
            return _holds_end(starts, stops, ends if place is None else place[ends])
    return None


def _holds_end(starts: Bounds, stops: Bounds, ends: Bounds) -> NDArray[np.bool_]:
    first = np.searchsorted(ends, starts, side="right")  # the first end behind the start of each segment
    return np.append(ends, np.iinfo(np.int64).max)[first] < stops


def _forms(
    segments: Sequence[str], spelled: bytes, normalize: Normalize | None
) -> Iterator[tuple[list[bytes], bytes, Bounds | None]]:
    """Yield possible spellings: bytes of each segment, of the whole, and the position in these of each spelled byte."""
    yield [segment.encode() for segment in segments], spelled, None
    dense, place = _without_spaces(spelled)
    yield [_dense(segment) for segment in segments], dense, place
    if normalize is not None:
        yield [_dense(normalize(segment)) for segment in segments], dense, place


def _dense(text: str) -> bytes:
    return "".join(text.split()).encode()


def _without_spaces(data: bytes) -> tuple[bytes, Bounds]:
    """Return bytes without white space, and the position in them of every position of ``data``, int64 [bytes + 1]."""
    text = data.decode("utf-8", "surrogateescape")  # invalid UTF-8 equals no text
    sizes = [len(character.encode("utf-8", "surrogateescape")) for character in text]
    kept = np.repeat([not character.isspace() for character in text], sizes)
    place = offsets_of(kept)
    return "".join(text.split()).encode("utf-8", "surrogateescape"), place


def measure(cuts: WordCuts) -> Measurement:
    """Return continued words / words of the sample."""
    total = cuts.words + cuts.unplaced
    reason = None
    if total == 0:
        reason = "the sample of documents has no words"
    elif 2 * cuts.unsegmented > total:
        reason = "the text is mostly in a script written without spaces, where UAX #29 cuts characters"
    elif cuts.words == 0 or cuts.unplaced > MOST_UNPLACED * total:
        reason = f"{cuts.unplaced:,} of {total:,} words are in documents that their tokens do not spell"
    return Measurement(METRIC, None if reason else cuts.continued / cuts.words, reason=reason)

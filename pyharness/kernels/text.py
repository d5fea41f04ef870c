"""Counts of texts: bytes, characters and words, characters that tokens cut, and ends of segments."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from pyharness import _core
from pyharness.types import Ids, Offsets, Segments, Vocabulary

# JsonTexts(names, most_bytes, beginning_bytes).of(lines): an item for each line, the run of texts that begins in it,
# None inside of one, or the line, which is for json. pieces() of a run are those of pyharness.corpora.files.splitting.
JsonTexts = _core.JsonTexts
TextRun = _core.TextRun
ReadTexts = _core.ReadTexts  # a batch; digests(): digest_of of every text, and of every key, uint8 [texts, 16]
Sequence.register(ReadTexts)
utf8_size = _core.utf8_size  # bytes of a text, None for lone surrogates; Python keeps them for whoever encodes it next
STARTS_INSIDE = 1  # the token's first byte is a continuation byte, 10xxxxxx
ONLY_CONTINUATION = 2  # all its bytes are continuation bytes
EMPTY = 4


class TextColumn(IntEnum):
    """Columns of :func:`text_statistics`.

    >>> int(text_statistics(["two words"])[0, TextColumn.WORDS])
    2
    """

    BYTES = 0  # of UTF-8
    CHARACTERS = 1  # code points
    WORDS = 2  # UAX #29 word segments that contain a letter or number
    WHITESPACE_WORDS = 3  # len(text.split())
    LETTERS = 4  # code points of general category L, N or M
    UNSEGMENTED = 5  # those of LETTERS in Thai, Lao, Khmer, Myanmar, Han, Hiragana, Katakana


def text_statistics(texts: Sequence[str | bytes], threads: int = 1) -> NDArray[np.int64]:
    """Count bytes, characters and words of every document.

    Args:
        texts: documents; ``bytes`` are UTF-8.
        threads: native threads; the result does not depend on it.

    Returns:
        int64 [documents, 6], columns as in :class:`TextColumn`.

    Raises:
        ValueError: a document is not valid UTF-8, or holds a lone surrogate.
        TypeError: ``texts`` is one text, or contains anything but ``str`` and ``bytes``.

    Source: docs/metrics.md "Compression". Word segments are those of ``regex.split(r"(?V1w)\\b", text)``, whose
    four departures from UAX #29 are in docs/metrics.md "Words"; the property tables are that package's.

    >>> text_statistics(["Grüße, Welt!"]).tolist()
    [[14, 12, 2, 2, 9, 0]]
    """
    return _core.text_statistics(texts, threads)


def utf8_flags(vocabulary: Vocabulary) -> NDArray[np.uint8]:
    """Return the position of every id's bytes in UTF-8: uint8 [n], bits as above, for :func:`character_splits`.

    >>> from pyharness.types import Vocabulary
    >>> vocabulary = Vocabulary.from_tokens({0: b"a", 1: "é".encode()[:1], 2: "é".encode()[1:], 3: b""}, {})
    >>> utf8_flags(vocabulary).tolist()
    [0, 0, 3, 4]
    """
    offsets = np.ascontiguousarray(vocabulary.offsets, np.int64)
    return _core.utf8_flags(np.ascontiguousarray(vocabulary.data[: offsets[-1]], np.uint8), offsets)


def character_splits(ids: Ids, offsets: Offsets, flags: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Count the code points whose bytes fall in more than one token, each once however many pieces it is in.

    Args:
        ids: uint32 [tokens].
        offsets: int64 [documents + 1].
        flags: uint8 [n] from :func:`utf8_flags`.

    Returns:
        int64 [documents].

    Raises:
        ValueError: an id has no flag, or offsets do not fit.

    Source: docs/metrics.md "Integrity" (``character_split_share``).

    >>> import numpy as np
    >>> flags = np.array([0, 0, STARTS_INSIDE | ONLY_CONTINUATION], np.uint8)  # of "a" and of the two bytes of "é"
    >>> character_splits(np.array([0, 1, 2, 0], np.uint32), np.array([0, 4]), flags).tolist()
    [1]
    """
    return _core.character_splits(ids, offsets, flags)


def spelled_by(ids: Ids, vocabulary: Vocabulary) -> bytes:
    """Return the bytes of all tokens, end to end; raise ``ValueError`` for an id that is not of the vocabulary.

    >>> from pyharness.types import Vocabulary
    >>> spelled_by(np.array([1, 0, 1], np.uint32), Vocabulary.from_tokens({0: b"a", 1: b"bc"}, {}))
    b'bcabc'
    """
    data, offsets = np.ascontiguousarray(vocabulary.data, np.uint8), np.ascontiguousarray(vocabulary.offsets, np.int64)
    return _core.decode(data, offsets, np.ascontiguousarray(ids, np.uint32))


def segment_ends(texts: Sequence[str | bytes], threads: int = 1) -> Segments:
    """Cut documents at every word boundary of UAX #29.

    Args:
        texts: documents; ``bytes`` are UTF-8.
        threads: native threads, which share the documents; the result does not depend on them.

    Returns:
        Ends of the segments of each document, in bytes of its UTF-8; no text is missing.

    Raises:
        ValueError: a document is not valid UTF-8, or holds a lone surrogate.
        TypeError: ``texts`` is one text, or contains anything but ``str`` and ``bytes``.

    Source: the boundaries are those of ``(?V1w)\\b`` in the package ``regex``; see :func:`text_statistics`.

    >>> segment_ends(["Grüße, Welt!"]).ends.tolist()
    [7, 8, 9, 13, 14]
    """
    ends, offsets = _core.segment_ends(texts, threads)
    return Segments(ends, offsets, np.zeros(len(offsets) - 1, np.bool_))

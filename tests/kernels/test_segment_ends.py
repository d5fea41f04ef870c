"""Ends of UAX #29 segments: of many documents, on threads, of what is no text; agreement is in test_text_statistics."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyharness.kernels import segment_ends
from pyharness.types import Segments

TEXTS = st.lists(st.text("ab 1.'\u0301é日🇦🇧\r\n", max_size=12) | st.sampled_from(["", "x" * 300]), max_size=12)


@given(TEXTS, st.integers(2, 9))
def test_neither_threads_nor_neighbours_change_the_ends(texts: list[str], threads: int) -> None:
    alone = Segments.from_arrays([segment_ends([text]).ends for text in texts])
    for given_as in (texts, [text.encode() for text in texts], tuple(texts)):
        for found in (segment_ends(given_as), segment_ends(given_as, threads)):
            assert found.ends.tolist() == alone.ends.tolist()
            assert found.offsets.tolist() == alone.offsets.tolist()
            assert found.fault(np.array([len(text.encode()) for text in texts], np.int64)) is None


@pytest.mark.parametrize(
    ("text", "ours", "standard"),
    [
        ("say 'if'", ["say", " ", "'if", "'"], ["say", " ", "'", "if", "'"]),
        ("a\u0308.b", ["a\u0308.", "b"], ["a\u0308.b"]),
        ("\ufeff One", ["\ufeff ", "One"], ["\ufeff", " ", "One"]),
        ("\U0001f1ea a", ["\U0001f1ea ", "a"], ["\U0001f1ea", " ", "a"]),
    ],
)
def test_the_four_ways_in_which_words_leave_the_standard(text: str, ours: list[str], standard: list[str]) -> None:
    """Those that docs/metrics.md "Words" lists; what the standard says is what uniseg 0.10.1 gives."""
    data = text.encode()
    ends = segment_ends([text]).ends.tolist()
    assert [data[start:end].decode() for start, end in pairwise([0, *ends])] == ours != standard


def test_no_documents_and_empty_documents() -> None:
    assert segment_ends([]).offsets.tolist() == [0]
    found = segment_ends(["", "a", b""], threads=4)
    assert (found.ends.tolist(), found.offsets.tolist(), found.missing.tolist()) == ([1], [0, 0, 1, 1], [False] * 3)


@pytest.mark.parametrize("data", [b"\x80", b"a\xff", b"ab\xe2\x82", b"\xed\xa0\x80 x", b"a'\xc0\x80"])
def test_invalid_utf8_is_refused(data: bytes) -> None:
    for threads in (1, 3):
        with pytest.raises(ValueError, match="invalid UTF-8 at byte"):
            segment_ends([b"fine", data, b"fine"], threads)


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(ValueError, match="surrogates"):
        segment_ends(["a\ud800"])
    with pytest.raises(TypeError, match=r"texts\[1\].*bytes.*int"):
        segment_ends(["a", 3])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="not one text"):
        segment_ends("one text")
    with pytest.raises(ValueError, match="threads"):
        segment_ends(["a"], threads=0)

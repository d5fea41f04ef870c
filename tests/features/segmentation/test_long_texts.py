"""Texts of a megabyte, and shapes that invite looking back: memory in proportion to the text, and units that are its.

What takes quadratic time does not end here; 100 MB are tried by hand (tests/attacks/segments.toml).
"""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from pyharness import tokenizers
from pyharness.types import HasSegments

MEGABYTE = 1 << 20
ROWS = (
    "patches:static", "patches:space", "patches:entropy?corpus=sample:code&order=3&max_patch_length=16", "units:word",
    "units:character", "units:sentence",
)  # fmt: skip
SHAPES = {
    "a letter": "a", "a space": " ", "new lines": "\n", "full stops": ".", "quoted": '."', "commas": "1,",
    "Chinese": "字", "Chinese stops": "。", "marks": "e\u0301", "flags": "🇩🇪", "joined": "👩\u200d",
    "words": "word. Or, ",
}  # fmt: skip
PARAGRAPH = 'He said: "No. 7, please!" It was 3.14 (or so). 这是一句话，又一句。Ça va? 🇩🇪🇫🇷\n'
MOST_PER_BYTE = 64  # bytes of memory for a byte of text: several arrays of 64-bit places


@pytest.fixture(scope="module")
def cutting(tmp_path_factory: pytest.TempPathFactory) -> dict[str, HasSegments]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYHARNESS_CACHE", str(tmp_path_factory.mktemp("cache")))
        specs = {row: tokenizers.obtain(row) for row in ROWS}
        return {row: spec.instead.make(spec) for row, spec in specs.items() if spec.instead is not None}


def peak(segmenter: HasSegments, text: str) -> int:
    """Bytes of memory, at most, while a text is cut; its units are checked."""
    size = len(text.encode())
    tracemalloc.start()
    try:
        found = segmenter.segment_batch([text])
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found.fault(np.array([size])) is None
    return most


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("shape", SHAPES)
def test_memory_grows_with_the_text_and_no_faster(cutting: dict[str, HasSegments], row: str, shape: str) -> None:
    unit = SHAPES[shape]
    times = MEGABYTE // len(unit.encode())
    quarter, whole = (peak(cutting[row], unit * count) for count in (times // 4, times))
    assert whole < MOST_PER_BYTE * MEGABYTE
    assert whole < 4.5 * quarter + (1 << 20)


@pytest.mark.parametrize("row", ["units:word", "units:character", "units:sentence"])
def test_units_of_a_long_text_are_those_of_its_paragraphs(cutting: dict[str, HasSegments], row: str) -> None:
    size = len(PARAGRAPH.encode())
    times = MEGABYTE // size
    one = cutting[row].segment_batch([PARAGRAPH]).ends
    found = cutting[row].segment_batch([PARAGRAPH * times]).ends
    assert np.array_equal(found, (one + size * np.arange(times)[:, None]).ravel())

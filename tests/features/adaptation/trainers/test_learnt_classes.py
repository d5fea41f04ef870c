"""What kinds of strings are told apart."""

from __future__ import annotations

import pytest

from pyharness.features.adaptation.trainers.extension import class_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("日本", "Han"),
        ("の", "Hiragana"),
        ("日本の", "Han and kana"),
        ("カナ日", "Han and kana"),
        ("ລາວ", "Lao"),
        ("ꀀ", "Yi"),
        ("▁ไทย", "Thai"),
        (" e\u0301", "Latin"),
        ("かa", "mixed scripts"),
        ("\ue000", "U+FFFD and private use"),
        ("a\ufffd", "U+FFFD and private use"),
        ("▁▁", "white space"),
        (" |---", "runs of punctuation"),
        ("。", "punctuation"),
    ],
)
def test_classes(text: str, expected: str) -> None:
    assert class_of(text.encode()) == expected

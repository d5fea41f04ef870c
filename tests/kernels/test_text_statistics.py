from __future__ import annotations

import unicodedata
from functools import cache
from itertools import accumulate

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from layout.thoroughness import examples
from oracles.segments import words as oracle
from pyharness import _core
from pyharness.kernels import TextColumn, segment_ends, text_statistics

CLASSES = (
    *("CR", "LF", "Newline", "Extend", "ZWJ", "Format", "RI", "Katakana", "Hebrew_Letter", "ALetter", "Single_Quote"),
    *("Double_Quote", "MidNumLet", "MidLetter", "MidNum", "Numeric", "ExtendNumLet", "WSegSpace"),
)
LETTER_OR_NUMBER = regex.compile(r"[\p{L}\p{N}]")
LETTER_LIKE = regex.compile(r"[\p{L}\p{N}\p{M}]")
UNSEGMENTED = regex.compile(
    r"(?V1)[[\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Han}\p{Hiragana}\p{Katakana}]&&[\p{L}\p{N}\p{M}]]"
)
POINTS = "".join(chr(point) for point in range(0x110000) if not 0xD800 <= point < 0xE000)

needs_the_tables = pytest.mark.skipif(
    regex.__version__ != _core.REGEX_VERSION,
    reason=f"the tables are those of regex {_core.REGEX_VERSION}; code points may differ in {regex.__version__}",
)


def reference(text: str) -> list[int]:
    return [
        len(text.encode()),
        len(text),
        sum(LETTER_OR_NUMBER.search(segment) is not None for segment in oracle.units(text)),
        len(text.split()),
        len(LETTER_LIKE.findall(text)),
        len(UNSEGMENTED.findall(text)),
    ]


def check(text: str, row: list[int]) -> None:
    """The statistics of a text, and where its segments end."""
    assert row == reference(text), ascii(text)
    ends = [len(part.encode()) for part in accumulate(oracle.units(text))]
    assert segment_ends([text]).ends.tolist() == ends, ascii(text)


@cache
def members(word_break: str) -> str:
    found = "".join(regex.findall(rf"\p{{WB={word_break}}}", POINTS))
    return found[:: max(1, len(found) // 200)]


@cache
def alphabet() -> st.SearchStrategy[str]:
    """Every word-break class equally often, and the characters that single rules name."""
    pictographs = "".join(regex.findall(r"\p{Extended_Pictographic}", POINTS))[::50]
    named = ["aeiouÀÙİy", "'’", "!?漢ก", pictographs, "\u200d", "🇦🇧", "_", "a1", " \t\u3000"]
    return st.one_of([st.sampled_from(text) for text in [*map(members, CLASSES), *named]])


def test_segments_are_what_regex_finds() -> None:
    assert oracle.BOUNDARY.split("can't stop\r\n3.5") == ["", "can't", " ", "stop", "\r\n", "3.5", ""]
    assert oracle.units("can't stop\r\n3.5") == ["can't", " ", "stop", "\r\n", "3.5"]


@needs_the_tables
@settings(max_examples=examples(3_000))
@given(data=st.data())
def test_any_text_of_all_classes(data: st.DataObject) -> None:
    text = "".join(data.draw(st.lists(alphabet(), max_size=10)))
    check(text, text_statistics([text])[0].tolist())


@given(st.text())
@needs_the_tables
def test_any_text(text: str) -> None:
    for row in text_statistics([text, text.encode()], threads=2).tolist():
        check(text, row)


ASCII = ["a", "Z", "0", "9", "_", "'", ".", ":", ",", ";", " ", "\n", "\r", "\t", '"', "-", "\x1c", "\x00", "\x7f"]
OTHERS = ["é", "’", "\u200d", "ﾞ", "א", "🇦", "漢", "カ", "\u0301", "\u3000", "😀"]


@needs_the_tables
@settings(max_examples=examples(2_000))
@given(
    st.lists(
        st.sampled_from(ASCII) | st.sampled_from(["word", "word_", "3.5", "x.y", "  "]) | st.sampled_from(OTHERS),
        max_size=150,
    ),
    st.integers(0, 70),
)
def test_windows_of_ascii(parts: list[str], lead: int) -> None:
    """Long enough for windows of 64 bytes, which begin and end between any two characters."""
    for text in ("x" * lead + "".join(parts), " " * lead + "".join(part for part in parts if part.isascii())):
        check(text, text_statistics([text])[0].tolist())


@needs_the_tables
def test_every_pair_of_ascii_at_the_ends_of_windows() -> None:
    pairs = [left + right for left in ASCII for right in ASCII]
    texts = [f"{'ab ' * 20}{'c' * lead}{pair}{end}" for lead in range(2, 6) for pair in pairs for end in ("a1 _", "1a")]
    for text, row in zip(texts, text_statistics(texts).tolist(), strict=True):
        check(text, row)


CONTEXTS = ("a{}b", "1{}2", "{}", "א{}א", "カ{}カ", "'{}a", "a:{}c", "\u0301{}x", "🇦{}🇧", " {} ", "\u200d{}_", "-{}-")


@needs_the_tables
@pytest.mark.parametrize("context", CONTEXTS)
def test_every_code_point_in_context(context: str) -> None:
    """Every 97th code point of large blocks is enough for the slow oracle."""
    left, right = context.split("{}")
    points = [p for p in POINTS if ord(p) < 0x3400 or ord(p) % 97 == 0 or 0x1F000 <= ord(p) < 0x1FC00]
    texts = [left + point + right for point in points]
    for text, row in zip(texts, text_statistics(texts).tolist(), strict=True):
        check(text, row)


@needs_the_tables
def test_every_code_point_alone() -> None:
    table = text_statistics(list(POINTS))
    assert table[:, TextColumn.BYTES].tolist() == [len(point.encode()) for point in POINTS]
    assert (table[:, TextColumn.CHARACTERS] == 1).all()
    for column, pattern in (
        (TextColumn.WORDS, LETTER_OR_NUMBER),
        (TextColumn.LETTERS, LETTER_LIKE),
        (TextColumn.UNSEGMENTED, UNSEGMENTED),
    ):
        assert "".join(POINTS[i] for i in table[:, column].nonzero()[0]) == "".join(pattern.findall(POINTS))
    assert table[:, TextColumn.WHITESPACE_WORDS].tolist() == [len(point.split()) for point in POINTS]


def test_letters_that_python_knows_are_letters() -> None:
    """Python's own tables may be older than regex's, never in contradiction for what both assign."""
    known = [point for point in POINTS if unicodedata.category(point)[0] in "LNM"]
    assert text_statistics(known)[:, TextColumn.LETTERS].all()


@given(st.lists(st.text(st.sampled_from("aZ09_ .,:;'\n\x1c-")) | st.sampled_from(["é", "\u0301", "漢"]), max_size=30))
def test_statistics_do_not_depend_on_vectors(parts: list[str]) -> None:
    text = "".join(parts)
    with pytest.MonkeyPatch.context() as patch:
        for isa in _core.instruction_sets():
            patch.setenv("PYHARNESS_ISA", isa)
            assert text_statistics([text] * 2).tolist() == [reference(text)] * 2, isa


@needs_the_tables
def test_long_text() -> None:
    text = "The quick (“brown”) fox can’t jump 32.3 feet, right? l'été 日本語のテキスト ภาษาไทย\r\n" * 500
    assert text_statistics([text]).tolist() == [reference(text)]


def test_columns() -> None:
    row = text_statistics(["Two words, 3.5!\n漢字かな"])[0]
    assert dict(zip(TextColumn, row.tolist(), strict=True)) == {
        TextColumn.BYTES: 28,
        TextColumn.CHARACTERS: 20,
        TextColumn.WORDS: 7,
        TextColumn.WHITESPACE_WORDS: 4,
        TextColumn.LETTERS: 14,
        TextColumn.UNSEGMENTED: 4,
    }


def test_no_documents_and_empty_documents() -> None:
    assert text_statistics([]).shape == (0, 6)
    assert not text_statistics(["", b""], threads=3).any()


INVALID = (
    *(
        b"\x80",
        b"\xff",
        b"\xf5\x80\x80\x80",
        b"\xf4\x90\x80\x80",
        b"\xed\xa0\x80",
    ),  # no lead byte; too large; surrogate
    *(b"\xc0\x80", b"\xc1\xbf", b"\xe0\x80\x80", b"\xf0\x80\x80\x80"),  # longer than needed
    *(b"\xc2", b"a\xe2\x82", b"\xf0\x9f\x98"),  # cut short
)


@pytest.mark.parametrize("data", INVALID)
def test_invalid_utf8_is_refused(data: bytes) -> None:
    for text in (data, b"abc " + data, data + b"abc"):
        with pytest.raises(ValueError, match="invalid UTF-8 at byte"):
            text_statistics([b"fine", text], threads=2)


@given(st.binary())
def test_bytes_are_valid_exactly_when_python_says_so(data: bytes) -> None:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        with pytest.raises(ValueError, match="invalid UTF-8"):
            text_statistics([data])
    else:
        assert text_statistics([data]).tolist() == text_statistics([text]).tolist()


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(ValueError, match="surrogates"):
        text_statistics(["a\ud800"])
    with pytest.raises(TypeError, match=r"texts\[1\].*bytes.*int"):
        text_statistics(["a", 3])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="not one text"):
        text_statistics("one text")
    with pytest.raises(ValueError, match="threads"):
        text_statistics(["a"], threads=0)

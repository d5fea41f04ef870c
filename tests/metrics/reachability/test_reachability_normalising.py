"""Arguments about normalisers and word pieces."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cases.reachability_files import added, byte_level, examined, regex_split, spelled, verdict_of
from layout.thoroughness import examples
from pyharness import tokenizers
from pyharness.metrics.reachability import UNREACHABLE, Verdict
from pyharness.types import HasPipeline
from pyharness.vocabularies.stages import HasStages

ACCENT = "e\u0301"


COMPOSING = "aeqK\u00e9\u1e69\u0307\u0323\u0301\uac00\u1100\u1161\u11a8\u212a\ufb01\u0344"


@pytest.mark.parametrize(
    ("normalizer", "word", "kind"),
    [
        ([{"type": "NFC"}], ACCENT, "normal_form"),
        ([{"type": "NFD"}], "\u00e9", "normal_form"),
        ([{"type": "NFD"}], ACCENT, None),
        ([{"type": "NFC"}, {"type": "Lowercase"}], ACCENT, None),  # lower case might make it anew
        ([{"type": "Lowercase"}], "aB", "character_never_made"),
        ([{"type": "Lowercase"}], "\u00df", None),
        ([{"type": "Lowercase"}, {"type": "NFC"}], "aB", None),
        ([{"type": "Lowercase"}, {"type": "Prepend", "prepend": "B"}], "aB", None),
        ([{"type": "Replace", "pattern": {"String": "q"}, "content": "k"}], "aq", "string_replaced"),
        ([{"type": "Replace", "pattern": {"String": "qr"}, "content": "k"}], "qr", "string_replaced"),
        ([{"type": "Replace", "pattern": {"String": "qr"}, "content": "q"}], "qr", None),  # qrr becomes qr
        ([{"type": "Replace", "pattern": {"String": "qr"}, "content": ""}], "qr", None),  # qqrr becomes qr
        ([{"type": "Replace", "pattern": {"String": "q"}, "content": "k"},
          {"type": "Replace", "pattern": {"String": "k"}, "content": "q"}], "aq", None),
        ([{"type": "StripAccents"}], ACCENT, "character_never_made"),
    ],
)  # fmt: skip
def test_the_normaliser_alone(tmp_path: Path, normalizer: list[dict[str, Any]], word: str, kind: str | None) -> None:
    stage = {"type": "Sequence", "normalizers": normalizer}
    pattern = regex_split(r"[\s\S]+")  # marks may follow letters
    file = byte_level([word], normalizer=stage, pre_tokenizer=pattern)
    verdict, found = verdict_of(tmp_path, file, spelled(word))
    if kind is None:
        assert verdict not in UNREACHABLE
    else:
        assert (verdict, found) == (Verdict.NORMALIZATION_UNREACHABLE, kind)


@settings(max_examples=examples(200), deadline=None)
@given(st.sampled_from(["NFC", "NFD", "NFKC", "NFKD"]), st.text(COMPOSING, max_size=12))
def test_normal_forms_are_closed_under_taking_parts(form: str, text: str) -> None:
    """What the argument from a normal form rests on: marks, Hangul, singletons, ligatures."""
    import tokenizers as library

    normalize = getattr(library.normalizers, form)().normalize_str
    normal = normalize(text)
    for start in range(len(normal)):
        for end in range(start, len(normal) + 1):
            assert normalize(normal[start:end]) == normal[start:end]


@pytest.mark.parametrize(("text", "content"), [("qrr", "q"), ("qqrr", "")])
def test_what_is_replaced_may_come_back(tmp_path: Path, text: str, content: str) -> None:
    step = {"type": "Replace", "pattern": {"String": "qr"}, "content": content}
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(byte_level(["qr"], normalizer=step)), encoding="utf-8")
    assert 256 in tokenizers.load(f"file:{path}").encode_batch([text]).ids


def word_piece(words: list[str], **options: Any) -> dict[str, Any]:
    vocabulary = {word: number for number, word in enumerate(["[UNK]", *words])}
    flags = {"clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": False}
    return {
        "version": "1.0",
        "normalizer": {"type": "BertNormalizer"} | flags | options.pop("normalizer", {}),
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                  "max_input_chars_per_word": 5, "vocab": vocabulary} | options,
    }  # fmt: skip


def test_word_pieces(tmp_path: Path) -> None:
    words = ["x", "ж", "##中", "##!", "##ing", "中中", "longer", "fives", "don't", "é"]
    test, vocabulary = examined(tmp_path, word_piece(words))
    kinds = {word: test.arguments[vocabulary[word]].kind for word in words if vocabulary[word] in test.arguments}
    assert kinds == {
        "##中": "ideograph_alone",
        "##!": "always_cut",
        "中中": "ideograph_alone",
        "longer": "longer_than_words",
        "don't": "always_cut",
    }
    assert Verdict(int(test.verdicts[vocabulary["##ing"]])) == Verdict.CONTEXT_ONLY


def test_the_normaliser_can_be_asked_alone(tmp_path: Path) -> None:
    """Through pre-tokenizer and decoder, text that the normaliser leaves alone comes back with spaces."""
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(word_piece(["x"])), encoding="utf-8")
    tokenizer = tokenizers.load(f"file:{path}")
    assert isinstance(tokenizer, HasStages)
    assert isinstance(tokenizer, HasPipeline)
    assert tokenizer.stages().normalize("don't\u4e2d") == "don't \u4e2d "
    assert tokenizer.normalize("a-b") != tokenizer.stages().normalize("a-b") == "a-b"


def test_engines_say_the_same_of_the_stages(tmp_path: Path) -> None:
    """Ours and the library's: steps, forms and arguments."""
    words = ["zz", "qzz", ACCENT, "1a", "ab"]
    added_tokens = [added("zz", 256)]
    file = byte_level(words, added_tokens=added_tokens, normalizer={"type": "NFC"})
    home, _ = examined(tmp_path, file)
    ours, _ = examined(tmp_path, file, "?method=merge")
    assert {token: argument.kind for token, argument in ours.arguments.items()} == {
        token: argument.kind for token, argument in home.arguments.items()
    }
    assert len(home.arguments) >= 3


def test_ideographs_that_are_left_alone_go_on_words(tmp_path: Path) -> None:
    file = word_piece(["x", "##中"], normalizer={"handle_chinese_chars": False})
    assert verdict_of(tmp_path, file, "##中")[0] == Verdict.CONTEXT_ONLY


def test_lower_case_word_pieces(tmp_path: Path) -> None:
    file = word_piece(["x", "é", "X", "e"], normalizer={"lowercase": True})
    for word, kind in (("é", "character_never_made"), ("X", "character_never_made"), ("e", "")):
        assert verdict_of(tmp_path, file, word)[1] == kind


def test_a_word_piece_whose_mark_is_in_the_text_lives(tmp_path: Path) -> None:
    """Without a cut at signs the text may spell the two number signs, and the piece then starts a word."""
    file = word_piece(["x", "##!"]) | {"pre_tokenizer": {"type": "WhitespaceSplit"}}
    assert verdict_of(tmp_path, file, "##!")[0] in (Verdict.REACHABLE, Verdict.CONTEXT_ONLY)
    tokenizer = tokenizers.load(f"file:{tmp_path / 'tokenizer.json'}")
    assert tokenizer.encode_batch(["##!"]).ids.tolist() == [2]


def test_digits_that_end_every_piece_need_the_suffix(tmp_path: Path) -> None:
    words = ["1", "1</w>", "a", "a</w>", "ab</w>"]
    vocabulary = {word: number for number, word in enumerate(["b", "b</w>", *words])}
    split = {"type": "Split", "pattern": {"Regex": r"\p{L}+|\p{N}"}, "behavior": "Removed", "invert": True}
    model = {"type": "BPE", "unk_token": "b", "end_of_word_suffix": "</w>", "vocab": vocabulary, "merges": ["a b</w>"]}
    file = {"version": "1.0", "pre_tokenizer": split, "model": model}
    test, _ = examined(tmp_path, file)
    assert {word for word in words if vocabulary[word] in test.arguments} == {"1"}
    assert test.arguments[vocabulary["1"]].kind == "always_cut"

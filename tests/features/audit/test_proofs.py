"""When ``pyharness diff`` may call two files the same, and texts for changes that only some text shows."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from audited import plants
from cases.command_line import call
from deployed.gguf import gguf, of_pieces
from pyharness.features.audit.differences import sides, texts_of_changes, witnesses
from pyharness.features.audit.differences.changes import Change
from pyharness.features.audit.differences.comparison import TokenizerComparison, compare
from pyharness.features.audit.differences.definitions import definition
from tokenizer_files import byte_level, sentencepiece_data, write


def compared(tmp_path: Path, one: Any, other: Any) -> TokenizerComparison:
    first, second = (write(tmp_path, name, content) for name, content in (("one.json", one), ("other.json", other)))
    return compare(*sides.pair(first, second))


def stages(result: TokenizerComparison) -> set[str]:
    """Stages of the witnesses, each of which the library confirms."""
    for one in result.witnesses:
        assert [token for token, _ in one.first] != [token for token, _ in one.second]
    return {one.cause.stage for one in result.witnesses}


def kinds(result: TokenizerComparison) -> set[str]:
    return {change.kind for change in result.changes}


def swapped(content: dict[str, Any], one: str, other: str) -> dict[str, Any]:
    vocab = content["model"]["vocab"]
    return {**content, "model": {**content["model"], "vocab": {**vocab, one: vocab[other], other: vocab[one]}}}


def word_piece(*pieces: str, **options: Any) -> dict[str, Any]:
    vocab = {piece: number for number, piece in enumerate(dict.fromkeys(["[UNK]", *pieces]))}
    model = {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "vocab": vocab,
             "max_input_chars_per_word": 100} | options  # fmt: skip
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None,
            "pre_tokenizer": {"type": "Whitespace"}, "post_processor": None, "decoder": None,
            "model": model}  # fmt: skip


def plain_bpe(**stages: Any) -> dict[str, Any]:
    vocab = {letter: number for number, letter in enumerate("abcdefgh")} | {"ab": 8}
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None,
            "pre_tokenizer": None, "post_processor": None, "decoder": None,
            "model": {"type": "BPE", "vocab": vocab, "merges": ["a b"]}} | stages  # fmt: skip


# ---------------------------------------------------------------------------------------------- proofs


def with_two_spellings() -> dict[str, Any]:
    """Two pieces that decode to the same bytes: only one of them is what the model looks up."""
    content = byte_level()
    content["added_tokens"], content["post_processor"] = [], None
    vocab = content["model"]["vocab"]
    vocab[" w"] = len(vocab)
    return content


def test_pieces_that_decode_alike_are_told_apart(tmp_path: Path) -> None:
    one = with_two_spellings()
    result = compared(tmp_path, one, swapped(one, " w", "Ġw"))
    assert not result.same_definition
    assert kinds(result) == stages(result) == {"id moved"}
    assert compared(tmp_path, one, one).same_definition


def test_a_piece_that_only_spells_otherwise_is_no_proof(tmp_path: Path) -> None:
    one, other = with_two_spellings(), with_two_spellings()
    for content, piece in ((one, "Ġthe"), (other, " the")):
        content["model"]["ignore_merges"] = True
        content["model"]["vocab"][piece] = len(content["model"]["vocab"])
    result = compared(tmp_path, one, other)
    assert not result.changes
    assert not result.same_definition
    assert " the" in {witness.text for witness in result.witnesses}


def test_files_of_one_kind_that_spell_tokens_otherwise_differ(tmp_path: Path) -> None:
    level = {"add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    in_bytes = plain_bpe(pre_tokenizer={"type": "ByteLevel", **level}, decoder={"type": "ByteLevel", **level})
    cut = {"type": "Split", "pattern": {"String": "b"}, "behavior": "Isolated", "invert": False}
    result = compared(tmp_path, in_bytes, plain_bpe(pre_tokenizer=cut))
    assert kinds(result) == {"kind of file", "split pattern", "decoder"}
    assert "ab" in {witness.text for witness in result.witnesses}
    assert "split pattern" in stages(result)


@pytest.mark.parametrize("setting", ["truncation", "padding"])
def test_limits_of_length_are_a_change(setting: str, tmp_path: Path) -> None:
    one, other = byte_level(), byte_level()
    other[setting] = None
    result = compared(tmp_path, one, other)
    assert kinds(result) == {setting}
    assert (result.equal, result.same_definition, result.tried > 0) == (True, False, True)


def test_left_out_defaults_of_truncation_are_no_change(tmp_path: Path) -> None:
    one, other = byte_level(), byte_level()
    del other["truncation"]["direction"]
    assert compared(tmp_path, one, other).same_definition


def test_a_piece_that_is_no_longer_used_is_a_change(tmp_path: Path) -> None:
    pytest.importorskip("sentencepiece")
    data = sentencepiece_data(2, byte_fallback=False)
    unused = data.replace(b"hell\x15\x00\x00\x40\xc0\x18\x01", b"hell\x15\x00\x00\x40\xc0\x18\x05")
    assert unused != data
    result = compare(*sides.pair(write(tmp_path, "a.model", data), write(tmp_path, "b.model", unused)))
    assert kinds(result) == {"model option"}
    assert "hell" in {witness.text for witness in result.witnesses}


def test_an_added_token_of_a_model_with_scores_is_shown_where_pieces_compete(tmp_path: Path) -> None:
    pytest.importorskip("sentencepiece")
    data = sentencepiece_data(2, byte_fallback=False)
    added = data.replace(b"ll\x15\x00\x00\x00\xc0\x18\x01", b"ll\x15\x00\x00\x00\xc0\x18\x04")
    assert added != data
    result = compare(*sides.pair(write(tmp_path, "a.model", data), write(tmp_path, "b.model", added)))
    assert kinds(result) == {"added token"}
    assert {witness.text for witness in result.witnesses} == {"hell"}


def test_what_is_not_known_of_a_row_is_no_proof(tmp_path: Path) -> None:
    pieces: list[tuple[str, float, int]] = [
        ("<unk>", 0, 2), *((letter, -9, 1) for letter in "▁abc"), ("ab", -1, 1), ("bc", -2, 1), ("abcc", -9, 1)
    ]  # fmt: skip
    other = [(piece, -2.5 if piece == "ab" else score, kind) for piece, score, kind in pieces]
    paths = [tmp_path / name for name in ("one.gguf", "other.gguf")]
    for path, content in zip(paths, (pieces, other), strict=True):
        path.write_bytes(gguf(of_pieces(content)))
    one, two = (f"gguf:{path}" for path in paths)
    result = compare(*sides.pair(one, two))
    assert not result.same_definition
    assert not result.equal
    assert compare(*sides.pair(one, one)).same_definition


def in_lower_case(*contents: str, normalized: bool = True) -> dict[str, Any]:
    content = word_piece("a", *contents)
    content["normalizer"] = {"type": "Lowercase"}
    flags = {"special": False, "single_word": False, "lstrip": False, "rstrip": False, "normalized": normalized}
    vocab = content["model"]["vocab"]
    content["added_tokens"] = [{"id": vocab[text], "content": text, **flags} for text in contents]
    return content


def test_added_tokens_that_are_alike_once_normalised_are_no_proof(tmp_path: Path) -> None:
    ambiguous = in_lower_case("[ZA]", "[za]")
    result = compared(tmp_path, ambiguous, ambiguous)
    assert not result.changes
    assert not result.same_definition
    assert not result.first.is_settled
    arguments = ("diff", "./one.json", "./one.json", "-c", "sample:prose")
    assert not json.loads(call(*arguments, "--format", "json", cwd=tmp_path).stdout)["same_definition"]
    said = call(*arguments, cwd=tmp_path).stdout.partition("verdict")[2].partition("documents")[0]
    assert said.count("./one.json") == 1


@pytest.mark.parametrize(
    "content", [in_lower_case("[ZA]", "[zb]"), in_lower_case("[ZA]", "[za]", normalized=False)], ids=["two", "exact"]
)
def test_added_tokens_that_stay_apart_are_a_proof(content: dict[str, Any], tmp_path: Path) -> None:
    assert compared(tmp_path, content, content).same_definition


# ---------------------------------------------------------------------------------------------- texts


def test_parts_of_characters_have_a_text(tmp_path: Path) -> None:
    content = byte_level()
    merges, vocab = content["model"]["merges"], content["model"]["vocab"]
    content["added_tokens"], content["post_processor"] = [], None
    for left, right in (("ä", "¸"), ("Ń", "æ"), ("Ŀ", "ĺ")):  # e4 b8; ad e6, over two characters; 9f 98, the middle
        assert left in vocab
        assert right in vocab
        merges.append(f"{left} {right}")
        vocab[left + right] = len(vocab)
    for pair in (("ä¸", "he"), ("Ńæ", "he"), ("Ŀĺ", "he")):
        result = compared(tmp_path, content, swapped(content, *pair))
        moved = vocab[pair[0]]
        assert "id moved" in stages(result)
        starts = witnesses.candidates(result.first, result.second, result.changes)["id moved"]
        assert any(moved in result.first.encode([text]).ids for text in starts)


LETTERS = st.characters(min_codepoint=0x80, max_codepoint=0x1FFFF, categories=["L", "So"])


@given(st.text(LETTERS, min_size=1, max_size=3), st.integers(0, 3), st.integers(1, 3))
def test_completed_spellings_are_text_that_contains_the_part(text: str, start: int, end: int) -> None:
    part = text.encode()[start:-end]
    assume(part)
    spellings = [*itertools.islice(texts_of_changes.completed(part), 200)]
    assert spellings
    assert all(part in spelling and spelling.decode() for spelling in spellings)


def test_a_piece_that_needs_a_word_before_it_has_one(tmp_path: Path) -> None:
    pieces = ["a", "##a", "amana", "amanaa", "nut", "mana", "##mana", "##spersed", "inter", "spersed"]
    pieces += ["manamana", "aspersed", "spersedspersed", "amanamana"]
    one = word_piece(*pieces)
    result = compared(tmp_path, one, swapped(one, "##mana", "##spersed"))
    (witness,) = result.witnesses
    assert witness.cause.stage == "id moved"
    assert one["model"]["vocab"]["##mana"] in [token for token, _ in (*witness.first, *witness.second)]


def test_a_longest_word_that_changed_has_a_text(tmp_path: Path) -> None:
    result = compared(tmp_path, *(word_piece("a", "##a", max_input_chars_per_word=most) for most in (60, 40)))
    (change,) = result.changes
    assert (change.kind, change.before, change.after) == ("model option", 60, 40)
    assert [witness.text for witness in result.witnesses] == ["a" * 41]


@pytest.mark.parametrize("length", [400, 1600])
def test_long_added_tokens_have_few_texts(length: int) -> None:
    text = "xyzK" * (length // 4)
    made = list(texts_of_changes.around(Change("added token", text, None, {}, text.encode())))
    assert len(made) < 4 * texts_of_changes.MOST_PLACES
    assert text in made


def test_pieces_are_kept_as_they_are_written(tmp_path: Path) -> None:
    content = with_two_spellings()
    one = definition(sides.load(write(tmp_path, "one.json", content)).home)
    assert [key for key in one.tokens if key[0] == b" w"] == [(b" w", 1), (b" w", 0)]
    assert one.tokens[b" w", 0] == content["model"]["vocab"][" w"]
    assert list(one.tokens.values()) == sorted(one.tokens.values())
    assert plants.ids(content, " w") == [one.tokens[b" w", 1]]


def test_an_added_token_with_the_sign_of_a_space_in_its_name_has_a_text(tmp_path: Path) -> None:
    one, other = byte_level(), byte_level()
    for content, special in ((one, True), (other, False)):
        content["added_tokens"][1] |= {"content": "<a▁b>", "special": special}
    result = compared(tmp_path, one, other)
    assert kinds(result) == {"special flag"}
    assert [witness.text for witness in result.witnesses] == ["<a▁b>"]

"""What is shown of a text: units that spell it, merges that make them, and what moved."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpe_models import trained_model
from pyharness.bpe import export_model
from pyharness.features.pipes import units
from pyharness.types import InputError
from tokenizer_files import message, sentencepiece_data, write


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("show") / "tokenizer.json"
    path.write_bytes(export_model(trained_model("gpt2"), "tokenizer.json"))
    return str(path)


@pytest.fixture(scope="module")
def spaced(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A file that puts a space before a text and keeps its spaces, read in no time: `mistral:v3` takes a second."""
    keep_spaces = message(3, b"\x20\x00")  # normalizer_spec: remove_extra_whitespaces is false
    data = sentencepiece_data(2, byte_fallback=True) + keep_spaces
    return write(tmp_path_factory.mktemp("spaced"), "m.model", data)


def assert_spelled(rows: list[str], text: str) -> None:
    for shown in units.show(rows, [text]):
        assert shown.spells
        assert b"".join(unit.data for unit in shown.units) in (text.encode(), b" " + text.encode())


# U+2581 is how such a file writes a space, so a text with it comes back with a space.
@given(
    text=st.text(st.characters(codec="utf-8", exclude_characters="\u2581"), max_size=30) | st.text(" a\n", max_size=6)
)
def test_units_spell_the_text(spaced: str, text: str) -> None:
    assert_spelled(["raw_bytes", spaced], text)


def test_units_do_not_spell_a_text_whose_spaces_a_row_drops(tmp_path: Path) -> None:
    row = write(tmp_path, "m.model", sentencepiece_data(2, byte_fallback=True))
    for text, spelled in {" a": True, "a ": False, " ": False}.items():
        (shown,) = units.show([row], [text])
        assert shown.spells == spelled


def test_units_of_a_published_model_spell_the_text() -> None:
    assert_spelled(["mistral:v3"], "the café, 日本語 \U0001f1ea\U0001f1ea\n\n  and so on")


@pytest.mark.parametrize("engine", ["", "native+"])
def test_merges_make_the_token_from_its_bytes(file: str, engine: str) -> None:
    (shown,) = units.show([f"{engine}file:{file}"], ["the cat sat on the mat, and there it stayed"])
    assert any(unit.merges and len(unit.merges) > 1 for unit in shown.units)
    for unit in shown.units:
        assert unit.merges is not None
        made = {bytes([byte]) for byte in unit.data}
        for left, right in unit.merges:
            assert {left, right} <= made
            made.add(left + right)
        assert unit.data in made
        assert len(unit.merges) == len(unit.data) - 1


@pytest.mark.data
def test_the_merges_of_published_ranks(data: Path) -> None:
    (shown,) = units.show([str(data / "tokenizers" / "tiktoken" / "cl100k_base.tiktoken")], ["strawberry"])
    assert [(unit.id, unit.text) for unit in shown.units] == [(496, "str"), (675, "aw"), (15717, "berry")]
    assert shown.units[0].merges == ((b"s", b"t"), (b"st", b"r"))


def test_what_moved_is_what_the_other_text_has_not(file: str) -> None:
    one, other = units.show([file], ["a cat sat", "a cat, sat"])
    assert not any(unit.moved for unit in one.units)
    assert [unit.data for unit in other.units if unit.moved] == [b","]
    same = units.show([file], ["a cat sat"] * 2)
    assert not any(unit.moved for shown in same for unit in shown.units)
    assert all(unit.moved for shown in units.show(["raw_bytes"], ["abc", "xyz"]) for unit in shown.units)
    assert [len(shown.units) for shown in units.show(["raw_bytes"], ["", "a"])] == [0, 1]


def test_texts_come_in_turn_with_all_rows_of_each(file: str) -> None:
    found = units.show(["raw_bytes", file], ["ab", "ac"])
    assert [(shown.row, shown.number) for shown in found] == [("raw_bytes", 0), (file, 0), ("raw_bytes", 1), (file, 1)]
    said = units.lines(found).splitlines()
    assert said[0].split() == ["raw_bytes", "2", "a|[b]"]
    assert (said[2], said[3].split()) == ("", ["raw_bytes", "2", "a|[c]"])


def test_a_text_drives_no_terminal_and_long_tables_end() -> None:
    text = "\x1b[31m\u202e\n" + "x" * 300
    found = units.show(["raw_bytes"], [text])
    (sheet,) = units.sheets(found)
    assert "\x1b" not in units.lines(found) + "".join(map(str, sheet.texts))
    assert len(sheet.rows) == units.MOST_LISTED
    assert re.search(r"^109 more\b.*--format json\b", "".join(sheet.notes))
    assert len(units.as_json(found, [text])["rows"][0]["units"]) == 309  # type: ignore[index]


def test_a_text_that_is_too_long_is_refused() -> None:
    with pytest.raises(InputError, match=r"more than 1,048,576 bytes\b"):
        units.show(["raw_bytes"], ["x" * (units.LONGEST + 1)])

"""``pyharness overlap``: overlaps against arithmetic over the files, scripts, and the page."""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from cases.command_line import call, refused
from pyharness.features.audit.differences import comparison, sides
from pyharness.features.audit.differences.changes import Overlap, id_map
from pyharness.features.audit.differences.comparison import compare
from pyharness.features.audit.differences.overlap_report import VocabularyReport, heat_map
from pyharness.features.audit.differences.overlaps import MIXED, NO_LETTER, PART, class_of, contents, pair_overlap
from tokenizer_files import byte_level, rank_data, write


def rank_file(folder: Path, name: str, *tokens: bytes) -> str:
    """A row of 256 bytes and these tokens."""
    (folder / name).write_bytes(rank_data(tokens))
    return f"file:{folder / name}?pattern=gpt2"


@pytest.fixture
def rows(tmp_path: Path) -> list[str]:
    return [rank_file(tmp_path, "a.tiktoken", b"he", b"zz", b" h"), rank_file(tmp_path, "b.tiktoken", b"zz", b"qq")]


@pytest.fixture
def text(tmp_path: Path) -> str:
    (tmp_path / "text.txt").write_text("hehe zz", encoding="utf-8")
    return f"path:{tmp_path / 'text.txt'}"


def test_overlaps_and_use_are_arithmetic(rows: list[str], text: str) -> None:
    one, other = contents([sides.load(row) for row in rows], [text])
    there, back = pair_overlap(one, other), pair_overlap(other, one)
    assert (there.tokens.both, there.tokens.jaccard, back.tokens.jaccard) == (257, 257 / 260, 257 / 260)
    assert (there.share, back.share) == (257 / 259, 257 / 258)
    assert (there.used, back.used) == (2 / 4, 1.0)  # he he " " zz, and h e h e " " zz
    assert (one.used, other.used) == (4, 6)
    assert (one.with_space, other.with_space) == ((2, 1), (1, 1))
    assert one.scripts["Latin"] == (52 + 3, 3)
    assert one.scripts[PART] == (128, 0)
    assert pair_overlap(one, one).tokens.jaccard == 1


def test_overlaps_are_those_of_diff(rows: list[str], text: str) -> None:
    one, other = contents([sides.load(row) for row in rows], [text])
    compared = compare(*sides.pair(*rows), (text,))
    assert pair_overlap(one, other).tokens == compared.ids.overlap == Overlap(257, 259, 258)
    assert (pair_overlap(one, other).used, pair_overlap(other, one).used) == compared.used == (2 / 4, 1.0)


def test_a_letter_is_shared_where_the_other_file_also_spells_its_byte(rows: list[str], text: str) -> None:
    """SentencePiece has ``<0x68>`` next to ``h``: texts have ``h``."""
    pytest.importorskip("mistral_common")
    one, other = contents([sides.load("mistral:v1"), sides.load(rows[0])], [text])
    strings, ids = one.side.tokenizer.vocabulary().strings(), np.flatnonzero(one.use)  # type: ignore[attr-defined]
    theirs = set(other.side.tokenizer.vocabulary().strings())  # type: ignore[attr-defined]
    share = sum(int(one.use[token]) for token in ids if strings[token] in theirs) / one.use.sum()
    assert pair_overlap(one, other).used == share
    assert share > 0


def test_pieces_within_words_are_spelled_as_text(tmp_path: Path) -> None:
    """WordPiece has ``##ing`` where SentencePiece has ``ing``."""
    pytest.importorskip("mistral_common")
    model = {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
             "max_input_chars_per_word": 9, "vocab": {"[UNK]": 0, "##ing": 1, "##▁the": 2}}  # fmt: skip
    decoder = {"type": "WordPiece", "prefix": "##", "cleanup": False}
    file = {**byte_level(), "model": model, "added_tokens": [], "decoder": decoder}
    row = write(tmp_path, "tokenizer.json", file)
    one, other = contents([sides.load(row), sides.load("mistral:v1")])
    assert pair_overlap(one, other).tokens.both == 1


def test_without_text_nothing_is_used(rows: list[str]) -> None:
    one, other = contents([sides.load(row) for row in rows])
    assert pair_overlap(one, other).used is None
    assert sum(used for _, used in one.scripts.values()) == 0


def test_mistral_v1_and_v3_overlap_as_their_pieces_do() -> None:
    """Against the library of SentencePiece alone."""
    folder = Path(pytest.importorskip("mistral_common").__file__).parent / "data"
    library = pytest.importorskip("sentencepiece")
    pieces = []
    for name in ("tokenizer.model.v1", "mistral_instruct_tokenizer_240323.model.v3"):
        model = library.SentencePieceProcessor(model_file=str(folder / name))
        pieces.append({model.id_to_piece(number) for number in range(len(model))})
    jaccard = len(pieces[0] & pieces[1]) / len(pieces[0] | pieces[1])
    one, other = contents([sides.load("mistral:v1"), sides.load("mistral:v3")])
    assert pair_overlap(one, other).tokens.jaccard == jaccard
    assert round(jaccard, 4) == 0.9766


# ---------------------------------------------------------------------------------------------- scripts

SCRIPTS = ("Latin", "Cyrillic", "Greek", "Han", "Hiragana", "Thai", "Lao", "Devanagari", "Yi", "Nko", "Vai", "Mro")


def slow_class(text: str) -> str:
    """The script by the properties of ``regex``."""
    letters = [letter for letter in text if unicodedata.category(letter)[0] in "LM"]
    names = {name for letter in letters for name in SCRIPTS if regex.match(rf"\p{{Script={name}}}", letter)}
    return MIXED if len(names) > 1 else next(iter(names), NO_LETTER)


@given(st.text(st.sampled_from("aé kжω日のกກकꀀߊꔀ𖩀 1.\u0301ー_"), max_size=4))
def test_scripts_are_those_of_unicode(text: str) -> None:
    assert class_of(text.encode()) == slow_class(text)


def test_a_part_of_a_character_has_no_script() -> None:
    assert class_of("é".encode()[1:]) == PART


# ---------------------------------------------------------------------------------------------- the command


def test_a_page_and_json_have_the_same_numbers(rows: list[str], text: str, tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    out = tmp_path / "overlap.html"
    done = call("overlap", *rows, "-c", text, "-o", str(out), "--format", "json")
    assert done.returncode == 0, done.stderr
    content = json.loads(done.stdout)
    pairs = {(one["first"], one["second"]): one for one in content["overlaps"]}
    assert pairs[rows[0], rows[1]]["jaccard"] == 257 / 260
    assert content["vocabularies"][0]["leading_space"] == {"tokens": 2, "used": 1}
    assert content["libraries"].keys() == {"tiktoken"}
    page = out.read_text(encoding="utf-8")
    assert page.count('class="chart"') == 3
    assert "0.9885" in page  # 257 / 260
    assert refused("overlap", *rows, "-c", text, "-o", str(out)).count("\n") == 1


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_the_tables_are_written(form: str, rows: list[str], text: str) -> None:
    done = call("overlap", *rows, "-c", text, "--format", form)
    assert done.returncode == 0
    assert "0.9885" in done.stdout


def test_the_fields_of_a_heat_map_are_as_strong_as_their_numbers(rows: list[str], text: str) -> None:
    pytest.importorskip("vl_convert")
    report = VocabularyReport.of(contents([sides.load(row) for row in rows], [text]), [text])
    last = report.sheets()[-1]
    drawn = heat_map(last)
    numbers = Counter(round(float(cell.value or 0), 2) for row in last.rows for cell in row[1:])
    strength = Counter(round(float(one) / 0.35, 2) for one in re.findall(r'fill-opacity="([\d.]+)"', drawn))
    assert numbers == strength == Counter({1.0: 3, 0.5: 1})


def test_a_hostile_name_stays_text(tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    row = tmp_path / "<script>alert(1)<"
    row.mkdir()
    (row / "tokenizer.json").write_text(json.dumps(byte_level()), encoding="utf-8")
    report = VocabularyReport.of(contents([sides.load(f"file:{row}")]), [])
    assert np.isclose(report.overlaps[f"file:{row}", f"file:{row}"].tokens.jaccard, 1)
    assert "<script" not in heat_map(report.sheets()[2])


@pytest.mark.parametrize("row", ["patches:space", "./absent.json", "nonsense"])
def test_what_has_no_vocabulary_is_one_line(row: str) -> None:
    assert refused("overlap", "raw_bytes", row).count("\n") == 1


def test_mistral_v1_and_v3_overlap_as_the_files_say() -> None:
    pytest.importorskip("mistral_common")
    pytest.importorskip("sentencepiece")
    first, second = sides.pair("mistral:v1", "mistral:v3")
    assert round(id_map(first.definition, second.definition).overlap.jaccard, 4) == 0.9766


def test_threads_that_take_batches_count_as_one_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "_CHARACTERS", 2000)
    specs = rank_file(tmp_path, "a.tiktoken", b"he", b"en"), rank_file(tmp_path, "b.tiktoken", b"en", b"he")
    both, text = sides.pair(*specs), ("sample:prose", "sample:parallel")
    assert all(side.thread_safe for side in both)
    one, *others = (compare(*both, text, threads) for threads in (1, 2, 5))
    assert sum(count.differing for count in one.texts) > 0
    for other in others:
        assert (other.texts, other.causes, other.witnesses, other.used) == (
            one.texts, one.causes, one.witnesses, one.used,
        )  # fmt: skip

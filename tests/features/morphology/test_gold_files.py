"""Files of gold boundaries: each format by what it holds, and what is refused or left out."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

from cases.command_line import refused
from pyharness.features.morphology import gold
from pyharness.features.morphology.formats import FILTERED, NO_MORPHEMES, NOT_SPELLED
from pyharness.features.morphology.gold import TOO_LONG, TWICE, boundaries, read_gold
from pyharness.types import InputError

# Written for these tests, in the layout of each format.
FILES = {
    "MorphScore 1": ",full_word,pt1,rest\n0,walks,walk,s\n1,the,the,\n2,went,go,ed\n",
    "MorphScore 2": (
        "wordform,lemma,stem,preceding_part,following_part,word_freq_norm,unique,data_split\n"
        "rewalks,walk,walk,re,s,0.25,unique,train\nwalked,walk,walk,,ed,0.5,not,train\n"
        "walk2,walk2,walk2,,,0.5,unique,dev\nwalker,walk,walker,,,0.5,unique,dev\n"
    ),
    "MorphyNet derivations": (
        "walk\twalker\tV\tN\ter\tsuffix\nwalk\trewalk\tV\tV\tre\tprefix\nbig\tbiggie\tA\tN\tie\tinfix\n"
    ),
    "MorphyNet or UniMorph": "walk\twalks\tV|PRS;3;SG\twalk|s\nbake\tbaking\tV\tbake|ing\nput\tput\tV;PST\t-\n",
    "SIGMORPHON 2022": "walks\twalk @@s\t100\nhappily\thappy @@ly\t010\nthe\tthe\t000\n",
}


def written(folder: Path, text: str | bytes) -> str:
    path = folder / "gold.txt"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def words(folder: Path, text: str) -> dict[str, tuple[str, ...]]:
    return {one.word: one.morphemes for one in read_gold(written(folder, text)).words}


@pytest.mark.parametrize("name", FILES)
def test_a_format_is_recognised_by_what_it_holds(name: str, tmp_path: Path) -> None:
    usual = FILES[name]
    for text in (usual, "\ufeff" + usual, usual.replace("\n", "\r\n"), "\n \n" + usual.replace("\n", "\n\n")):
        assert read_gold(written(tmp_path, text)).format.startswith(name)


def test_words_of_each_format(tmp_path: Path) -> None:
    assert words(tmp_path, FILES["MorphScore 1"]) == {"walks": ("walk", "s"), "the": ("the",)}
    assert words(tmp_path, FILES["MorphScore 2"]) == {"rewalks": ("re", "walk", "s")}
    assert words(tmp_path, FILES["MorphyNet derivations"]) == {"walker": ("walk", "er"), "rewalk": ("re", "walk")}
    assert words(tmp_path, FILES["MorphyNet or UniMorph"]) == {"walks": ("walk", "s")}
    assert words(tmp_path, FILES["SIGMORPHON 2022"]) == {"walks": ("walk", "s"), "the": ("the",)}


def test_lines_without_a_word_are_counted_by_reason(tmp_path: Path) -> None:
    def left_out(text: str) -> dict[str, int]:
        return dict(read_gold(written(tmp_path, text)).left_out)

    assert left_out(FILES["MorphScore 1"]) == {NOT_SPELLED: 1}
    assert left_out(FILES["MorphScore 2"]) == {FILTERED: 3}
    assert left_out(FILES["MorphyNet or UniMorph"]) == {NO_MORPHEMES: 1, NOT_SPELLED: 1}
    twice = "walks\twalk @@s\nwalks\twalk @@s\n" + "a" * 257 + "\t" + "a" * 257 + "\n"
    assert left_out(twice) == {TOO_LONG: 1, TWICE: 1}


def test_frequencies_are_those_of_the_file(tmp_path: Path) -> None:
    (one,) = read_gold(written(tmp_path, FILES["MorphScore 2"])).words
    assert one.frequency == 0.25
    for number in ("nan", "-1", "1e300", "1e999"):
        (other,) = read_gold(written(tmp_path, FILES["MorphScore 2"].replace("0.25", number))).words
        assert other.frequency is None


@pytest.mark.parametrize(
    "text", ["", "\n\n", "walk\twalks\tV;PRS\n", "no table at all", "a,b\n1,2\n", b"\xff\xfe", "walks\tgo @@ed\n"]
)
def test_what_gives_no_words_is_refused(text: str | bytes, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"gold\.txt"):
        read_gold(written(tmp_path, text))


def test_sizes_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, FILES["SIGMORPHON 2022"])
    monkeypatch.setattr(gold, "MOST_WORDS", 1)
    with pytest.raises(InputError, match="more than 1 words"):
        read_gold(path)
    monkeypatch.setattr(gold, "MOST_BYTES", 10)
    with pytest.raises(InputError, match="10 bytes"):
        read_gold(path)


def test_a_file_of_many_short_lines_takes_little_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gold, "MOST_BYTES", 1 << 20)
    path = written(tmp_path, "walks\twalk @@s\n" * 200 + "ab\n" * 200_000)
    tracemalloc.start()
    try:
        read_gold(path)
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()


def test_a_long_line_without_columns_is_no_csv(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no known format"):
        read_gold(written(tmp_path, "a" * 200_000))


def test_boundaries_are_in_bytes() -> None:
    assert boundaries(("über", "all")) == {5}
    assert boundaries(("one",)) == set()


def test_a_run_refuses_before_it_measures(tmp_path: Path) -> None:
    run = ("run", "-t", "raw_bytes", "-o", "r.json")
    assert "gold" in refused(*run, "-b", "morphology", cwd=tmp_path)
    assert "absent.tsv" in refused(*run, "-b", "morphology?gold=absent.tsv", cwd=tmp_path)

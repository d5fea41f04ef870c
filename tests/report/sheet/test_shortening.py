"""Names that are cut to fit into a table never look alike."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len

from pyharness import report
from pyharness.report.sheet import Cell, Heading, Sheet
from pyharness.report.sheet.strings import shorten, shorten_apart

PARTS = st.lists(st.sampled_from(["a", "bb", "english", "polish", "::", "/x/", "-2]"]), max_size=30).map("".join)


@given(st.lists(PARTS, max_size=20), st.integers(4, 40))
@example(["x" * 9 + f"{one}{'y' * 30}{one}" + "z" * 9 for one in "abcdefghij"], 4)
def test_different_names_stay_different_and_fit(names: list[str], width: int) -> None:
    shown = shorten_apart(names, width)
    assert shown.keys() == set(names)
    assert len(set(shown.values())) == len(shown)
    assert all(len(short) <= width for short in shown.values())
    assert all(shown[name] == name for name in names if len(name) <= width and len(set(map(len, names))) == 1)


def test_what_tells_names_apart_is_left() -> None:
    names = [f"speed/test_splitter_speed.py::test_split[{text}-{n}]" for text in ("english", "polish") for n in (1, 2)]
    shown = shorten_apart(names, 24)
    for name, short in shown.items():
        assert ("english" in short) is ("english" in name)
        assert short.endswith(name[-3:])
    assert shorten_apart(["alone" * 20], 24) == {"alone" * 20: shorten("alone" * 20, 24)}


@given(
    st.lists(st.lists(st.sampled_from(["a", "数据", "分词器", "/", "e\u0301", "ﾊ", "한", "-1", "👩"]), max_size=24)
             .map("".join), min_size=1, max_size=6, unique=True),
    st.integers(1, 8),
)  # fmt: skip
@example(["file:/数据/分词器/" + "分词器" * 6 + f"{one}号.json" for one in "一二"], 6)
def test_names_of_wide_characters_neither_look_alike_nor_take_digits_off(names: list[str], numbers: int) -> None:
    headings = (Heading("tokenizer", "name"), *(Heading(f"n{at}") for at in range(numbers)))
    sheet = Sheet("t", headings, tuple((Cell(f"x{name}x"), *(Cell(1.25),) * numbers) for name in names))
    lines = report.to_text([sheet], width=80).splitlines()[2:]
    assert [line.count("1.2500") for line in lines] == [numbers] * len(names)
    assert len({line.partition("1.2500")[0].rstrip() for line in lines}) == len(names)
    assert all(cell_len(line) <= 80 for line in lines)


def test_rank_files_of_one_folder_differ_at_80_columns() -> None:
    names = [f"file:/srv/everyone/data/tokenizers/{name}_base.tiktoken" for name in ("cl100k", "o200k", "r50k", "p50k")]
    headings = (Heading("tokenizer", "name"), *(Heading(f"number {at}") for at in range(6)))
    sheet = Sheet("t", headings, tuple((Cell(name), *(Cell(1.25),) * 6) for name in names))
    shown = [line.split("  ")[0] for line in report.to_text([sheet], width=80).splitlines()[-4:]]
    assert len(set(shown)) == 4
    for short, unlike in zip(shown, ("l1", "o2", "r5", "p5"), strict=True):
        assert unlike in short


def test_a_name_of_two_characters_has_no_end() -> None:
    assert [shorten("abcdef", width) for width in (1, 2, 3)] == ["…", "a…", "a…f"]


def of_numbers(names: list[str], count: int) -> Sheet:
    headings = (Heading("tokenizer", "name"), *(Heading(f"n{at}") for at in range(count)))
    return Sheet("", headings, tuple((Cell(name), *(Cell(1.25),) * count) for name in names))


def test_a_name_has_one_short_form_in_all_tables_and_is_whole_where_it_fits() -> None:
    long, middle = "file:ranks/a-name-that-fits-in-no-table.tiktoken", "file:both/tokenizer.json"
    shown = report.to_text([of_numbers([long, middle], count) for count in (5, 7)], width=80).splitlines()
    names = [line.split(" ")[0] for line in shown if line.startswith("file:")]
    assert (names[0], names[1]) == (names[2], middle)
    assert "…" in names[0]
    assert "…" in names[3]


@pytest.mark.parametrize(("width", "whole"), [(30, True), (20, False)])
def test_a_name_breaks_at_a_slash_only_if_it_is_wider_than_its_column(width: int, whole: bool) -> None:
    sheet = Sheet("", (Heading("answer", "prose"),), ((Cell("best of all is file:code/tokenizer.json"),),))
    lines = report.to_text([sheet], width=width).splitlines()
    assert ("file:code/tokenizer.json" in lines) is whole
    assert ("file:code/" in " ".join(lines).split()) is not whole

"""Names from strangers in Markdown and CSV: they act on nothing and nobody, and read as they are."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pyharness import report
from pyharness.report import Cell, Heading, Sheet
from pyharness.report.sheet import strings
from pyharness.report.sheet.strings import visible
from strangers.names import NAMES
from workflows.rendered import Reader, read

TAGS = {"p", "code", "table", "thead", "tbody", "tr", "th", "td", "h3"}
SOME = st.lists(st.sampled_from(NAMES) | st.text(max_size=3), max_size=4).flatmap(
    lambda parts: st.sampled_from(["", " "]).map(lambda between: between.join(parts))
)


def everywhere(name: str) -> Sheet:
    """A name as title, heading, cell, and as notes that follow others."""
    headings = (Heading(name, "name"), Heading("end", "word"))
    return Sheet(name, headings, ((Cell(name), Cell("last")), (Cell("x"), Cell(name))), ("above", name, name))


def plain(text: str) -> str:
    """Text as a reader sees it: spaces at its ends, and how many stand in it, are not seen."""
    return re.sub(" +", " ", text).strip(" \n")


def seen_of(name: str) -> list[tuple[str, str]]:
    """What must be there of ``everywhere``."""
    text = plain(visible(name))
    cells = [("th", text), ("th", "end"), ("td", text), ("td", "last"), ("td", "x"), ("td", text)]
    notes = re.sub("\n+", "\n", f"above\n{text}\n{text}").strip()
    return [*[("h3", text)] * bool(name), *cells, ("p", notes)]  # no title is no heading


def wrong(name: str) -> list[object]:
    """What a name does in Markdown, and what is not as it was."""
    found = read(report.to_markdown([everywhere(name)]))
    blocks = [(tag, plain(re.sub(" *\n *", "\n", text))) for tag, text in found.blocks]
    return [*found.found, *(found.tags - TAGS), *unlike(blocks, seen_of(name))]


def unlike(seen: list[tuple[str, str]], wanted: list[tuple[str, str]]) -> Iterator[object]:
    if seen != wanted:
        yield next(((one, other) for one, other in zip(seen, wanted, strict=False) if one != other), (seen, wanted))


def test_there_are_three_hundred_of_them() -> None:
    assert len(NAMES) > 300


def test_names_do_nothing_in_markdown_and_read_as_they_are() -> None:
    assert {name: found for name in NAMES if (found := wrong(name))} == {}


@given(SOME)
@example("a\\|b `` @x|")
def test_nor_do_several_of_them_together(name: str) -> None:
    assert wrong(name) == []


@pytest.mark.parametrize(
    ("text", "markdown"),
    [
        ("(UAX #29). used", "(UAX `#29`). used"),
        ("see (#1), or @a;", "see (`#1`), or `@a`;"),
        ("f(@x).", "`f(@x).`"),
        ("((@", "((`@`"),
    ],
)
def test_a_code_span_leaves_signs_around_a_word_outside(text: str, markdown: str) -> None:
    assert (strings.markdown(text), wrong(text)) == (markdown, [])


# What the escape consists of, and a name that does something as soon as that is missing.
PARTS = {
    "@": "@someone",
    r"#\w": "#1",
    r"[a-z]-\d": "GH-1",
    "ghsa-": "GHSA-jfh8-c2jm-xxxx",
    "/(?:issues|pull|discussions)/": "owner/repo/pull/4",
    "[0-9a-f]{7}": "deadbeef",
    ":/": "https://evil.example",
    r"www\.": "www.evil.example",
    r":[\w+-]+:": ":+1:",
    r"\$": "$x$",
}


@pytest.mark.parametrize("part", PARTS)
def test_each_part_of_the_escape_is_needed(monkeypatch: pytest.MonkeyPatch, part: str) -> None:
    rest = strings._ACTS.pattern.replace(f"|{part}", "|(?!)") if part != "@" else strings._ACTS.pattern[2:]
    assert rest != strings._ACTS.pattern
    monkeypatch.setattr(strings, "_ACTS", re.compile(rest, re.IGNORECASE))
    assert read(report.to_markdown([everywhere(PARTS[part])])).found
    assert any(map(wrong, NAMES))


@pytest.mark.parametrize("text", ["0.0013715", "-0.0013715 ± 0.00012345", "1.2345678e-05", "(0.1234567)", "0.1234567."])
def test_numbers_stand_as_text_and_not_as_code(text: str) -> None:
    assert strings.markdown(text) == text
    assert read(strings.markdown(text)).shown.strip() == text


@pytest.mark.parametrize(
    "text",
    ["#123", "GH-123", "deadbeef", "1234567", "0.1234567a", "v1.1234567", "1234567.5", "a@0.1234567", "#0.1234567"],
)
def test_what_only_looks_like_a_number_stands_as_code(text: str) -> None:
    assert strings.markdown(text) == f"`{text}`"


@pytest.mark.parametrize("text", [":+1:", r"\:+1\:", r":\+1:", r"\:white\_check\_mark\:", r"\\:+1\\:"])
def test_no_symbol_comes_of_a_name(text: str) -> None:
    """Neither as it stands nor with marks that Markdown takes for escapes."""
    found = read(strings.markdown(text))
    assert (found.found, found.shown.strip()) == ([], text)


@pytest.mark.parametrize("rule", ["_SPECIAL", "_BLOCK", "_CLOSING", "_UNSEEN", "_ACTS"])
def test_each_rule_of_the_escape_is_needed(monkeypatch: pytest.MonkeyPatch, rule: str) -> None:
    monkeypatch.setattr(strings, rule, re.compile("(?!)()"))
    assert any(map(wrong, NAMES))


@pytest.mark.parametrize("mark", ["<>", "&", "|"])
def test_each_mark_that_is_replaced_is_needed(monkeypatch: pytest.MonkeyPatch, mark: str) -> None:
    escaped = strings._escape
    names = {"<": "&lt;", ">": "&gt;", "&": "&amp;", "|": "\\|"}

    def forgetful(word: str) -> str:
        word = escaped(word)
        for one in mark:
            word = word.replace(names[one], one)
        return word

    monkeypatch.setattr(strings, "_escape", forgetful)
    assert any(map(wrong, NAMES))


def test_a_reader_of_markdown_that_is_no_longer_escaped_sees_what_acts() -> None:
    """The oracle itself: without any escape, of names that are to act nearly every one does."""
    acting = [name for name in NAMES if read(visible(name)).found]
    assert len(acting) > len(NAMES) / 3
    assert isinstance(read(""), Reader)


def test_no_cell_of_a_csv_file_is_a_formula_and_all_read_as_they_are() -> None:
    named = [name for name in NAMES if name.isprintable() or name.encode("utf-8", "ignore").decode() == name]
    headings = (Heading("name", "name"), Heading("reason", "prose"))
    text = report.to_csv(Sheet("t", headings, tuple((Cell(name), Cell(name)) for name in named)))
    (_, *rows) = csv.reader(io.StringIO(text, newline=""))
    assert len(rows) == len(named)
    for (one, other), name in zip(rows, named, strict=True):
        assert one == other
        assert one in (name, f"'{name}")
        assert not re.match(r"[=+\-@\t\r\n\0]", one)

"""Characters that cannot be seen are shown: names that differ in nothing else are told apart in every format."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial

import pytest
import regex

from pyharness.report import Cell, Heading, Sheet, to_html, to_markdown, to_page, to_text
from pyharness.report.sheet.strings import visible

UNSEEN = regex.compile(
    r"[\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cs}\p{Zl}\p{Zp}[\p{Zs}--\ ]\u2800\ufffe\uffff]", regex.V1
)
NAMES = ["row", *(f"ro{chr(point)}w" for point in (0x200B, 0x200D, 0xAD, 0xA0, 0x2000, 0xFE0F, 0x3164, 0xE0041))]


def test_all_that_cannot_be_seen_is_escaped_and_nothing_else() -> None:
    every = "".join(map(chr, range(sys.maxunicode + 1)))
    assert visible(every) == UNSEEN.sub(lambda found: f"\\x{ord(found[0]):02x}", every)


@pytest.mark.parametrize("export", [to_text, to_markdown, to_html, partial(to_page, title="names")])
def test_names_that_differ_in_nothing_else_are_told_apart(export: Callable[[list[Sheet]], str]) -> None:
    rows = tuple((Cell(name), Cell(number)) for number, name in enumerate(NAMES))
    text = export([Sheet("Names", (Heading("name", "name"), Heading("value")), rows)])
    assert not UNSEEN.search(text.replace("\n", ""))
    plain = text.replace("\\\\", "\\")  # Markdown has two for one
    assert all(name.replace(name[2], f"\\x{ord(name[2]):02x}") in plain for name in NAMES[1:])

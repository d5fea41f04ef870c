"""Tables as LaTeX: no text of a stranger runs a command, and cells are where they belong."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from pyharness.report import Cell, Heading, Sheet, to_latex

MARKS = "\\{}$&#_%~^<>|±…[]*@\n"


@given(st.text(st.sampled_from(MARKS + "ab 1"), max_size=12))
def test_text_of_strangers_is_inert(text: str) -> None:
    sheet = Sheet(text, (Heading(text, "name"), Heading("n")), ((Cell(text), Cell(1.5)),), (text,))
    out = to_latex([sheet])
    bare = re.sub(
        r"\\(?:text\w+|ldots|caption|begin|end|hline|par|pm)\b(?:\{\})?|\\[{}$&#_%]|\\\\$", "", out, flags=re.MULTILINE
    )
    assert "\\" not in bare
    assert not set("%#~^_<>|") & set(bare)
    assert bare.count("&") == 2  # one in the head, one in the row
    assert bare.count("{") == bare.count("}")


def test_a_table_has_its_intervals() -> None:
    sheet = Sheet("T", (Heading("row", "name"), Heading("x")), ((Cell("a"), Cell(4.3649, interval=(4.2, 4.6))),))
    lines = to_latex([sheet, sheet]).splitlines()
    assert lines.count(r"\begin{tabular}{lr}") == 2
    assert r"a & 4.36 $\pm$0.20 \\" in lines
    assert lines.count(r"\null") == 1  # text between tables: LaTeX holds 52 of them without


def test_nothing_stands_between_the_end_of_a_row_and_what_follows() -> None:
    """After a token ``\\hline`` is an error of LaTeX, and ``[`` or ``*`` would be arguments of the row's end."""
    rows = tuple((Cell(name), Cell(1.0)) for name in ("[5cm]", "*", "a"))
    out = to_latex([Sheet("T", (Heading("row", "name"), Heading("x")), rows)])
    after = [part.lstrip() for part in out.split("\\\\")[1:]]
    assert [part[:2] for part in after] == ["\\h", "{*", "a ", "\\h"]


def test_a_sheet_without_rows_is_a_table_too() -> None:
    assert to_latex([Sheet("nothing", (), ())]).endswith("\\end{table}\n")

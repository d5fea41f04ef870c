"""How much a comment on a pull request says: whole rows within 60 kB, and a count of what there is no room for."""

from __future__ import annotations

import random

import pytest

from pyharness import report
from pyharness.report import Cell, Heading, Sheet, comments
from pyharness.report.exporters import comment as mechanism
from pyharness.report.exporters.comment import MOST_BYTES, Comment, CommentPart
from ranked.records import column, record
from workflows.commented import acts, left_out, rows_not_shown, tables


@pytest.mark.parametrize("rows", [3, 30, 300])
def test_every_row_is_shown_or_counted_within_60_kb(rows: int) -> None:
    texts = [f"文本 {number} @x" for number in range(rows // 3)]
    results = [
        one
        for seed, text in enumerate(texts)
        for one in column({f"行 {n} @x {'長' * 60}": n for n in range(1, 4)}, 1, seed, text)
    ]
    read_ = record(*results)
    said = comments.record_comment(read_, "x")
    text = report.to_pull_request(said)
    assert len(text.encode()) <= MOST_BYTES
    sheets = [sheet for part in said.parts for sheet in part.sheets]
    assert {sheet.title for sheet in report.sheets(read_)} <= {sheet.title for sheet in sheets}
    shown = sum(len(table) - 1 for table in tables(text))
    assert shown + rows_not_shown(text) == sum(len(sheet.rows) for sheet in sheets)
    assert (rows_not_shown(text) > 0) == (rows == 300)
    assert acts(text) == []


def sheet(draw: random.Random) -> Sheet:
    title, width = draw.choice(["t", "@x", "|" * 400, "表" * 200]), draw.randint(1, 40)
    rows = tuple((Cell(f"{n} {title}" * width), Cell(n)) for n in range(draw.choice([0, 1, 5, 50, 400])))
    notes = draw.choice([(), ("note",), ("@x " * 200,) * 60])
    return Sheet(title, (Heading(title, "name"), Heading("b")), rows, notes)


def part(draw: random.Random) -> CommentPart:
    sheets = tuple(sheet(draw) for _ in range(draw.choice([0, 1, 3, 12])))
    return CommentPart(sheets, draw.choice([None, "fold"]), draw.choice([500, 8000, MOST_BYTES]), draw.random() < 0.5)


@pytest.mark.parametrize("seed", range(20))
def test_no_comment_is_too_long_and_none_hides_what_it_leaves_out(seed: int) -> None:
    draw = random.Random(seed)
    parts = tuple(part(draw) for _ in range(draw.randint(0, 4)))
    remarks = draw.choice([(), ("@x " * 90,) * 300])
    text = report.to_pull_request(Comment("headline " * 90, "about", remarks, parts))
    assert len(text.encode()) <= MOST_BYTES
    assert text.count("<details>") == text.count("</details>") == sum(bool(one.fold and one.sheets) for one in parts)
    sheets = [one for part in parts for one in part.sheets]
    found = tables(text)
    assert len(found) + left_out(text, "table") == len(sheets)
    assert sum(len(table) - 1 for table in found) + rows_not_shown(text) == sum(len(sheet.rows) for sheet in sheets)
    assert acts(text) == []


def test_what_has_its_room_first_is_not_crowded_out() -> None:
    long = Sheet("long", (Heading("a", "name"),), tuple((Cell(f"{n} " * 40),) for n in range(5000)))
    short = Sheet("short", (Heading("a", "name"),), ((Cell("present " * 40),),))
    for first, there in ((True, True), (False, False)):
        text = report.to_pull_request(Comment("h", parts=(CommentPart((long,)), CommentPart((short,), first=first))))
        assert ("present" in text) == there


def test_there_is_room_to_say_what_is_left_out() -> None:
    assert len(mechanism._describe_left_out(10**9, "table", " with 1,000,000,000 rows")) < mechanism._ROOM_FOR_LEFT_OUT

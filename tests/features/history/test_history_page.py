"""The page of a history: a chart of each line of times, its levels, and the numbers under it."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from gating.histories import commit, entries, entry, line_of
from pyharness.features.history import page
from pyharness.features.history.collecting import KeptRecord
from pyharness.features.history.database import opened
from pyharness.features.history.lines import History, history_of
from pyharness.report.page import Figure, render

STEP = [0.0] * 20 + [0.05] * 20
MARKUP = "<script>alert(1)</script>"


def read(tmp_path: Path, records: Sequence[KeptRecord], count: int = 40) -> History:
    with opened(tmp_path / "history.db", create=True) as database:
        database.add(records, line_of(count))
        return history_of(database)


def figures(history: History) -> list[Figure]:
    blocks = [block for section in page.page_of(history, "h").sections for block in section.blocks]
    return [block for block in blocks if isinstance(block, Figure)]


def test_each_line_has_a_chart_and_its_numbers_and_what_changed_is_first(tmp_path: Path) -> None:
    records = [
        entry(commit(number), {"calm": 0.0, "slower": level}, seed=number, memory=0.1)
        for number, level in enumerate(STEP)
    ]
    slower, calm = figures(read(tmp_path, records))
    assert [one.title.split(",")[0] for one in (slower, calm)] == ["slower", "calm"]
    assert [cell.value for cell, *_ in slower.numbers.rows] == list(range(40))
    assert slower.numbers.rows[0][2].interval is not None
    assert slower.svg.count("level") > 0


def test_levels_meet_at_the_steps_and_cover_the_points_that_are_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = read(tmp_path, entries(STEP))
    (change,) = history.changes
    ends = [(one.x, one.y) for one in page._levels(change.line, [change])]
    assert [x for x, _ in ends] == [0, change.before.place, change.after.place, 39]
    assert [y for _, y in ends][:2] == [pytest.approx(100 * math.expm1(change.old))] * 2
    assert [y for _, y in ends][2:] == [pytest.approx(100 * math.expm1(change.new))] * 2
    monkeypatch.setattr(page, "MOST_POINTS", 10)
    (figure,) = figures(history)
    shown = [row[0].value for row in figure.numbers.rows]
    assert shown == [0, 7, 14, 21, 28, 35, 36, 37, 38, 39]
    assert [int(number) for number in re.findall(r"\b[57]\b", figure.description)] == [5, 7]


def test_a_page_is_inert_and_one_without_points_is_made(tmp_path: Path) -> None:
    assert MARKUP not in render(page.page_of(read(tmp_path, entries(STEP, MARKUP)), MARKUP))
    empty = tmp_path / "empty"
    empty.mkdir()
    assert figures(read(empty, [])) == []
    assert render(page.page_of(read(empty, []), "h"))


def test_charts_have_a_limit_and_the_rest_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "MOST_CHARTS", 2)
    records = [entry(commit(0), dict.fromkeys(("a", "b", "c", "d", "e"), 0.0))]
    history = read(tmp_path, records)
    assert len(figures(history)) == 2
    (section,) = [one for one in page.page_of(history, "h").sections if one.title == "Charts"]
    assert str(section.blocks[-1]).startswith("3 ")

"""Profiles: the medians that are drawn are those of the tables."""

from __future__ import annotations

import pytest

from drawn.charts import spoken_marks
from paged import made
from pyharness.features.profiling import report as room
from pyharness.features.profiling.cases import PROFILE_KIND
from pyharness.report.page.sections import sections_of
from pyharness.report.sheet import Cell, Heading, Sheet
from pyharness.report.sheet.parts import Figure
from pyharness.store import Record
from pyharness.types import Format


def test_medians_are_drawn_and_read_out(monkeypatch: pytest.MonkeyPatch) -> None:
    headings = (Heading("implementation", "word"), Heading(room.MEDIAN), Heading("n"))
    milliseconds = Format("{:.4g}", 1e3, "ms")
    rows = tuple((Cell(name), Cell(value, milliseconds), Cell(9)) for name, value in (("ours", 2e-3), ("other", 0.5)))
    timed = [Sheet(f"problem {number}", headings, rows) for number in range(room.MOST_DRAWN + 2)]
    monkeypatch.setattr(room, "profile_sheets_of", lambda _: [*timed, Sheet("names", headings[:1], ())])
    (section,) = room.profile_sections(Record({"kind": PROFILE_KIND}, ()))
    assert len(section.blocks) == room.MOST_DRAWN
    for figure, sheet in zip(section.blocks, timed, strict=False):
        assert isinstance(figure, Figure)
        assert figure.numbers is sheet
        assert spoken_marks(figure.svg) == ["ours: 2", "other: 500"]


def test_a_record_of_a_run_has_none() -> None:
    titles = [section.title for section in sections_of(made.record(["a"], ["text"]))]
    assert "Times by implementation" not in titles

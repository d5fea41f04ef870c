"""Lines of a history: what is suspected, what is told apart, and what is only shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gating.histories import FIXED, MACHINE, OTHER, commit, entries, entry, line_of
from pyharness.features.gate.types import GateRules
from pyharness.features.history.collecting import MOST_LOG, KeptRecord, SeriesName
from pyharness.features.history.database import opened
from pyharness.features.history.lines import (
    ENOUGH,
    History,
    HistoryLine,
    LinePoint,
    can_be_judged,
    changes_of,
    history_of,
    level,
    series_of,
)
from pyharness.features.history.report import headline, sheets
from pyharness.types import InputError

STEP = [0.0] * 20 + [0.03] * 20


def read(tmp_path: Path, records: Sequence[KeptRecord], count: int = 40, since: str | None = None) -> History:
    with opened(tmp_path / "history.db", create=True) as database:
        database.add(records, line_of(count))
        return history_of(database, since=since)


def test_a_step_is_suspected_where_it_is(tmp_path: Path) -> None:
    history = read(tmp_path, entries(STEP))
    (change,) = history.suspected
    assert abs(change.after.place - 20) <= 2
    assert change.before.place == change.after.place - 1
    assert change.effect == pytest.approx(0.03, abs=0.01)
    assert not change.alone
    assert level(change.line, history.changes) == pytest.approx(0.03, abs=0.01)


def test_points_are_those_of_all_launches_with_their_interval(tmp_path: Path) -> None:
    one = entry(commit(0), {"encode": 0.03})
    (point,) = one.points
    assert point.samples == FIXED.launches
    assert point.low is not None
    assert point.high is not None
    assert point.low < point.value < point.high
    assert point.value == pytest.approx(0.03, abs=0.03)


@pytest.mark.parametrize("levels", [[0.0] * 40, [0.01] * 40, [0.03] * 20 + [0.0] * 20, [0.0] * 9, []])
def test_what_does_not_grow_is_not_suspected(tmp_path: Path, levels: list[float]) -> None:
    history = read(tmp_path, entries(levels))
    assert history.suspected == ()
    assert history.comparable is (len(levels) >= 10)


@pytest.mark.parametrize(("count", "code"), [(2, 2), (9, 2), (10, 0)])
def test_memory_is_nothing_to_compare_before_a_line_of_times_has_ten_points(
    tmp_path: Path, count: int, code: int
) -> None:
    history = read(tmp_path, entries([0.0] * count, memory=0.01))
    assert {one.series.nature for one in history.lines} == {"ratio", "count"}
    assert history.exit_code == code


def test_memory_that_grew_is_told_before_times_can_be_compared(tmp_path: Path) -> None:
    grown = entry(commit(2), {"encode": 0.0}, seed=2, memory=0.5)
    history = read(tmp_path, [*entries([0.0] * 2, memory=0.01), grown])
    assert ([one.line.series.figure for one in history.suspected], history.exit_code) == (["memory"], 2)
    assert "1 figure" in headline(history)
    confirmed = replace(history, changes=tuple(replace(one, outcome="confirmed") for one in history.changes))
    assert (confirmed.exit_code, headline(confirmed).split()[0]) == (1, "Confirmed:")


def test_what_was_taken_back_is_a_change_and_not_suspected(tmp_path: Path) -> None:
    history = read(tmp_path, entries([0.0] * 14 + [0.05] * 12 + [0.0] * 14))
    assert [(one.slower, one.taken_back) for one in history.changes] == [(True, True), (False, False)]
    assert history.suspected == ()


def test_since_leaves_earlier_changes_out(tmp_path: Path) -> None:
    records = entries(STEP)
    assert read(tmp_path, records, since=commit(10)[:12]).suspected
    assert read(tmp_path, records, since=commit(30)).suspected == ()
    for name in ("f" * 40, ""):
        with pytest.raises(InputError, match="--since"):
            read(tmp_path, records, since=name)


def test_since_is_a_name_of_git_first_and_messages_have_it_as_given(tmp_path: Path) -> None:
    read(tmp_path, entries(STEP))
    with opened(tmp_path / "history.db") as database:
        assert history_of(database, since="v1.2", commit=commit(30)).since == 30
        assert history_of(database, since=commit(10)[:12], commit="f" * 40).since == 10  # git here is another project's
        with pytest.raises(InputError, match=r"'v1\.3'"):
            history_of(database, since="v1.3", commit="f" * 40)


def test_two_machines_that_alternate_are_no_step(tmp_path: Path) -> None:
    records = [
        entry(commit(number), {"encode": 0.015 * (number % 2)}, machine=(MACHINE, OTHER)[number % 2], seed=number)
        for number in range(60)
    ]
    history = read(tmp_path, records, 60)
    assert history.changes == ()
    assert {len(one.points) for one in history.lines} == {30}


def test_another_machine_that_begins_is_told_apart(tmp_path: Path) -> None:
    assert ENOUGH > 15
    records = [
        entry(commit(number), {"encode": 0.03 * later}, machine=OTHER if later else MACHINE, seed=number)
        for number in range(30) for later in [number >= 15]
    ]  # fmt: skip
    history = read(tmp_path, records, 30)
    (line,) = history.lines
    assert line.machine == ""
    assert can_be_judged(line)
    assert history.changes == ()


@pytest.mark.parametrize("both", [True, False])
def test_a_step_of_one_machine_alone_says_so(tmp_path: Path, both: bool) -> None:
    records = [
        entry(commit(number), {"encode": 0.04 * (number >= 20 and (both or machine is OTHER))}, machine=machine,
              seed=2 * number + (machine is OTHER))
        for number in range(40) for machine in (MACHINE, OTHER)
    ]  # fmt: skip
    changes = read(tmp_path, records).suspected
    assert [one.alone for one in changes] == ([False, False] if both else [True])


def test_a_gate_that_screened_is_shown_and_not_judged(tmp_path: Path) -> None:
    chosen = replace(GateRules(), launches=5)
    history = read(tmp_path, entries(STEP, rules=chosen))
    (line,) = history.lines
    assert (len(line.points), line.judged, history.comparable, history.changes) == (40, (), False, ())


def test_another_definition_or_anchor_is_another_line(tmp_path: Path) -> None:
    records = [
        *entries([0.0] * 12, definition="d"),
        *(entry(commit(number), {"encode": 0.2}, definition="e", seed=number) for number in range(12, 24)),
        *(entry(commit(number), {"encode": 0.5}, anchor="b" * 40, seed=number) for number in range(24, 36)),
    ]
    history = read(tmp_path, records)
    assert [len(line.points) for line in history.lines] == [12, 12, 12]
    assert history.changes == ()


def test_a_series_that_ends_stays_and_its_last_level_counts(tmp_path: Path) -> None:
    records = [
        entry(commit(number), {"encode": 0.05 * (number >= 12)} | ({"gone": 0.0} if number < 15 else {}), seed=number)
        for number in range(40)
    ]
    history = read(tmp_path, records)
    assert [(one.series.benchmark, len(one.points)) for one in history.lines] == [("encode", 40), ("gone", 15)]
    assert [one.line.series.benchmark for one in history.suspected] == ["encode"]


def test_gates_that_confirmed_or_searched_are_no_line_and_no_growth(tmp_path: Path) -> None:
    sizes = [0.001] * 10 + [0.2] * 10
    records = [entry(commit(number), {"encode": 0.0}, seed=number, memory=size) for number, size in enumerate(sizes)]
    before = read(tmp_path, records)
    searched = [entry(commit(number), {"encode": 0.0}, anchor=commit(3), seed=90 + number, memory=sizes[number],
                      asks_about=["encode"], created="2026-03-01") for number in (6, 9, 12)]  # fmt: skip
    after = read(tmp_path, searched)
    assert [one.line.series for one in after.suspected] == [one.line.series for one in before.suspected]
    assert after.lines == before.lines


def test_memory_that_grows_is_suspected_at_once_and_a_drift_as_well(tmp_path: Path) -> None:
    sizes = [0.001, 0.001, 0.02, 0.04, 0.06, 0.06, 0.2]
    records = [entry(commit(number), {"encode": 0.0}, memory=size, seed=number) for number, size in enumerate(sizes)]
    memory = [one for one in read(tmp_path, records).suspected if one.line.series.figure == "memory"]
    assert sorted((one.before.place, one.after.place) for one in memory) == [(3, 4), (5, 6)]
    assert sorted(one.baseline.place for one in memory) == [0, 4]  # a gate sees all of the drift


def test_a_megabyte_by_chance_is_no_growth() -> None:
    (_, point) = entry(commit(0), {"encode": 0.0}, memory=0.009).points
    assert point.value == 0.0


def test_points_of_one_revision_are_one(tmp_path: Path) -> None:
    records = [entry(commit(3), {"encode": size}, created=f"2026-01-0{size:.0f}", seed=1) for size in (1.0, 2.0)]
    (line,) = read(tmp_path, records).lines
    assert [point.value for point in line.points] == [pytest.approx(np.mean([one.points[0].value for one in records]))]


def test_the_largest_values_of_many_machines_have_a_report() -> None:
    series, machines = SeriesName("count", "gate", "encode", "memory", "d", "a"), [str(one) for one in range(16)]
    points = [LinePoint(place, commit(place), machine, value, None, None, True)
              for place, value in enumerate((-MOST_LOG, MOST_LOG)) for machine in machines]  # fmt: skip
    lines = (HistoryLine(series, "", tuple(points)),)
    history = History(lines, tuple(changes_of(lines)), (), ())
    assert len(history.suspected) == len(machines)
    (levels,) = [one for one in sheets(history) if "points" in one.columns]
    assert all(isinstance(cell.value, float) and np.isfinite(cell.value) for cell in levels.rows[0][2:4])


@pytest.mark.parametrize("text", ["", "[]", '["ratio", "", "", "", "", 3]', '["other", "", "", "", "", ""]'])
def test_a_series_that_is_none_is_damage(text: str) -> None:
    with pytest.raises(InputError, match="damaged"):
        series_of(text, "history")

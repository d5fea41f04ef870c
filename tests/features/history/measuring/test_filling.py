"""``history fill``: which gates are missing, in which order, and what becomes of those that give no point."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gating.histories import MadeGates, commit, entries, line_of
from pyharness.features.history.connections import FileConnection
from pyharness.features.history.database import opened
from pyharness.features.history.lines import history_of
from pyharness.features.history.measuring import filling
from pyharness.features.history.measuring.filling import FillRequest, fill, order_of, revisions_of
from pyharness.features.history.measuring.gates import HistoryGates, NoFurtherGate, TimeIsOver
from pyharness.features.history.places import BranchLine
from pyharness.features.history.report import sheets
from pyharness.types import InputError

COUNT = 9
REVISIONS = [commit(number) for number in range(COUNT)]
ASKED = FillRequest(REVISIONS[0])
WHY = "head does not build"


def gates(tmp_path: Path, **fields: Any) -> MadeGates:
    return MadeGates(tmp_path / "history.db", dict.fromkeys(REVISIONS, 0.0), line_of(COUNT), **fields)


def filled(made: MadeGates, asked: FillRequest = ASKED) -> filling.Filled:
    return fill(cast(HistoryGates, made), asked, REVISIONS)


def heads(made: MadeGates) -> list[int]:
    return [REVISIONS.index(head) for _, head, _ in made.asked]


@given(st.integers(0, 40), st.sets(st.integers(0, 39)))
def test_each_place_that_is_missing_comes_once(count: int, done: set[int]) -> None:
    order = order_of(count, {place for place in done if place < count})
    assert sorted(order) == [place for place in range(count) if place not in done]


@given(st.integers(2, 60))
def test_each_next_place_halves_a_widest_gap(count: int) -> None:
    order = order_of(count, ())
    assert order[:2] == [count - 1, 0]
    for number in range(2, count):
        known = sorted(order[:number])
        below = max(place for place in known if place < order[number])
        above = min(place for place in known if place > order[number])
        assert above - below == max(high - low for low, high in pairwise(known))
        assert abs((above - order[number]) - (order[number] - below)) <= 1


def test_ten_thousand_places_are_ordered() -> None:
    assert sorted(order_of(10_000, ())) == list(range(10_000))


def test_the_newest_and_the_oldest_come_first_and_what_is_measured_is_added(tmp_path: Path) -> None:
    made = gates(tmp_path)
    done = filled(made)
    assert heads(made) == [8, 1, 4, 6, 2, 3, 5, 7]
    assert {(base, launches) for base, _, launches in made.asked} == {(REVISIONS[0], 5)}
    assert (len(done.measured), done.gaps, done.left, done.over) == (8, {}, 0, False)
    with opened(made.place) as database:
        assert history_of(database).measured == set(range(1, COUNT))
    again = replace(made, asked=[])
    assert filled(again) == filling.Filled()
    assert again.asked == []


def test_what_is_there_is_not_measured_and_another_anchor_or_suite_is(tmp_path: Path) -> None:
    made = gates(tmp_path)
    with opened(made.place, create=True) as database:
        database.add(entries([0.0] * 5, anchor=REVISIONS[0]), made.line)
    filled(made)
    assert sorted(heads(made)) == [5, 6, 7, 8]
    other = replace(made, asked=[], scatter=30)
    filled(other, replace(ASKED, anchor=REVISIONS[1]))
    assert len(other.asked) == COUNT - 1
    third = replace(made, asked=[], scatter=60, suite="other")
    fill(cast(HistoryGates, third), ASKED, REVISIONS[:2])
    assert len(third.asked) == 1


@pytest.mark.parametrize("unbuilt", [{}, {REVISIONS[3]: "the arms differ"}])
def test_a_search_from_the_anchor_measures_a_part_and_leaves_the_fill_to_do(
    tmp_path: Path, unbuilt: dict[str, str]
) -> None:
    made = gates(tmp_path, unbuilt=unbuilt)
    made.measured(REVISIONS[0], REVISIONS[3], 10, only=("encode",))
    filled(made)
    assert sorted(heads(made)) == [1, 2, 3, 3, 4, 5, 6, 7, 8]


def test_a_revision_that_does_not_build_is_a_gap_with_its_reason(tmp_path: Path) -> None:
    made = gates(tmp_path, unbuilt={REVISIONS[4]: WHY})
    assert filled(made).gaps == {REVISIONS[4]: WHY}
    with opened(made.place) as database:
        history = history_of(database)
    (table,) = [one for one in sheets(history) if "reason" in one.columns]
    assert [(row[0].value, row[-1].value) for row in table.rows] == [(REVISIONS[4][:10], WHY)]
    again = replace(made, asked=[])
    assert filled(again).gaps == {REVISIONS[4]: WHY}
    assert again.asked == []
    mended = replace(made, asked=[], unbuilt={}, scatter=90)
    assert filled(mended, replace(ASKED, again=True)).measured == [REVISIONS[4]]
    assert heads(mended) == [4]


def test_a_gap_has_the_reason_of_its_latest_gate(tmp_path: Path) -> None:
    made = gates(tmp_path)
    for number in range(6):  # digests are in another order than times
        made = replace(made, asked=[], scatter=20 * number, unbuilt={REVISIONS[8]: f"reason {number}"})
        done = fill(cast(HistoryGates, made), replace(ASKED, again=True), [REVISIONS[8]])
        with opened(made.place) as database:
            (reason,) = history_of(database).reasons.values()
            assert filling.gaps_of(database, REVISIONS[0], made.suite) == done.gaps == {REVISIONS[8]: reason}
        assert reason == f"reason {number}"


def test_a_gap_before_the_first_measured_revision_and_without_any_is_reported(tmp_path: Path) -> None:
    for name, unbuilt in (("some", REVISIONS[1:3]), ("all", REVISIONS[1:])):
        made = replace(gates(tmp_path, unbuilt=dict.fromkeys(unbuilt, WHY)), place=tmp_path / name)
        filled(made)
        with opened(made.place) as database:
            (table,) = [one for one in sheets(history_of(database)) if "reason" in one.columns]
        assert [(row[0].value, row[2].value) for row in table.rows] == [(REVISIONS[1][:10], len(unbuilt))]


def test_a_gap_is_made_again_by_a_rebuild_and_joins(tmp_path: Path) -> None:
    made = gates(tmp_path, unbuilt={REVISIONS[4]: WHY})
    filled(made)
    query = "SELECT * FROM gaps"
    with opened(made.place, any_schema=True) as database, opened(tmp_path / "other.db", create=True) as other:
        before = database.rows(query)
        database.rebuild(None)
        other.add([], None, [database.contents()])
        assert database.rows(query) == other.rows(query) == before != []


def test_an_anchor_that_does_not_build_ends_the_fill_and_a_wheel_stands_in(tmp_path: Path) -> None:
    made = gates(tmp_path, unbuilt={REVISIONS[0]: "base does not build"})
    with pytest.raises(InputError, match="--wheel"):
        filled(made)
    assert len(made.asked) == 1
    by_wheel = replace(made, asked=[])
    assert len(filled(by_wheel, replace(ASKED, wheel="anchor.whl")).measured) == COUNT - 1
    assert {base for base, _, _ in by_wheel.asked} == {"anchor.whl"}
    with opened(made.place) as database:
        (line,) = history_of(database).lines
    assert line.series.anchor == REVISIONS[0]


class Refusing(MadeGates):
    """Refuses some revisions, as where a revision has no tests."""

    def measured(self, base: str, head: str, launches: int, **fields: Any) -> Any:
        if head in self.unbuilt:
            raise InputError(self.unbuilt[head])
        return super().measured(base, head, launches, **fields)


def test_a_refusal_of_the_first_ends_the_fill_and_of_another_is_a_gap(tmp_path: Path) -> None:
    made = Refusing(tmp_path / "history.db", dict.fromkeys(REVISIONS, 0.0), unbuilt={REVISIONS[8]: "no such suite"})
    with pytest.raises(InputError, match="no such suite"):
        filled(made)
    made.unbuilt = {REVISIONS[4]: "no tests"}
    assert filled(made).gaps == {REVISIONS[4]: "no tests"}


class Full(MadeGates):
    """Has no room for a third gate."""

    def measured(self, base: str, head: str, launches: int, **fields: Any) -> Any:
        if len(self.asked) == 2:
            raise NoFurtherGate("the disk is full")
        return super().measured(base, head, launches, **fields)


def test_a_full_disk_ends_a_fill_and_is_no_gap(tmp_path: Path) -> None:
    made = Full(tmp_path / "history.db", dict.fromkeys(REVISIONS, 0.0))
    with pytest.raises(InputError, match="full"):
        filled(made)
    with opened(made.place) as database:
        assert len(filling.measured_by(database, REVISIONS[0], made.suite)) == 2
        assert filling.gaps_of(database, REVISIONS[0], made.suite) == {}
    assert len(filled(gates(tmp_path, scatter=50)).measured) == COUNT - 3


class Timed(MadeGates):
    """Has time for three gates."""

    def measured(self, base: str, head: str, launches: int, **fields: Any) -> Any:
        if len(self.asked) == 3:
            raise TimeIsOver
        return super().measured(base, head, launches, **fields)


def test_a_limit_ends_a_fill_and_the_next_one_goes_on(tmp_path: Path) -> None:
    made = Timed(tmp_path / "history.db", dict.fromkeys(REVISIONS, 0.0))
    done = filled(made)
    assert (len(done.measured), done.left, done.over) == (3, COUNT - 4, True)
    past = replace(gates(tmp_path), deadline=time.monotonic() - 1)
    assert (filled(past).measured, past.asked) == ([], [])
    rest = gates(tmp_path, scatter=50)
    assert len(filled(rest).measured) == COUNT - 4


def test_a_claim_is_one_processs_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYHARNESS_CACHE", str(tmp_path / "cache"))
    with opened(tmp_path / "history.db", create=True) as one, opened(tmp_path / "history.db") as other:
        with one.claimed("a") as first, other.claimed("a") as second:
            assert (first, second) == (True, False)
        with other.claimed("a") as third:
            assert third


def test_a_fill_waits_for_another_and_leaves_out_what_that_has_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, other = gates(tmp_path), gates(tmp_path, scatter=40)
    held = iter([False] * (COUNT - 1) + [True] * COUNT)

    @contextmanager
    def claimed(*_: object) -> Iterator[bool]:
        mine = next(held)
        yield mine

    def pause(_: float) -> None:
        made.paused += 1
        fill(cast(HistoryGates, other), ASKED, [REVISIONS[0], REVISIONS[8], REVISIONS[1]])

    monkeypatch.setattr(FileConnection, "claimed", claimed)
    monkeypatch.setattr(made, "pause", pause)
    done = filled(made)
    assert made.paused == 1
    assert sorted(heads(made)) == [2, 3, 4, 5, 6, 7]
    assert sorted(heads(other)) == [1, 8]
    assert done.left == 0


class Named:
    """What ``revisions_of`` asks of gates."""

    def __init__(self, line: BranchLine) -> None:
        self.line, self.branch = line, "main"
        self.asked = type("Asked", (), {"folder": Path()})

    def commit(self, revision: str, option: str) -> str:
        if revision not in REVISIONS:
            raise InputError(f"{option} {revision!r}")
        return revision


@pytest.fixture
def named(monkeypatch: pytest.MonkeyPatch) -> HistoryGates:
    monkeypatch.setattr(filling, "branch_line", lambda _, tip: line_of(REVISIONS.index(tip) + 1))
    return cast(HistoryGates, Named(line_of(7)))


def test_a_range_is_of_the_first_parent_line_and_oldest_first(named: HistoryGates) -> None:
    assert revisions_of(named, f"{REVISIONS[2]}..{REVISIONS[6]}") == REVISIONS[3:7]
    assert revisions_of(named, REVISIONS[3]) == REVISIONS[:4]
    for newest in (5, 6):  # commits that are added leave the choice as it is
        chosen = revisions_of(named, f"{REVISIONS[0]}..{REVISIONS[newest]}", 3)
        assert chosen == [REVISIONS[1], REVISIONS[4], REVISIONS[newest]]


@pytest.mark.parametrize(
    ("wanted", "word"),
    [
        (f"{REVISIONS[3]}..{REVISIONS[3]}", "no commits"),
        (f"{REVISIONS[5]}..{REVISIONS[3]}", "not on the"),
        (f"{REVISIONS[1]}..{REVISIONS[8]}", "--branch"),
        (f"{REVISIONS[1]}...{REVISIONS[3]}", "no range"),
        ("", "no range"),
        ("..", "no range"),
        ("nowhere..main", "main"),
    ],
)
def test_ranges_that_are_none_are_named(named: HistoryGates, wanted: str, word: str) -> None:
    with pytest.raises(InputError, match=word):
        revisions_of(named, wanted)

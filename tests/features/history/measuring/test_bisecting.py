"""``history find``: the commit of a step, by gates that are made up; and what it says where launches do not tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from gating.histories import MadeGates, commit, entries, line_of
from layout.thoroughness import examples
from pyharness.features.history.database import opened
from pyharness.features.history.lines import History, history_of
from pyharness.features.history.measuring.bisecting import (
    LAUNCHES,
    MOST_GATES,
    StepSearch,
    bracket_of,
    line_named,
    searched,
)
from pyharness.features.history.measuring.gates import HistoryGates, TimeIsOver
from pyharness.features.history.report import search_sheets
from pyharness.types import InputError

COUNT = 33
REVISIONS = [commit(number) for number in range(COUNT)]
WHY = "head does not build"


def levels(culprit: int, size: float = 0.05, **others: float) -> dict[str, float]:
    return {one: size * (place >= culprit) for place, one in enumerate(REVISIONS)} | others


def search(tmp_path: Path, of_commits: Mapping[str, float], **fields: Any) -> tuple[StepSearch, MadeGates]:
    made = MadeGates(tmp_path / "history.db", of_commits, line_of(COUNT), **fields)
    return searched(cast(HistoryGates, made), "encode", REVISIONS), made


@pytest.mark.parametrize("culprit", [1, 2, 16, 17, 31, 32])
@pytest.mark.parametrize("size", [0.05, -0.05])
def test_the_commit_is_found_and_confirmed_and_each_gate_is_added(tmp_path: Path, culprit: int, size: float) -> None:
    found, made = search(tmp_path, levels(culprit, size))
    assert (found.culprit, found.good, found.bad) == (REVISIONS[culprit], REVISIONS[culprit - 1], REVISIONS[culprit])
    assert found.step is not None
    assert found.step.effect == pytest.approx(size, abs=0.02)
    *halves, last = found.trail
    assert {one.base for one in halves} == {REVISIONS[0]}
    assert (last.base, last.head) == (REVISIONS[culprit - 1], REVISIONS[culprit])
    assert len(halves) <= 7
    assert {launches for _, _, launches in made.asked} == {LAUNCHES}
    with opened(made.place) as database:
        ((count,),) = database.rows("SELECT COUNT(*) FROM records")
    assert count == len(made.asked) == sum(one.launches for one in found.trail) / LAUNCHES


def test_a_small_step_takes_more_launches_and_is_hardly_ever_wrong(tmp_path: Path) -> None:
    draws = examples(100)
    searches = [search(tmp_path, levels(17, 0.02), scatter=1000 * seed, adds=False) for seed in range(draws)]
    culprits = [one.culprit for one, _ in searches]
    assert sum(culprit not in ("", REVISIONS[17]) for culprit in culprits) <= 0.03 * draws
    assert culprits.count(REVISIONS[17]) >= 0.4 * draws
    assert max(one.launches for done, _ in searches for one in done.trail) > LAUNCHES


def test_ends_without_a_step_are_said(tmp_path: Path) -> None:
    found, made = search(tmp_path, levels(COUNT, 0.0))
    assert (found.culprit, len(made.asked)) == ("", MOST_GATES)
    assert (found.good, found.bad) == (REVISIONS[0], REVISIONS[-1])
    assert "no step" in found.why


def test_a_drift_is_a_bracket(tmp_path: Path) -> None:
    drift = {one: 0.004 * min(max(place - 10, 0), 12) for place, one in enumerate(REVISIONS)}
    found, _ = search(tmp_path, drift)
    assert found.culprit == ""
    assert found.why
    assert REVISIONS.index(found.good) < 22
    assert REVISIONS.index(found.bad) > 10


def test_a_middle_that_does_not_build_is_passed_over(tmp_path: Path) -> None:
    found, made = search(tmp_path, levels(20), unbuilt={REVISIONS[16]: WHY})
    assert found.culprit == REVISIONS[20]
    assert sum(head == REVISIONS[16] for _, head, _ in made.asked) == 1


def test_a_culprit_among_revisions_that_do_not_build_is_a_bracket(tmp_path: Path) -> None:
    found, _ = search(tmp_path, levels(20), unbuilt=dict.fromkeys(REVISIONS[18:23], WHY))
    assert (found.culprit, found.good, found.bad) == ("", REVISIONS[17], REVISIONS[23])
    assert WHY in found.why


@pytest.mark.parametrize("end", [0, COUNT - 1])
def test_an_end_that_does_not_build_is_said(tmp_path: Path, end: int) -> None:
    found, made = search(tmp_path, levels(20), unbuilt={REVISIONS[end]: WHY})
    assert (found.step, found.culprit, found.why) == (None, "", WHY)
    assert len(made.asked) == 1


def test_what_its_parent_does_not_confirm_is_no_culprit(tmp_path: Path) -> None:
    class Lying(MadeGates):
        """A parent that is as slow as what follows it, when it is the base."""

        def measured(self, base: str, head: str, launches: int, **fields: Any) -> Any:
            other = self if base == REVISIONS[0] else replace(self, levels=dict.fromkeys(REVISIONS, 0.0))
            return MadeGates.measured(other, base, head, launches, **fields)

    made = Lying(tmp_path / "history.db", levels(20), line_of(COUNT))
    found = searched(cast(HistoryGates, made), "encode", REVISIONS)
    assert (found.culprit, found.good, found.bad) == ("", REVISIONS[0], REVISIONS[-1])
    assert "parent" in found.why


def test_a_limit_leaves_the_bracket_that_was_reached(tmp_path: Path) -> None:
    class Timed(MadeGates):
        """Has time for two gates."""

        def measured(self, base: str, head: str, launches: int, **fields: Any) -> Any:
            if len(self.asked) == 2:
                raise TimeIsOver
            return super().measured(base, head, launches, **fields)

    found = searched(
        cast(HistoryGates, Timed(tmp_path / "history.db", levels(20), line_of(COUNT))), "encode", REVISIONS
    )
    assert (found.culprit, found.good, found.bad) == ("", REVISIONS[16], REVISIONS[-1])
    assert "--max-minutes" in found.why
    (answer, trail) = search_sheets(found, "")
    assert {row[0].value for row in answer.rows} >= {"between", "why"}
    assert len(trail.rows) == 2


def test_a_benchmark_without_times_is_said(tmp_path: Path) -> None:
    made = MadeGates(tmp_path / "history.db", levels(20), line_of(COUNT))
    found = searched(cast(HistoryGates, made), "decode", REVISIONS)
    assert (found.step, bool(found.why)) == (None, True)
    with pytest.raises(InputError, match="two revisions"):
        searched(cast(HistoryGates, made), "encode", REVISIONS[:1])


def read(tmp_path: Path, of_places: Sequence[float]) -> History:
    with opened(tmp_path / "history.db", create=True) as database:
        database.add(entries(of_places), line_of(len(of_places)))
        return history_of(database)


def test_the_bracket_of_a_history_holds_its_largest_growth(tmp_path: Path) -> None:
    history = read(tmp_path, [0.0] * 14 + [0.03] * 12 + [0.10] * 14 + [0.0] * 12)
    line = line_named(history, "encode", "gate")
    good, bad = bracket_of(history, line)
    assert 14 < [commit(number) for number in range(52)].index(good) < 26
    assert 26 <= [commit(number) for number in range(52)].index(bad) < 40
    with pytest.raises(InputError, match="'encode'"):
        line_named(history, "encoed", "gate")
    with pytest.raises(InputError, match=r"'other'.*GOOD\.\.BAD"):
        line_named(history, "encode", "other")


def test_a_line_without_a_step_has_no_bracket(tmp_path: Path) -> None:
    history = read(tmp_path, [0.0] * 20)
    with pytest.raises(InputError, match=r"GOOD\.\.BAD"):
        bracket_of(history, line_named(history, "encode", "gate"))

"""The study of rules for a history: what is planted, what counts as found, and when a rule saw it first."""

from __future__ import annotations

import numpy as np
import pytest

import history_rule
from history_rule import CHANGE, CHANGES, REVISIONS, RULES, Alarms, Series


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_begins_and_ends_as_it_says(change: str) -> None:
    added = history_rule.planted(change)
    assert added[0] == 0
    assert added.max() == pytest.approx(np.log(1.02 if change == "2 %" else 1.03))
    assert bool(added[-1] == 0) is (change == "reverted")


@pytest.mark.parametrize(
    ("alarms", "near", "in_the_drift"),
    [
        ([], False, False),
        ([(CHANGE, True)], True, True),
        ([(CHANGE, False)], False, False),
        ([(CHANGE + 6, True)], False, True),
        ([(CHANGE + 31, True)], False, False),
    ],
)
def test_only_slower_and_near_is_found(alarms: Alarms, near: bool, in_the_drift: bool) -> None:
    assert history_rule.finds("3 %", alarms) is near
    assert history_rule.finds("drift", alarms) is in_the_drift


def test_a_history_is_looked_at_until_its_first_alarm() -> None:
    looks: list[tuple[int, int]] = []

    def rule(series: Series) -> list[Alarms]:
        looks.append((len(series), series.shape[1]))
        return [[(0, True)] if series.shape[1] >= 90 + row[0] else [] for row in series]

    series = np.zeros((3, REVISIONS))
    series[:, 0] = [0, 5, 50]
    assert history_rule.first_alarms(rule, series, 80, bool).tolist() == [90, 95, 0]
    assert looks[0] == (3, 81)
    assert looks[-1] == (1, REVISIONS)


def test_rules_of_one_point_see_what_they_are_for() -> None:
    series = np.zeros((2, REVISIONS))
    series[:, 1::2] = 0.001
    series[1, 60:] += 0.2
    assert [[place for place, _ in one] for one in history_rule.previous_value(series)] == [[], [60]]
    assert history_rule.z_scores(series)[0] == []
    assert history_rule.z_scores(series)[1][0] == (60, True)
    assert history_rule.rank_scan(series) == [[], [(60, True)]]


@pytest.mark.parametrize("kind", history_rule.POINTS)
def test_made_up_points_scatter_as_their_name_says(kind: str) -> None:
    series = history_rule.POINTS[kind](np.random.default_rng(0), 400)
    least, most = {"ratio": (0.0055, 0.0065), "the s": (0.005, 0.009), "absol": (0.018, 0.13)}[kind[:5]]
    assert series.shape == (400, REVISIONS)
    assert least < series.std() < most


def test_a_table_has_a_row_for_each_rule_and_kind() -> None:
    lines = list(history_rule.table(RULES, 4, 2))
    assert len(lines) == 2 + len(RULES) * len(history_rule.POINTS)
    assert len({line.count("|") for line in lines}) == 1

"""``history check --confirm``: what a gate says of a suspicion, and what becomes of it."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from gating.histories import MadeGates, commit, entries, line_of
from pyharness.features.gate.types import Judgement, Waiver
from pyharness.features.history.database import opened
from pyharness.features.history.lines import History, history_of
from pyharness.features.history.measuring.confirming import LAUNCHES, confirmed
from pyharness.features.history.measuring.gates import HistoryGates, NoFurtherGate, TimeIsOver
from pyharness.features.history.report import comment, headline, next_step, to_junit
from pyharness.types import InputError

COUNT = 40
LEVELS = [0.0] * 20 + [0.05] * 20
REVISIONS = [commit(number) for number in range(COUNT)]


def history(tmp_path: Path, levels: list[float] = LEVELS) -> History:
    with opened(tmp_path / "history.db", create=True) as database:
        database.add(entries(levels), line_of(COUNT))
        return history_of(database)


def asked(tmp_path: Path, kind: type[MadeGates] = MadeGates, **fields: Any) -> tuple[History, MadeGates]:
    made = kind(tmp_path / "history.db", dict(zip(REVISIONS, LEVELS, strict=True)), line_of(COUNT), **fields)
    return confirmed(history(tmp_path), cast(HistoryGates, made)), made


@pytest.mark.parametrize(
    ("verdict", "outcome", "code", "junit", "step"),
    [
        ("regression", "confirmed", 1, "failure", "history find"),
        ("pass", "not confirmed", 0, None, ""),
        ("improvement", "not confirmed", 0, None, ""),
        ("inconclusive", "inconclusive", 3, "skipped", "quieter machine"),
        ("failed", "not compared", 2, "error", "--since"),
        ("incomparable", "not compared", 2, "error", "--since"),
    ],
)
def test_the_verdict_of_the_gate_decides(
    tmp_path: Path, verdict: str, outcome: str, code: int, junit: str | None, step: str
) -> None:
    content, made = asked(tmp_path, verdict=verdict)
    (change,) = content.suspected
    assert made.asked == [(change.baseline.revision, REVISIONS[-1], LAUNCHES)]
    assert abs(change.before.place - 19) <= 1
    assert change.baseline.place == change.before.place - 9
    assert (change.outcome, content.exit_code) == (outcome, code)
    (suite,) = ET.fromstring(to_junit(content, strict=False))  # noqa: S314 -- ours
    (case,) = suite
    assert [one.tag for one in case] == ([] if junit is None else [junit])
    assert outcome in str(comment(content))
    assert step in next_step(content)
    assert bool(step) == bool(next_step(content)) == ("next: " in str(comment(content)))


def test_what_is_confirmed_is_the_headline(tmp_path: Path) -> None:
    content, _ = asked(tmp_path)
    assert headline(content).startswith("Confirmed: 1")
    passed = replace(content, changes=tuple(replace(one, outcome="not confirmed") for one in content.changes))
    assert headline(passed).startswith("Nothing is confirmed")
    assert headline(history(tmp_path)).startswith("Suspected: 1")


def test_the_record_of_the_gate_is_added_and_changes_no_verdict(tmp_path: Path) -> None:
    content, made = asked(tmp_path)
    with opened(made.place) as database:
        after = history_of(database)
        ((count,),) = database.rows("SELECT COUNT(*) FROM records")
    assert count == COUNT + 1
    assert [(one.line.series, one.after.place) for one in after.suspected] == [
        (one.line.series, one.after.place) for one in content.suspected
    ]


def test_what_is_suspected_has_a_next_step(tmp_path: Path) -> None:
    content = history(tmp_path)
    assert next_step(content).endswith("--confirm")
    (tmp_path / "none").mkdir()
    assert "history fill" in next_step(history(tmp_path / "none", []))


def test_what_waits_for_a_place_has_to_be_placed_first(tmp_path: Path) -> None:
    with opened(tmp_path / "history.db", create=True) as database:
        database.add(entries(LEVELS), None)
        assert "history rebuild" in next_step(history_of(database))


def test_nothing_suspected_asks_for_no_gate(tmp_path: Path) -> None:
    made = MadeGates(tmp_path / "history.db", {})
    content = confirmed(history(tmp_path, [0.0] * COUNT), cast(HistoryGates, made))
    assert (made.asked, content.exit_code) == ([], 0)


def test_changes_of_another_suite_stay_suspected(tmp_path: Path) -> None:
    content, made = asked(tmp_path, suite="other")
    assert "'gate' with --suite" in str(comment(content))
    assert (made.asked, content.exit_code) == ([], 3)
    assert [one.outcome for one in content.suspected] == [""]


def test_gate_toml_waives_what_it_waives_in_the_gate(tmp_path: Path) -> None:
    class Waived(MadeGates):
        """As a gate with an entry of gate.toml."""

        def measured(self, *arguments: Any, **fields: Any) -> Any:
            gate = super().measured(*arguments, **fields)
            waiver = Waiver("encode", "time", 0.08, "2036-12-31", "offsets are kept")
            return replace(gate, judgements=tuple(replace(one, waiver=waiver) for one in gate.judgements),
                           declaration_faults=("no benchmark matches",))  # fmt: skip

    content, _ = asked(tmp_path, Waived, verdict="pass")
    (change,) = content.suspected
    assert (change.outcome, content.exit_code) == ("waived", 0)
    assert "offsets are kept" in change.why


class Refusing(MadeGates):
    """A gate that gives no figure, each time for another reason."""

    reason: Exception | str | None = None

    def measured(self, *arguments: Any, **fields: Any) -> Any:
        if isinstance(self.reason, Exception):
            raise self.reason
        gate = super().measured(*arguments, **fields)
        return replace(gate, judgements=tuple[Judgement, ...]())


def test_a_full_disk_ends_it(tmp_path: Path) -> None:
    with pytest.raises(NoFurtherGate):
        asked(tmp_path, type("Full", (Refusing,), {"reason": NoFurtherGate("no room")}))


@pytest.mark.parametrize("reason", [InputError("no such suite"), TimeIsOver(), None])
def test_a_gate_without_a_figure_is_no_pass(tmp_path: Path, reason: Exception | None) -> None:
    kind = type("Reasoned", (Refusing,), {"reason": reason})
    content, _ = asked(tmp_path, kind)
    (change,) = content.suspected
    assert (change.outcome, content.exit_code) == ("not compared", 2)
    assert change.why


def test_a_revision_that_no_longer_builds_is_no_pass(tmp_path: Path) -> None:
    content, _ = asked(tmp_path, unbuilt={REVISIONS[-1]: "head does not build"})
    (change,) = content.suspected
    assert (change.outcome, change.why, content.exit_code) == ("not compared", "head does not build", 2)

"""Runs with a time limit: what was not begun is recorded as such, and resumed."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from cases.measured_rows import deterministic
from pyharness import store, suite
from pyharness.commands import session
from pyharness.running import runner
from pyharness.running.progress import Deadline
from pyharness.types import Case, InputError

REASON = "the time limit of 5m was reached before this case"


class Watch(session.SilentListener):
    """Notes which cases begin."""

    def __init__(self) -> None:
        self.begun: list[str] = []

    def started(self, case: Case) -> None:
        self.begun.append(case.key)


class After(Deadline):
    """Is over once so many cases have begun."""

    still: Callable[[], bool]

    def __init__(self, cases: int, watch: Watch) -> None:
        super().__init__(0.0, "5m")
        object.__setattr__(self, "still", lambda: len(watch.begun) < cases)

    @property
    def over(self) -> bool:
        return not self.still()


def plan() -> suite.Plan:
    return suite.plan(suite.declare(["raw_bytes"], ["sample:prose", "sample:code"], ["compression", "load"]))


@pytest.mark.parametrize(("limit", "seconds"), [("90s", 90), ("10m", 600), ("1.5 h", 5400), ("2min", 120)])
def test_limits_are_written_with_a_unit(monkeypatch: pytest.MonkeyPatch, limit: str, seconds: float) -> None:
    monkeypatch.setattr("time.monotonic", lambda: 100.0)
    assert Deadline.after(limit).at == 100 + seconds


@pytest.mark.parametrize("limit", ["", "10", "0m", "-1m", "1d", "m", "1e3s", "\u0661m", "9" * 40 + "h"])
def test_limits_that_are_none(limit: str) -> None:
    with pytest.raises(InputError, match=rf"time limit '{limit}'.*\b10m\b"):
        Deadline.after(limit)


def test_cases_that_are_not_begun_are_skipped_and_resumed(tmp_path: Path) -> None:
    output = tmp_path / "record.json"
    watch = Watch()
    part = runner.run(plan(), store.Journal(output), watch, deadline=After(3, watch))
    jsonschema.validate(part.data, json.loads(store.SCHEMA_FILE.read_text(encoding="utf-8")))
    assert len(watch.begun) == 3, "what has begun comes to its end"
    assert {one.case.key for one in part.results if one.status == "ok"} == set(watch.begun)
    left = [one for one in part.results if one.status == "skipped"]
    assert left
    assert {one.reason for one in left} == {REASON}
    assert not store.read(output).data["complete"]
    again = Watch()
    journal = store.Journal(output, resume=True)
    whole = runner.run(plan(), journal, again, resume=True)
    assert set(again.begun) == {one.case.key for one in left}
    at_once = runner.run(plan(), store.Journal(tmp_path / "other.json"), session.SilentListener())
    assert deterministic(whole) == deterministic(at_once)
    assert store.read(output).data["complete"]
    assert not store.journal_of(output).exists()


def test_rounds_end_between_two_turns(tmp_path: Path) -> None:
    chosen = [{"name": "throughput", "threads": 1, "bytes": 5000, "rounds": 2}]
    taking = suite.plan(suite.declare(["raw_bytes", "again=raw_bytes"], ["sample:prose"], chosen))
    watch = Watch()
    part = runner.run(
        taking, store.Journal(tmp_path / "r.json"), watch, deadline=After(4, watch)
    )  # two checks and a round
    assert [one.status for one in part.of("throughput")] == ["skipped", "skipped"]
    again = Watch()
    whole = runner.run(taking, store.Journal(tmp_path / "r.json", resume=True), again, resume=True)
    assert [one.status for one in whole.of("throughput")] == ["ok", "ok"]
    assert len(again.begun) == 2, "the first round is kept"


def test_side_by_side_nothing_begins_and_nothing_is_cut_off(tmp_path: Path) -> None:
    rows = ["raw_bytes", "a=raw_bytes", "b=raw_bytes"]
    two = suite.plan(replace(suite.declare(rows, ["sample:prose"], ["compression"]), workers=2))
    watch = Watch()
    part = runner.run(two, store.Journal(tmp_path / "r.json"), watch, deadline=After(2, watch))
    assert {one.case.key for one in part.results if one.status == "ok"} == set(watch.begun)
    assert not [one for one in part.results if one.status == "failed"]


def test_a_limit_before_the_first_case_leaves_nothing(tmp_path: Path) -> None:
    output = tmp_path / "new" / "record.json"
    with pytest.raises(InputError, match=r"time limit of 5m\b"):
        runner.run(plan(), store.Journal(output), session.SilentListener(), deadline=Deadline(0, "5m"))
    assert not output.parent.exists()

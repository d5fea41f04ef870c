"""What a run in parts takes: arithmetic of the cost, and the command that shows it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases.command_line import call, refused
from divided import runs as divided
from pyharness.features.parts import costs, planning
from pyharness.features.parts.costs import PartCost
from pyharness.features.parts.folder import PartDone, PartResult
from pyharness.types import InputError, Status

PART = PartCost(measured=3, cases=2, seconds=10.0, threads=4, text=2e6, files=6e6, memory=400)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    divided.write_texts(tmp_path, 12)
    suite = divided.write_suite(tmp_path, ["raw_bytes"], ["rows.jsonl"], ["compression"])
    divided.planned(suite, 4, tmp_path / "run")
    return tmp_path / "run"


def test_the_cost_of_parts_of_equal_size() -> None:
    told = costs.cost(PART, parts=100, left=90, workers=20)
    assert (told.parts, told.text, told.folder) == (90, 180e6, 600e6)
    assert told.merge_seconds == pytest.approx(2 * costs.FINISHED + 600e6 / costs.UNPACKED)
    assert told.seconds == pytest.approx(5 * 10 + told.merge_seconds)  # 90 parts, 20 at a time, are five turns
    assert told.core_seconds == pytest.approx(90 * 10 * 4 + told.merge_seconds)


def test_a_process_starts_once_for_all_its_parts() -> None:
    started = replace(PART, start=7.0)
    plain, told = (costs.cost(one, parts=100, left=90, workers=20) for one in (PART, started))
    assert told.seconds == pytest.approx(plain.seconds + 7)
    assert told.core_seconds == pytest.approx(plain.core_seconds + 20 * 7)
    assert costs.cost(started, parts=100, left=0, workers=20).seconds == told.merge_seconds


@given(st.integers(1, 10**6), st.integers(1, 10**4), st.integers(1, 10**4))
def test_more_workers_never_take_longer(parts: int, few: int, more: int) -> None:
    left = parts // 2
    slow, fast = (costs.cost(PART, parts, left, workers) for workers in (few, few + more))
    assert fast.seconds <= slow.seconds
    assert fast.core_seconds == slow.core_seconds


def test_no_worker_is_refused() -> None:
    with pytest.raises(InputError, match="workers"):
        costs.cost(PART, 10, 10, 0)


def test_finished_parts_tell_what_the_others_take(run: Path) -> None:
    opened = planning.opened(run)
    foretold = costs.of_a_part(opened, [])
    assert foretold.measured == 0
    assert divided.worked(run, 0, 1).returncode == 0
    done = [one for part in (0, 1) if (one := opened.folder.done(part)) is not None]
    part = costs.of_a_part(opened, done)
    assert part.measured == 2
    started, kept = (one.cases[0] for one in done)
    assert (started.started, kept.started) == (True, False)
    assert part.start == pytest.approx(max(0.0, started.seconds - kept.seconds))
    assert part.seconds + part.start / 2 == pytest.approx(sum(one.seconds for one in done) / 2)
    sizes = [path.stat().st_size for path in run.rglob("*.part.zip")]
    assert part.files == sum(sizes) / 2
    assert part.text == sum(one.cases[0].bytes for one in done) / 2
    assert part.memory is not None
    assert part.memory > 1 << 20
    assert part.threads > 0


def test_what_is_skipped_in_every_part_was_measured_and_what_failed_was_not(run: Path) -> None:
    opened = planning.opened(run)
    expected: dict[Status, int] = {"skipped": 1, "failed": 0}
    for status, measured in expected.items():
        case = PartResult(case=opened.folder.plan.cases[0], status=status, reason="no")
        done = [PartDone(plan="", part=0, seconds=2.0, cases=(case,))]
        assert costs.of_a_part(opened, done).measured == measured


def test_the_command_shows_it(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(costs, "seconds_to_start", lambda: 0.5)
    assert divided.worked(run, 0).returncode == 0
    done = call("plan", str(run), "--cost", "--workers", "2", "--price", "0.5")
    assert done.returncode == 0, done.stderr
    for word in ("3, ", "core hours", "price", "merging", "folder"):
        assert word in done.stdout
    assert "price" not in call("plan", str(run), "--cost").stdout


@pytest.mark.parametrize(
    "words",
    [("--workers", "2"), ("--price", "1"), ("--cost", "--workers", "0"), ("--cost", "--parts", "2")]
    + [("--cost", "--price", price) for price in ("nan", "inf", "-1")],
)
def test_words_that_do_not_go_together(run: Path, words: tuple[str, ...]) -> None:
    refused("plan", str(run), *words)

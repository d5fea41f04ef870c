"""Time left: said late enough to be worth something, and near the truth of a run that was measured."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from rich.progress import Progress, TextColumn

from pyharness.benchmarks import Pace, benchmarks
from pyharness.benchmarks.compression import BENCHMARKS as COMPRESSION
from pyharness.cli import progress
from pyharness.commands import session
from pyharness.running import progress as time_left
from pyharness.running.progress import TimeLeft, foretold, in_words
from pyharness.types import Case, CaseResult, TextRead

SIZES = {"sample": 284_000, "python-code": 1_600_000, "python-docs": 499_000}
UNTIMED = [*((name, text) for name in ("integrity", "compression") for text in SIZES), ("fairness", "sample"),
           ("reachability", "python-docs")]  # fmt: skip
TIMED = [("throughput", "python-code"), ("throughput", "python-code"), ("latency", "python-docs"), ("load", None)]
# Seconds of the cases of the suite quick, row by row, on two cores that others used, too.
SECONDS = [
    [1.5, 0.1, 0.2, 0.6, 1.3, 0.6, 0.1, 0.2],
    [2.8, 2.0, 1.2, 1.9, 4.5, 2.2, 0.3, 2.4],
    [6.7, 1.7, 1.4, 4.4, 4.1, 3.0, 0.6, 16.7],
    [2.6, 1.7, 1.0, 2.6, 4.0, 2.1, 0.5, 8.9],
    [3.1, 2.1, 1.4, 3.2, 3.8, 2.7, 0.6, 12.8],
    [9.1, 7.4, 2.8, 3.1, 8.5, 4.1, 0.8, 11.7],
    [6.6, 4.0, 5.1, 17.1],
    [12.0, 10.0, 6.2, 21.4],
    [7.1, 8.3, 5.4, 17.0],
    [15.1, 12.9, 11.3, 28.8],
    [8.6, 8.1, 5.1, 19.6],
    [8.7, 8.8, 5.5, 14.6],
]


class Hearing(session.SilentListener):
    """Notes what it is told is left."""

    def __init__(self) -> None:
        self.said: float | None = None

    def remaining(self, seconds: float) -> None:
        self.said = seconds

    def forget(self) -> None:
        self.said = None


class Clock:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr("time.monotonic", lambda: self.now)


def measured() -> list[tuple[Case, float]]:
    cases = []
    for row, seconds in enumerate(SECONDS):
        kinds = UNTIMED if len(seconds) == len(UNTIMED) else TIMED
        for number, ((name, text), one) in enumerate(zip(kinds, seconds, strict=True)):
            given = {"threads": number + 1, "bytes": 800_000} if name == "throughput" else {}
            cases.append((Case(name, f"row {row % 6}", text, given), one))
    return cases


def replayed(run: list[tuple[Case, float]], clock: Clock) -> list[tuple[float, float | None]]:
    """Share that is done and how many times too long the rest is said to take, after each case."""
    hearing = Hearing()
    watching = TimeLeft(hearing, [case for case, _ in run])
    left = whole = sum(seconds for _, seconds in run)
    ratios: list[tuple[float, float | None]] = []
    for case, seconds in run:
        watching.started(case)
        clock.now += seconds
        left -= seconds
        tally = TextRead(1, SIZES[str(case.corpus)], "0") if benchmarks()[case.benchmark].whole_text else None
        hearing.forget()
        watching.finished(CaseResult(case, "ok", tally=tally))
        ratios.append((1 - left / whole, None if hearing.said is None else hearing.said / left))
    return ratios


@pytest.mark.parametrize("busy", [0.3, 1.0, 10.0])
def test_what_is_said_of_a_measured_run_is_true_within_a_half(monkeypatch: pytest.MonkeyPatch, busy: float) -> None:
    """However fast the machine is: the finished cases tell."""
    ratios = replayed([(case, busy * seconds) for case, seconds in measured()], Clock(monkeypatch))
    said = [ratio for share, ratio in ratios if ratio is not None]
    assert all(0.5 < ratio < 1.5 for ratio in said)
    first = next(share for share, ratio in ratios if ratio is not None)
    assert 0.05 < first < 0.2, "not of the quickest row alone, and not in the end"
    assert ratios[-1][1] is None, "nothing is left"


def test_a_benchmark_without_a_pace_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, hearing = Clock(monkeypatch), Hearing()
    known = [Case("compression", str(row), "a") for row in range(9)]
    unknown = [Case("training", str(row), None) for row in range(3)]
    assert foretold(unknown[0], {}) is None
    watching = TimeLeft(hearing, [*known, *unknown])
    for case in [*known, unknown[0]]:
        assert hearing.said is None
        watching.started(case)
        clock.now += 10 if case in unknown else 1
        watching.finished(CaseResult(case, "ok"))
    assert hearing.said == 20


def test_what_is_measured_side_by_side_takes_as_much_less(monkeypatch: pytest.MonkeyPatch) -> None:
    said = []
    for side_by_side in (1, 2):
        clock, hearing = Clock(monkeypatch), Hearing()
        cases = [Case("compression", str(row), "a") for row in range(4)]
        watching = TimeLeft(hearing, cases, side_by_side)
        watching.started(cases[0])
        clock.now += 3
        watching.finished(CaseResult(cases[0], "ok"))
        said.append(hearing.said)
    assert said == [pytest.approx(9), pytest.approx(4.5)]


def test_rounds_and_bytes_are_counted() -> None:
    (compression,) = COMPRESSION
    assert compression.pace is not None
    text, parameters = {"a": 3_000_000}, {"threads": 1, "bytes": 1_000_000}
    pace = benchmarks()["throughput"].pace
    assert pace is not None
    once = pace.seconds + pace.per_megabyte
    assert foretold(Case("throughput", "x", "a", parameters), text) == pytest.approx(once)
    assert foretold(Case("throughput", "x", "a", parameters | {"rounds": 7}), text) == pytest.approx(7 * once)
    whole = compression.pace.seconds + 3 * compression.pace.per_megabyte
    assert foretold(Case("compression", "x", "a"), text) == pytest.approx(whole)
    assert Pace(1.0).per_megabyte == 0


@pytest.mark.parametrize(
    ("seconds", "words"), [(0, "10 s"), (14, "10 s"), (86, "90 s"), (100, "2 min"), (5000, "83 min"), (9000, "2.5 h")]
)
def test_rough_times_in_words(seconds: float, words: str) -> None:
    assert in_words(seconds) == words


def test_a_log_says_it_now_and_then(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    clock, lines = Clock(monkeypatch), progress.Lines()
    lines.begin(4)
    for row in range(4):
        case = Case("compression", f"r{row}", "a")
        lines.started(case)
        clock.now += 16
        if row < 3:
            lines.remaining(200 - 16 * row)
        lines.finished(CaseResult(case, "ok"))
    assert capsys.readouterr().err.splitlines() == [
        "[  1/4]   16.0 s  compression  r0  a  (about 3 min left)",
        "[  2/4]   16.0 s  compression  r1  a",
        "[  3/4]   16.0 s  compression  r2  a  (about 3 min left)",
        "[  4/4]   16.0 s  compression  r3  a",
    ]


def test_a_terminal_shows_it_before_the_name() -> None:
    column = TextColumn("{task.description}", markup=False)
    with Progress(column, console=Console(file=io.StringIO())) as bar:
        shown = progress.Bar(bar)
        shown.begin(3)
        for seconds, said in ((None, ""), (45, "about 40 s left  "), (700, "about 12 min left  ")):
            if seconds is not None:
                shown.remaining(seconds)
            shown.started(Case("load", "x", None))
            assert column.render(bar.tasks[0]).plain == f"{said}load  x"
            shown.progress(Case("load", "x", None), 2_000_000)
            assert column.render(bar.tasks[0]).plain == f"{said}load  x  2.0 MB"


def test_the_pace_of_a_benchmark_is_above_nothing() -> None:
    for benchmark in benchmarks().values():
        assert benchmark.pace is None or (benchmark.pace.seconds > 0 <= benchmark.pace.per_megabyte)
    assert time_left.LEAST_SHARE < 0.5

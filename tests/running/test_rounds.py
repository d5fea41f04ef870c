"""Rows that take turns: the order, what a crash costs, what a resumed run keeps, and ratios with their intervals."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import pyharness
from pyharness import report, store, suite
from pyharness.benchmarks import benchmarks
from pyharness.cli import progress
from pyharness.commands import session
from pyharness.running import runner
from pyharness.running.schedule import Rotation, Turn, rotations
from pyharness.statistics.rounds import mean_ratio, turns
from pyharness.types import Case, CaseResult, Failure, InputError, Measurement, TextRead

ROWS = ("a", "b", "c")
READ = TextRead(1, 1, "0" * 32)


def rotation(rounds: int) -> Rotation:
    (found,) = rotations(Case("throughput", row, "text", {"bytes": 9, "rounds": rounds}) for row in ROWS)
    return found


class Bench:
    """Measures nothing: remembers who was asked, and fails whom it is told to."""

    def __init__(self, failing: dict[str, int] | None = None, others: dict[str, int] | None = None) -> None:
        self.asked: list[tuple[str, int]] = []
        self.failing, self.others = failing or {}, others or {}

    def __call__(self, case: Case, number: int) -> Turn:
        self.asked.append((case.tokenizer, number))
        if self.failing.get(case.tokenizer) == number:
            return Turn(CaseResult(case, "failed", "it died", failure=Failure.CRASH))
        value = float(1 + number + 10 * ROWS.index(case.tokenizer))
        measurements = (Measurement("encode_bytes_per_second", value, part="steady", samples=(value, value)),)
        fingerprint = "other" if self.others.get(case.tokenizer) == number else "ids"
        return Turn(CaseResult(case, "ok", None, measurements, {"number": number}, tally=READ), fingerprint)


def test_all_rows_take_a_turn_in_every_round_in_balanced_order() -> None:
    bench, going = Bench(), rotation(4)
    results = going.run(bench, {})
    assert bench.asked == [(ROWS[index], number) for number in range(4) for index in turns(3, number)]
    for index, result in enumerate(results):
        (one,) = result.measurements
        assert one.samples == tuple(float(1 + number + 10 * index) for number in range(4)), "one figure per round"
        assert one.value == 2.5 + 10 * index
        assert result.details == {"rounds": [{"number": number} for number in range(4)]}
        assert result.tally == READ


def test_a_row_that_fails_costs_itself_alone() -> None:
    bench = Bench({"b": 1})
    results = rotation(5).run(bench, {})
    assert [result.status for result in results] == ["ok", "failed", "ok"]
    assert results[1].reason == "round 2: it died"
    assert not results[1].measurements
    assert [number for row, number in bench.asked if row == "b"] == [0, 1]
    assert [len(result.measurements[0].samples) for result in (results[0], results[2])] == [5, 5]


def test_other_ids_in_one_round_leave_no_number() -> None:
    (first, second, _) = rotation(3).run(Bench(others={"b": 2}), {})
    assert (second.status, second.failure, second.measurements) == ("failed", Failure.WRONG, ())
    assert "round 3 gave different ids" in str(second.reason)
    assert first.status == "ok"


def test_a_row_that_gives_other_ids_takes_no_further_turn() -> None:
    bench = Bench(others={"b": 1})
    results = rotation(5).run(bench, {})
    assert [number for row, number in bench.asked if row == "b"] == [0, 1]
    assert [result.status for result in results] == ["ok", "failed", "ok"]
    assert "round 2 gave different ids" in str(results[1].reason)
    assert [len(result.measurements[0].samples) for result in (results[0], results[2])] == [5, 5]


def test_rounds_that_measure_different_things_leave_no_number() -> None:
    bench = Bench()

    def take(case: Case, number: int) -> Turn:
        turn = bench(case, number)
        if (case.tokenizer, number) != ("b", 1):
            return turn
        more = (*turn.result.measurements, Measurement("decode_bytes_per_second", 1.0))
        return replace(turn, result=replace(turn.result, measurements=more))

    (first, second, _) = rotation(3).run(take, {})
    assert (first.status, second.status, second.failure) == ("ok", "failed", Failure.WRONG)
    assert "round 2 gave other measurements" in str(second.reason)


@pytest.mark.parametrize("value", [0.0, None])
def test_there_is_no_ratio_to_nothing(value: float | None) -> None:
    def take(case: Case, number: int) -> Turn:
        shown = value if case.tokenizer == "b" and number else 2.0
        reason = None if shown is not None else "unsupported"
        measurement = Measurement("encode_bytes_per_second", shown, reason=reason, part="steady")
        return Turn(CaseResult(case, "ok", None, (measurement,)))

    relative = benchmarks()["throughput"].relative
    assert relative is not None
    first, second, _ = rotation(2).run(take, {})
    (ratio,) = relative(first, second, "b")
    assert (ratio.value, ratio.part) == (None, "steady")
    assert "the reference 'b'" in str(ratio.reason)
    assert relative(first, None, "b")[0].value is None


@pytest.mark.parametrize("interrupted_at", range(13))
def test_whole_rounds_are_kept_and_a_begun_one_is_measured_again(interrupted_at: int) -> None:
    class Stop(Exception):
        pass

    kept: dict[tuple[str, int], Turn] = {}
    bench = Bench({"b": 2})

    def take(case: Case, number: int) -> Turn:
        if len(kept) == interrupted_at:
            raise Stop
        kept[case.key, number] = bench(case, number)
        return kept[case.key, number]

    try:
        rotation(4).run(take, {})
    except Stop:
        again = Bench({"b": 2})
        results = rotation(4).run(again, kept)
        assert len(again.asked) == 11 - min(interrupted_at // 3 * 3, 9), "rounds of 3, 3, 3 and 2 turns"
    else:
        results = rotation(4).run(Bench(), kept)
    assert results == rotation(4).run(Bench({"b": 2}), {})


def test_rounds_end_where_no_row_is_left() -> None:
    results = rotation(10**17).run(Bench(dict.fromkeys(ROWS, 0)), {})
    assert [result.status for result in results] == ["failed"] * 3


def test_rows_that_differ_in_more_than_their_name_are_no_rotation() -> None:
    cases = [Case("throughput", row, text, {"rounds": 2}) for text in ("x", "y") for row in "ab"]
    assert [[case.corpus for case in found.cases] for found in rotations(cases)] == [["x", "x"], ["y", "y"]]


# ---------------------------------------------------------------------------------------------- real runs


ENTRIES = """
tokenizers = ["raw_bytes", { name = "again", spec = "raw_bytes" }]
corpora = ["sample:code"]
benchmarks = [{ name = "throughput", threads = 1, rounds = 2, reference = "raw_bytes" }]
"""


def write(path: Path, text: str = ENTRIES) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_speeds_are_ratios_of_rounds_with_an_interval(tmp_path: Path) -> None:
    run = pyharness.run(suite_name=write(tmp_path / "s.toml"), output=tmp_path / "r.json")
    home, again = run.record.of("throughput")
    by_metric = {one.metric: one for one in again.measurements if one.part == "steady"}
    ratio = by_metric["encode_speed_ratio"]
    assert ratio.paired
    assert len(ratio.samples) == 2
    steady = ("encode_bytes_per_second", "steady")
    mine, theirs = (
        next(one.samples for one in result.measurements if (one.metric, one.part) == steady) for result in (again, home)
    )
    assert ratio.samples == tuple(a / b for a, b in zip(mine, theirs, strict=True))
    assert ratio.value == mean_ratio(ratio.samples)
    assert next(one.value for one in home.measurements if one.metric == "encode_speed_ratio") == 1.0
    schema = json.loads(store.SCHEMA_FILE.read_text(encoding="utf-8"))
    jsonschema.validate(json.loads((tmp_path / "r.json").read_text(encoding="utf-8")), schema)
    assert pyharness.read(tmp_path / "r.json").record.results == run.record.results
    frame = run.to_dataframe()
    chosen = frame[(frame.metric == "encode_speed_ratio") & (frame.tokenizer == "again") & (frame.part == "steady")]
    assert float(chosen.low.iloc[0]) <= ratio.value <= float(chosen.high.iloc[0])


def test_a_resumed_run_keeps_the_rounds_it_has(tmp_path: Path) -> None:
    plan = suite.plan(suite.read(write(tmp_path / "s.toml")))
    output = tmp_path / "r" / "record.json"

    class Stopping(session.SilentListener):
        def __init__(self, after: int) -> None:
            self.left, self.seen = after, list[str]()

        def started(self, case: Case) -> None:
            if case.benchmark == "throughput":
                if not self.left:
                    raise KeyboardInterrupt
                self.left -= 1
                self.seen.append(case.tokenizer)

    first = Stopping(3)  # one round, and one turn of the second
    with pytest.raises(KeyboardInterrupt):
        runner.run(plan, store.Journal(output), first)
    entries = [json.loads(line) for line in Path(f"{output}.journal").read_text(encoding="utf-8").splitlines()]
    turns_kept = {
        (entry["result"]["tokenizer"], entry["round"]): entry["result"] for entry in entries if "round" in entry
    }
    assert len(turns_kept) == 3
    second = Stopping(9)
    record = runner.run(plan, store.Journal(output, resume=True), second, resume=True)
    assert second.seen == ["again", "raw_bytes"], "the second round, whole and in its order"
    for result in record.of("throughput"):
        kept = turns_kept[result.case.tokenizer, 0]["measurements"]
        speeds = [one for one in result.measurements if one.metric == "encode_bytes_per_second"]
        values = [one["value"] for one in kept if one["metric"] == "encode_bytes_per_second"]
        assert [one.samples[0] for one in speeds] == values


@pytest.mark.usefixtures("doubles")
def test_a_reference_that_failed_is_named_below_the_table_with_its_reason() -> None:
    selection: dict[str, Any] = {"name": "throughput", "threads": 1, "rounds": 2, "reference": "lying"}
    run = pyharness.run(["home", "lying"], ["sample:code"], [selection])
    _, bad = run.record.of("throughput")
    sheets = report.sheets(run.record)
    (speeds,) = (sheet for sheet in sheets if sheet.title.startswith("Throughput"))
    assert [note for note in speeds.notes if note.startswith("No ratio")] == [
        f"No ratio: the reference 'lying' has no number (failed: {bad.reason})."
    ]
    assert not any("relative" in sheet.title for sheet in sheets)


@pytest.mark.usefixtures("doubles")
@pytest.mark.parametrize(("row", "says"), [("lying", "round 1: wrong ids"), ("wrong", "integrity check")])
def test_wrong_rows_get_no_number_and_take_nobody_along(row: str, says: str) -> None:
    selection: dict[str, Any] = {"name": "throughput", "threads": 1, "rounds": 2, "reference": "home"}
    run = pyharness.run(["home", row], ["sample:code"], [selection])
    home, bad = run.record.of("throughput")
    assert home.status == "ok"
    assert bad.status == "failed"
    assert says.removeprefix("round 1: ") in str(bad.reason)
    assert not bad.measurements


def test_without_a_reference_there_is_no_ratio_and_without_rounds_no_reference() -> None:
    run = pyharness.run(["raw_bytes"], ["sample:code"], [{"name": "throughput", "threads": 1, "rounds": 1}])
    (result,) = run.record.of("throughput")
    assert not any(one.paired for one in result.measurements)
    assert result.case.key.endswith("bytes=2000000,rounds=1,threads=1")
    with pytest.raises(InputError, match=r"reference = 'raw_bytes' takes rounds"):
        pyharness.run(["raw_bytes"], ["sample:code"], [{"name": "throughput", "reference": "raw_bytes"}])
    with pytest.raises(InputError, match=r"unknown reference 'raw_byte'; did you mean 'raw_bytes'\?"):
        pyharness.run(["raw_bytes"], ["sample:code"], [{"name": "latency", "reference": "raw_byte", "rounds": 2}])


def test_keys_of_cases_without_rounds_are_what_they_were() -> None:
    names = ["throughput", "latency", "training"]
    plan = suite.plan(suite.declare(["raw_bytes"], ["sample"], [{"name": name} for name in names]))
    keys = {case.benchmark: case.key for case in plan.cases}
    assert keys["throughput"].startswith("throughput | raw_bytes | sample | bytes=2000000,threads=")
    assert keys["latency"] == "latency | raw_bytes | sample"
    assert keys["training"].startswith("training | raw_bytes | repetitions=3,threads=")


def test_the_log_says_how_long_all_turns_of_a_case_took(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = iter([0.0, 2.0, 5.0, 9.0, 14.0, 14.0])
    monkeypatch.setattr("pyharness.cli.progress.time.monotonic", lambda: next(now))
    cases = [Case("throughput", row, "text", {"rounds": 2}) for row in "ab"]
    lines = progress.Lines()
    lines.begin(2)
    for index in (0, 1, 1, 0):
        lines.started(cases[index])
    for case in cases:
        lines.finished(CaseResult(case, "ok"))
    said = capsys.readouterr().err.splitlines()
    assert [line.split()[2:4] for line in said] == [["7.0", "s"], ["7.0", "s"]], said


def test_the_log_says_how_long_cases_side_by_side_took(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = iter([0.0, 1.0, 5.0, 7.0])
    monkeypatch.setattr("pyharness.cli.progress.time.monotonic", lambda: next(now))
    cases = [Case("compression", row, "text") for row in "ab"]
    lines = progress.Lines()
    lines.begin(2)
    for case in cases:
        lines.started(case)
    for case in cases:
        lines.finished(CaseResult(case, "ok"))
    said = capsys.readouterr().err.splitlines()
    assert [line.split()[2:4] for line in said] == [["5.0", "s"], ["6.0", "s"]], said

"""Profiles: verify, take turns, record; what breaks down costs itself only."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from cases.fake_device import GB, RULE, FakeDevice
from pyharness import report, store
from pyharness.features.profiling.cases import as_data, as_record
from pyharness.features.profiling.plan import plan
from pyharness.features.profiling.record import COPY, OURS, READ, Missing, ProfileRecord
from pyharness.features.profiling.report import profile_sheets, profile_sheets_of
from pyharness.features.profiling.session import launch_once, run
from pyharness.features.profiling.types import Axis, Floor, Moving, Peer, Problem, Profile, Task
from pyharness.types import InputError


def agrees(found: Any, ours: Any) -> str | None:
    return None if found >= ours else f"{found} is below {ours}"


def profile_of(ours: Callable[[], Any], *peers: Peer, check: Callable[[Any], str | None] = lambda _: None) -> Profile:
    def prepare(problem: Problem) -> Task:
        return Task(problem, "made up", ours, check, peers, lambda _: Floor(GB // 2, GB, 0, 1000))

    return Profile(
        "fake",
        "a fake",
        (Axis("ROWS"), Axis("V")),
        ("fp32", "fp16"),
        ("fp32",),
        {"cpu": ((2, 3),), "cuda": ((4, 5),)},
        lambda problem: Floor(GB, 0, 0, problem.shape[0]),
        lambda problem: 8 * problem.shape[0],
        prepare,
        tuple(peer.name for peer in peers),
    )


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> Callable[[Profile], None]:
    def put(profile: Profile) -> None:
        monkeypatch.setattr("pyharness.features.profiling.plan.profiles", lambda: {"fake": profile})

    return put


def measured(profile: Profile, device: FakeDevice, known: Callable[[Profile], None], **options: Any) -> ProfileRecord:
    known(profile)
    return run(plan("fake", threads=1, **options), device, RULE, lambda line: None, lambda record: None)


def test_peers_are_verified_before_anything_is_timed(known: Callable[[Profile], None]) -> None:
    def broken() -> Callable[[], Any]:
        raise ImportError("No module named 'peer'")

    profile = profile_of(
        lambda: 0.2,
        Peer("slow", "twice as slow", lambda: lambda: 0.4, 0, agrees),
        Peer("wrong", "wrong", lambda: lambda: 0.1, 0, agrees),
        Peer("absent", "absent", broken, 0, agrees),
        Peer("large", "large", lambda: lambda: 0.4, 11 * GB, agrees),
    )
    record = measured(profile, FakeDevice(free=10 * GB), known)
    (outcome,) = record.outcomes
    assert not record.failed
    assert outcome.missing == {
        "wrong": Missing("failed", "Mismatch: another result: 0.1 is below 0.2"),
        "absent": Missing("failed", "ImportError: No module named 'peer'"),
        "large": Missing("skipped", "needs 11 GB more, 10 GB are free"),
    }
    assert {phase: set(lanes) for phase, lanes in outcome.samples.items()} == {
        "cold": {OURS, "slow", COPY},
        "warm": {OURS, "slow", COPY},
    }


def test_figures_are_those_of_the_samples(known: Callable[[Profile], None]) -> None:
    profile = profile_of(lambda: 0.2, Peer("slow", "", lambda: lambda: 0.4, 0, agrees))
    record = measured(profile, FakeDevice(), known)
    figures = record.outcomes[0].figures("warm", "slow")
    assert figures is not None
    assert figures.median_seconds == figures.p5_seconds == figures.p95_seconds == 0.4
    assert figures.bytes_per_second == pytest.approx(GB / 2 / 0.4)
    assert figures.copy_share == pytest.approx((GB / 2 / 0.4) / (GB / 0.1))
    assert figures.tokens_per_second == pytest.approx(2500)
    assert figures.times_ours == pytest.approx(2.0)
    assert record.matrix["fp32"].rate == pytest.approx(1e12)
    copy = record.outcomes[0].figures("warm", COPY)
    assert copy is not None
    assert copy.copy_share == pytest.approx(1.0)
    assert copy.times_ours is None


def test_a_kernel_that_only_reads_is_held_against_a_read(known: Callable[[Profile], None]) -> None:
    device = FakeDevice()
    device.reads = device.has_host_clock = True
    profile = replace(profile_of(lambda: 0.2, Peer("slow", "", lambda: lambda: 0.4, 0, agrees)), only_reads=True)
    record = measured(profile, device, known)
    (outcome,) = record.outcomes
    ours, slow, read = (outcome.figures("warm", name) for name in (OURS, "slow", READ))
    assert ours is not None
    assert slow is not None
    assert read is not None
    assert ours.read_share == pytest.approx((GB / 2 / 0.2) / (GB / 0.05))
    assert ours.copy_share == pytest.approx((GB / 2 / 0.2) / (GB / 0.1))
    assert (ours.host_seconds, slow.times_ours, read.times_ours) == (1e-5, 2.0, None)
    assert read.copy_share == pytest.approx(2.0)
    bound = outcome.bound("warm", None)
    assert bound is not None
    assert bound.roof == "read"
    assert bound.seconds == pytest.approx(0.025)
    data = as_data(record)
    assert set(data["metrics"]) >= {"read_share", "host_seconds"}
    assert set(data["tokenizers"]) == {OURS, COPY, READ, "slow"}
    text = report.to_text(profile_sheets(record), width=200)
    warm, cold = (next(sheet for sheet in profile_sheets(record) if phase in sheet.title) for phase in ("warm", "cold"))
    assert {"read %", "host ms"} <= set(warm.columns)
    assert "host ms" not in cold.columns
    assert re.search(r"copy 10 GB/s, read 20 GB/s.*; read binds", text)
    assert report.to_text(profile_sheets_of(as_record(record)), width=200) == text


def test_a_record_from_before_there_was_a_read_is_opened(known: Callable[[Profile], None]) -> None:
    record = measured(profile_of(lambda: 0.2), FakeDevice(), known)
    data = json.loads(json.dumps(as_data(record)))
    for problem in data["profile"]["problems"]:
        del problem["read_bytes"], problem["variant"]
    for roof in data["profile"]["matrix"].values():
        del roof["host_seconds"]
    old = profile_sheets_of(store.Record.from_json(data, "old"))
    assert report.to_text(old) == report.to_text(profile_sheets(record))


def test_variants_are_problems_of_their_own(known: Callable[[Profile], None]) -> None:
    profile = replace(profile_of(lambda: 0.2), variants=("upright", "sideways"))
    record = measured(profile, FakeDevice(), known, variants=["sideways", "upright"])
    assert [outcome.problem.label for outcome in record.outcomes] == ["2x3 fp32, sideways", "2x3 fp32, upright"]
    sheets = profile_sheets_of(as_record(record))
    assert [sheet.title for sheet in sheets[:2]] == ["fake 2x3 fp32, sideways, cold (cpu, threads: 1)",
                                                    "fake 2x3 fp32, sideways, warm (cpu, threads: 1)"]  # fmt: skip


def test_a_run_that_is_cut_off_has_left_what_it_had_finished(known: Callable[[Profile], None]) -> None:
    def ours() -> float:
        calls.append(1)
        if len(kept) == 1:
            raise KeyboardInterrupt
        return 0.2

    calls: list[int] = []
    kept: list[ProfileRecord] = []
    known(profile_of(ours))
    wanted = plan("fake", shapes=["2x3", "4x5"], threads=1)
    with pytest.raises(KeyboardInterrupt):
        run(wanted, FakeDevice(), RULE, lambda line: None, kept.append)
    record = as_record(kept[0])
    assert [problem["shape"] for problem in record.data["profile"]["problems"]] == [[2, 3]]
    assert record.data["complete"] is False
    (bound,) = (
        one
        for result in record.results
        for one in result.measurements
        if one.metric == "bound_seconds" and result.case.parameters["phase"] == "warm"
    )
    assert (bound.value or 0) > 0
    assert kept[0].matrix["fp32"].rate == pytest.approx(1e12)


def test_a_device_too_full_for_the_copy_is_one_error(known: Callable[[Profile], None]) -> None:
    class Full(FakeDevice):
        def copying(self) -> Moving:
            raise MemoryError("Out of memory allocating 1,073,741,824 bytes")

    with pytest.raises(
        InputError, match=r"memory on the cpu.*copy.*MemoryError: Out of memory allocating 1,073,741,824"
    ):
        measured(profile_of(lambda: 0.2), Full(), known)


def test_floors_of_a_gpu_are_shown_only_where_there_is_none(
    known: Callable[[Profile], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    for reason, floors in ((None, 0), ("no driver", 1)):
        monkeypatch.setattr("pyharness.features.profiling.session.cuda_reason", lambda reason=reason: reason)
        record = measured(profile_of(lambda: 0.2), FakeDevice(), known)
        assert len(record.unmeasured) == floors
        assert ("No GPU: no driver." in report.to_text(profile_sheets(record))) is bool(floors)


def test_a_wrong_result_of_ours_gets_no_number_and_gives_none(known: Callable[[Profile], None]) -> None:
    profile = profile_of(
        lambda: 0.2, Peer("slow", "", lambda: lambda: 0.4, 0, agrees), check=lambda _: "row 0: 1, ours 2"
    )
    record = measured(profile, FakeDevice(), known)
    assert record.failed
    assert record.outcomes[0].samples == {}
    assert record.outcomes[0].reason == "Mismatch: nothing was timed: row 0: 1, ours 2"
    assert "row 0: 1, ours 2" in report.to_text(profile_sheets(record), width=200)


def test_a_problem_that_breaks_down_costs_itself_only(known: Callable[[Profile], None]) -> None:
    def ours() -> float:
        calls.append(1)
        if len(calls) == 1:
            raise MemoryError("needs 5 GB")
        return 0.2

    calls: list[int] = []
    record = measured(profile_of(ours), FakeDevice(), known, dtypes=["fp32", "fp16"])
    assert [outcome.status for outcome in record.outcomes] == ["failed", "ok"]
    assert record.outcomes[0].reason == "MemoryError: needs 5 GB"
    assert record.matrix["fp16"].rate is None
    assert record.matrix["fp16"].samples.reason == "Unsupported: no fp16 here"


def test_a_record_is_json_and_shows_itself(known: Callable[[Profile], None]) -> None:
    profile = profile_of(lambda: 0.2, Peer("slow", "as slow as that", lambda: lambda: 0.4, 0, agrees))
    record = measured(profile, FakeDevice(), known)
    data = json.loads(json.dumps(as_data(record), allow_nan=False))
    assert (data["kind"], data["schema"], data["complete"]) == ("pyharness-profile", 2, True)
    measured_of = {
        (one["tokenizer"], one["parameters"]["phase"]): {m["metric"]: m for m in one["measurements"]}
        for one in data["results"]
    }
    figures = record.outcomes[0].figures("warm", OURS)
    assert figures is not None
    assert len(measured_of[OURS, "warm"]["call_seconds"]["samples"]) == figures.samples >= 3
    assert measured_of[COPY, "cold"]["floor_bytes_per_second"]["value"] == pytest.approx(10 * GB)
    assert data["profile"]["not_measured"]["problems"][0]["shape"] == [4, 5]
    text = report.to_text(profile_sheets(record), width=100)
    assert "fake 2x3 fp32, cold" in text
    assert "as slow as that" in text
    assert "not measured" in text
    assert max(map(len, report.to_text(profile_sheets(record)).splitlines())) <= 80


def test_once_is_one_launch_and_nothing_else(known: Callable[[Profile], None]) -> None:
    calls: list[str] = []
    peer = Peer("peer", "", lambda: lambda: calls.append("peer"), 0, agrees)
    known(profile_of(lambda: calls.append("ours"), peer))
    said: list[str] = []
    device = FakeDevice()
    assert launch_once(plan("fake", shapes=["2x3", "4x5"], threads=1), device, said.append)
    assert calls == ["ours", "ours"]
    assert said == ["launched once: fake 2x3 fp32", "launched once: fake 4x5 fp32"]
    assert device.log == ["data", "reclaim", "once"] * 2


def test_a_launch_that_fails_is_said(known: Callable[[Profile], None]) -> None:
    known(profile_of(lambda: 1 / 0))
    said: list[str] = []
    assert not launch_once(plan("fake", threads=1), FakeDevice(), said.append)
    assert said == ["failed: fake 2x3 fp32: ZeroDivisionError: division by zero"]


def test_phases_are_marked_never_calls(known: Callable[[Profile], None]) -> None:
    device = FakeDevice()
    measured(profile_of(lambda: 0.2), device, known)
    marks = Counter(mark for mark in device.log if mark != "reclaim")
    assert marks == {"data": 1, "verify": 1, "cold": 1, "warm": 1}

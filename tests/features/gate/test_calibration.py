"""What a machine can tell apart: counted, resampled, kept, and a finer budget refused."""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from gating.launches import benchmark, launch
from pyharness.features.gate.calibration import Draws, calibrated, check_budget, keep, kept, machine, place
from pyharness.features.gate.types import Calibration, Gate, GateBenchmark, GateRules, GateVerdict, Rounds, SelfTest
from pyharness.features.gate.verdicts.effects import LaunchEffect
from pyharness.features.gate.verdicts.hypotheses import rate_bound
from pyharness.features.gate.verdicts.judgements import escalated, judge
from pyharness.types import InputError

RULES = GateRules(budget=0.02, launches=5)
SUITE = (benchmark("quiet"), benchmark("noisy"), benchmark("middling"))
NOISE = {"quiet": 0.003, "noisy": 0.03, "middling": 0.008}


def gate(number: int, planted: Mapping[str, float] | None = None, suite: tuple[GateBenchmark, ...] = SUITE) -> Gate:
    """One gate as a machine with this noise would give it."""
    generator = random.Random(number)

    def launched(name: str, place: int) -> Rounds:
        slower = math.log1p((planted or {}).get(name, 0.0))
        return launch(name, place, generator.gauss(slower, NOISE[name]), noise=0.002)

    rounds = [launched(one.name, 0) for one in suite]
    more = escalated(rounds, suite, RULES)
    rounds += [launched(name, place) for place in range(1, RULES.launches + 1) for name in more]
    judgements = judge(suite, rounds, RULES)
    return Gate(
        "short", RULES, {}, suite, (), tuple(rounds), judgements, SelfTest(()), GateVerdict.PASS,
        about={"suite_digest": "abc"},
    )  # fmt: skip


@pytest.fixture(scope="module")
def calibration() -> Calibration:
    slowed = [(gate(100 + number, {"quiet": 0.05}), {"quiet": 0.05}) for number in range(8)]
    return calibrated({"cpu": "made up"}, [gate(number) for number in range(24)], slowed, made="2026-01-01")


def test_unchanged_comparisons_are_counted(calibration: Calibration) -> None:
    assert (calibration.gates, calibration.comparisons) == (32, 24 * 3 + 8 * 2)
    assert calibration.alarms == 0
    assert calibration.bound == rate_bound(0, 88)


def test_controls_count_as_nothing() -> None:
    suite = (*SUITE[:2], benchmark("middling", "tiktoken"))
    found = calibrated({}, [gate(number, suite=suite) for number in range(8)], under_test="pyharness")
    assert found.comparisons == 16
    assert [one.benchmark for one in found.benchmarks] == ["quiet", "noisy"]


def test_drawn_gates_make_no_launches_that_their_screen_does_not_ask_for() -> None:
    quiet = LaunchEffect(0.0, 0.0, None)
    late = LaunchEffect(0.05, 0.0, None)
    one = benchmark("quiet")
    (found,) = Draws({"quiet": one}, RULES, [{"quiet": [quiet, *[late] * 5]}]).verdicts("quiet", 0.0)
    assert (found.verdict, found.launches) == (GateVerdict.PASS, 0)


def test_alarms_are_counted() -> None:
    found = calibrated({}, [gate(number, {"quiet": 0.1}) for number in range(3)])  # nobody said that it was planted
    assert (found.comparisons, found.alarms) == (9, 3)


def test_noise_is_that_of_the_launches(calibration: Calibration) -> None:
    for one in calibration.benchmarks:
        assert one.noise == pytest.approx(NOISE[one.benchmark], rel=0.35)
        assert one.launches >= 24


def test_what_is_noisier_is_detected_later(calibration: Calibration) -> None:
    found = {one.benchmark: one.detectable or 0 for one in calibration.benchmarks}
    assert 0.005 < found["quiet"] < found["middling"] < found["noisy"]
    assert found["quiet"] < 0.02


def test_detectable_slowdowns_are_detected(calibration: Calibration) -> None:
    """Refutes the resampling: gates that are drawn anew, not from the launches that it drew from."""
    for one in calibration.benchmarks:
        assert one.detectable is not None
        suite = tuple(replace(other, budget=one.detectable) for other in SUITE)
        gates = [gate(1000 + number, {one.benchmark: one.detectable}, suite) for number in range(60)]
        found = [next(own for own in each.judgements if own.benchmark == one.benchmark) for each in gates]
        proven = sum(own.p is not None and own.p < 0.05 and (own.effect or 0) > 0 for own in found)
        assert 0.6 < proven / len(found) <= 0.97


def test_planted_slowdowns_stand_beside_what_was_expected(calibration: Calibration) -> None:
    (planted,) = calibration.planted
    assert (planted.slowdown, planted.count, planted.found) == (0.05, 8, 8)
    assert planted.expected is not None
    assert planted.expected > 0.9


def test_few_launches_have_no_detectable_slowdown() -> None:
    found = calibrated({}, [gate(1, suite=SUITE[:1])])
    assert (found.benchmarks[0].noise, found.benchmarks[0].detectable) == (None, None)
    check_budget(found, 0.001, SUITE)  # nothing is known, nothing refused


def test_nothing_compared_is_refused() -> None:
    with pytest.raises(InputError, match=r"compared.*calibrate"):
        calibrated({}, [])


def test_a_budget_that_is_too_fine_is_refused_with_the_figure(calibration: Calibration) -> None:
    check_budget(calibration, 0.3, SUITE)
    with pytest.raises(InputError) as caught:
        check_budget(calibration, 0.005, SUITE)
    message = str(caught.value)
    assert message.index("noisy from ") < message.index("middling from ") < message.index("quiet from ")
    assert "(budget 0.5 %)" in message
    assert "\n" not in message
    assert re.search(r"; .*larger .*\(--budget.*calibrate again", message)
    with pytest.raises(InputError, match=r"quiet from .* \(budget 0.1 %\); .*larger"):
        check_budget(calibration, 0.3, [benchmark("quiet", budget=0.001)])


def test_it_is_kept_for_one_machine_and_suite(
    calibration: Calibration, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYHARNESS_CACHE", str(tmp_path))
    assert kept(calibration.machine, "abc") is None
    path = keep(calibration)
    assert path.is_relative_to(tmp_path)
    assert kept(calibration.machine, "abc") == calibration
    assert kept({"cpu": "another"}, "abc") is None
    assert kept(calibration.machine, "abd") is None
    keep(replace(calibration, alarms=1))
    assert (kept(calibration.machine, "abc") or calibration).alarms == 1


def test_a_machine_is_another_with_another_device_or_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program in the place of nvidia-smi says what there is; none, or one that fails, is no device."""
    program, places = tmp_path / "nvidia-smi", set[Path]()
    monkeypatch.setenv("PATH", str(tmp_path))
    alone = machine()
    assert "gpus" not in alone
    for said in ("A device, 580.1", "A device, 580.2", "Another, 580.2"):
        program.write_text(f"#!/bin/sh\necho '{said}'\n", encoding="utf-8")
        program.chmod(0o755)
        assert machine() == {**alone, "gpus": [said]}
        places.add(place(machine(), "abc"))
    assert len(places) == 3
    program.write_text("#!/bin/sh\necho broken; exit 9\n", encoding="utf-8")
    assert machine() == alone


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("kind", "else", "calibration .*version"),
        ("schema", 2, "calibration .*version"),
        ("alarms", "none", "calibration: .*'alarms'.*\"none\""),
        ("suite_digest", "abd", "another machine .*suite"),
        ("machine", {"cpu": "another"}, "another machine .*suite"),
    ],
)
def test_a_spoiled_file_is_named(
    calibration: Calibration, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str, value: object, message: str
) -> None:
    monkeypatch.setenv("PYHARNESS_CACHE", str(tmp_path))
    path = keep(calibration)
    path.write_text(json.dumps({**json.loads(path.read_text()), key: value}))
    with pytest.raises(InputError) as caught:
        kept(calibration.machine, "abc")
    assert re.search(rf"{re.escape(path.name)}.* {message}.*calibrate again", str(caught.value))


def test_a_cache_that_cannot_be_written_is_said(
    calibration: Calibration, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PYHARNESS_CACHE", str(tmp_path / "file"))
    with pytest.raises(InputError, match=r"calibration .*/file/.*PYHARNESS_CACHE"):
        keep(calibration)


def test_a_machine_is_what_does_not_change() -> None:
    assert machine() == machine()
    assert set(machine()) == {"machine", "cpu", "cores", "memory_bytes"}
    assert place(machine(), "a") != place(machine(), "b")

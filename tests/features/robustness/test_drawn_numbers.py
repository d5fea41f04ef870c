"""The benchmark numbers: draws, rows whose numbers are known, and what cannot be measured."""

from __future__ import annotations

import datetime as dt
import re
from pathlib import Path

import numpy as np
import pytest

from cases.command_line import call
from cutting.cutters import Cut, Cutter, after, every
from pyharness.benchmarks import Findings, Work, benchmarks
from pyharness.features.robustness.drawn_numbers import FORMS, LONGEST, PER_KIND, ideal_cut, whole_numbers, written
from pyharness.features.robustness.numbers import NumberCuts
from pyharness.tokenizers.segmenting import row_of_units
from pyharness.types import Case, InputError, Unsupported

BENCHMARK = benchmarks()["numbers"]


def run(cut: Cut, seed: int = 0, before: str = " ") -> Findings:
    row = row_of_units("made", lambda _: Cutter(cut), "here")
    case = Case("numbers", "made", None, {"seed": seed, "before": before})
    return BENCHMARK.run(Work(case, row, lambda: row.load(row), None, 1))


def values(findings: Findings) -> dict[str, float | None]:
    return {one.metric + (f" {one.part}" if one.part else ""): one.value for one in findings.measurements}


def by_rule(side: str) -> Cut:
    """Units of three digits from a side; whatever is no digit is a unit of its own."""

    def cut(data: bytes) -> list[int]:
        ends = set()
        for match in re.finditer(rb"[0-9]+|.", data):
            ideal = ideal_cut(len(match[0]), "right" if side == "right" else "left") if match[0].isdigit() else 0
            ends |= {match.end(), *(match.start() + place for place in range(1, 20) if ideal >> (place - 1) & 1)}
        return sorted(ends)

    return cut


def test_draws_have_their_lengths_and_change_with_the_seed() -> None:
    numbers = whole_numbers(0)
    assert numbers.shape == (LONGEST, PER_KIND)
    for digits, row in enumerate(numbers.tolist(), 1):
        assert {len(str(one)) for one in row} == {digits}
    first = np.array([int(str(one)[0]) for one in numbers[5].tolist()])
    assert np.abs(np.bincount(first, minlength=10)[1:] - PER_KIND / 9).max() < 6 * np.sqrt(PER_KIND / 9)
    assert (whole_numbers(0) == numbers).all()
    assert (whole_numbers(1) != numbers).mean() > 0.8


def test_decimals_and_dates_are_what_they_say() -> None:
    decimals = written("decimals", 0)
    assert all(re.fullmatch(r"(0|[1-9]\d{0,3})\.\d{1,4}", one) for one in decimals)
    assert {len(one.partition(".")[2]) for one in decimals} == {1, 2, 3, 4}
    days = [dt.date.fromisoformat(one) for one in written("ISO dates", 0)]
    assert (
        dt.date(1900, 1, 1) <= min(days) < dt.date(1910, 1, 1) < dt.date(2090, 1, 1) < max(days) < dt.date(2100, 1, 1)
    )
    assert all(re.fullmatch(r"\d\d/\d\d/\d{4}", one) for one in written("dates", 0))


@pytest.mark.parametrize("side", ["right", "left"])
def test_a_row_that_groups_by_three_has_one(side: str) -> None:
    numbers = values(run(by_rule(side)))
    assert [numbers[f"digit_group_{name} {side}"] for name in ("f1", "precision", "recall")] == [1, 1, 1]
    other = {"right": "left", "left": "right"}[side]
    assert numbers[f"digit_group_f1 {other}"] == 0.5  # lengths below 4, and multiples of 3
    assert numbers["number_split_entropy"] == 0
    assert {numbers[f"number_fields_aligned {form}"] for form in FORMS} == {1}


def test_single_digits_miss_no_group() -> None:
    numbers = values(run(every(1)))
    assert [numbers[f"digit_group_recall {side}"] for side in ("right", "left")] == [1, 1]
    assert numbers["tokens_per_digit"] == 1
    assert numbers["value_token_correlation"] == pytest.approx(0.9966, abs=1e-3)  # equal lengths tie
    assert numbers["whole_number_fields ISO dates"] == 0


def test_whole_numbers_are_one_token() -> None:
    findings = run(lambda data: [len(data)])
    numbers = values(findings)
    assert numbers["digit_group_f1 right"] == 3 / 12
    assert numbers["value_token_correlation"] is None
    assert [numbers[f"number_fields_aligned {form}"] for form in FORMS] == [0, 0, 0]


@pytest.mark.parametrize(("before", "share"), [(" ", 1), ("x", 0.5)])
def test_white_space_before_a_number_is_no_part_of_it(before: str, share: float) -> None:
    def around_points(data: bytes) -> list[int]:
        return sorted({place + step for place in [data.find(b".")] for step in (0, 1) if place > 0} | {len(data)})

    assert values(run(around_points, 0, before))["number_fields_aligned decimals"] == share
    behind_points = values(run(after(b"."), 0, before))
    assert behind_points["number_fields_aligned decimals"] == 0.5  # the first field shares its token with the point


def test_every_value_derives_again_and_has_a_reason_for_no_interval() -> None:
    findings = run(every(3), seed=5)
    assert BENCHMARK.rederive is not None
    again = BENCHMARK.rederive(findings.state, Case("numbers", "made", None, {"seed": 5}))
    assert again.measurements == findings.measurements
    assert {one.metric for one in findings.measurements} == set(BENCHMARK.metric_names)
    assert all(one.no_interval and not one.replicates for one in findings.measurements)


def test_a_mean_over_numbers_is_one_over_lengths() -> None:
    places = [[place for place in range(1, digits) if (1 + place) % 2 == 0] for digits in range(1, LONGEST + 1)]
    means = [sum(place % 3 == 0 for place in some) / len(some) if some else 1.0 for some in places]
    assert values(run(every(2)))["digit_group_precision left"] == pytest.approx(sum(means) / LONGEST)


def test_rows_that_do_not_spell_numbers_are_skipped() -> None:
    with pytest.raises(Unsupported, match=r"24,576 of 24,576.*numbers\?before='"):
        run(lambda _: None)
    with pytest.raises(Unsupported, match=r"such as '\d'$"):
        run(lambda _: None, before="")
    assert run(lambda _: [1]).status == "failed"


def test_damaged_states_are_refused() -> None:
    arrays = NumberCuts.of(Cutter(every(2)), 0, " ").arrays()
    for name in arrays:
        with pytest.raises(InputError):
            NumberCuts.of_arrays({**arrays, name: arrays[name][1:]})
    with pytest.raises(InputError):
        NumberCuts.of_arrays({**arrays, "number cuts": arrays["number cuts"] + 1})
    with pytest.raises(InputError):
        NumberCuts.of_arrays({**arrays, "number fields": arrays["number fields"] * 0})


def test_a_run_needs_no_text(tmp_path: Path) -> None:
    done = call("run", "-t", "raw_bytes", "-b", "numbers?seed=3", "-o", "r.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Entropy of cuts" in done.stdout
    assert call("report", "r.json", "--rederive", cwd=tmp_path).returncode == 0

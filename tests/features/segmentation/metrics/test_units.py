"""Lengths of units and what ends inside a character: against loops over the units of each text."""

from __future__ import annotations

import math
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyharness.features.segmentation.metrics.units import UnitCounts, UnitLengths, measure_lengths, unit_lengths
from pyharness.statistics.jackknife import GROUPS
from pyharness.types import InputError, Measurement, NotSpelled, Segments

Drawn = tuple[str, list[int] | None, int]

TEXT = st.text("ab é日🇪\u0301\n", max_size=30)


@st.composite
def cut_texts(draw: st.DrawFn) -> list[Drawn]:
    """Texts, where their units end, and their groups; some are spelled by nothing."""
    drawn = []
    for text in draw(st.lists(TEXT, max_size=12)):
        size = len(text.encode())
        ends = sorted(draw(st.sets(st.integers(1, max(size - 1, 1)), max_size=8)) | {size}) if size else []
        ends = [end for end in ends if end <= size]
        drawn.append((text, None if draw(st.integers(0, 5)) == 0 else ends, draw(st.integers(0, GROUPS - 1))))
    return drawn


def counted(drawn: list[Drawn]) -> UnitCounts:
    counts = UnitCounts()
    texts, ends, groups = [one[0] for one in drawn], [one[1] for one in drawn], [one[2] for one in drawn]
    opens = np.ones(len(texts), np.bool_)
    counts.update(texts, Segments.from_lists(ends), np.array(groups, np.uint8), opens)
    return counts


def reference(drawn: list[Drawn]) -> dict[str, float | None]:
    """Every figure from a list of the units of all texts."""
    units, inside = [], 0
    for text, ends, _ in drawn:
        data = text.encode()
        for start, end in zip([0, *(ends or [])], ends or [], strict=False):
            units.append(data[start:end])
            inside += end < len(data) and 0x80 <= data[end] < 0xC0
    if not units:
        return dict.fromkeys(
            ("bytes_per_unit", "unit_bytes_p50", "largest_unit", "units_ending_inside_characters"), None
        )
    sizes = sorted(map(len, units))
    return {
        "bytes_per_unit": sum(sizes) / len(sizes),
        "unit_bytes_deviation": statistics.pstdev(sizes),
        "unit_bytes_p50": next(size for size in sizes if sum(one <= size for one in sizes) >= len(sizes) / 2),
        "unit_bytes_p99": next(size for size in sizes if sum(one <= size for one in sizes) * 100 >= 99 * len(sizes)),
        "largest_unit": max(sizes),
        "units_per_1000_bytes": 1000 * len(sizes) / sum(sizes),
        "units_ending_inside_characters": inside / len(units),
    }


def values(measurements: list[Measurement]) -> dict[str, float | None]:
    return {one.metric: one.value for one in measurements}


@given(cut_texts())
def test_figures_are_those_of_a_list_of_units(drawn: list[Drawn]) -> None:
    found = values(counted(drawn).measurements())
    for name, value in reference(drawn).items():
        assert found[name] == (None if value is None else pytest.approx(value, rel=1e-12, abs=1e-12)), name


@given(cut_texts(), st.integers(0, 12))
def test_passes_merge_and_derive_again(drawn: list[Drawn], middle: int) -> None:
    whole, merged = counted(drawn), counted(drawn[:middle])
    merged.merge(counted(drawn[middle:]))
    assert merged.measurements() == whole.measurements()
    assert UnitCounts.of_arrays(whole.arrays()).measurements() == whole.measurements()


def test_replicates_are_the_figures_without_a_group() -> None:
    generator = np.random.default_rng(3)
    drawn: list[Drawn] = [
        ("x" * size, [*range(3, size, 3), size], group % GROUPS)
        for group, size in enumerate(generator.integers(2, 40, 128).tolist())
    ]
    every = {one.metric: one for one in counted(drawn).measurements()}
    for group in (0, 5, 31):
        without = values(counted([one for one in drawn if one[2] != group]).measurements())
        assert every["bytes_per_unit"].replicates[group] == pytest.approx(without["bytes_per_unit"], rel=1e-8)
    for name in every.keys() - {"bytes_per_unit", "digit_alignment", "digit_consistency"}:
        assert every[name].replicates == ()
        assert every[name].no_interval


def test_nothing_spelled_has_no_number() -> None:
    found = counted([("abc", None, 1), ("", [], 2)]).measurements()
    assert all(one.value is None and one.reason for one in found)
    assert counted([("abc", None, 1)]).state.counters["unspelled"].sum() == 1


def test_squares_beyond_64_bits_are_exact() -> None:
    lengths = UnitLengths.empty()
    lengths.add(np.array([1 << 32, 1 << 32, (1 << 32) + 2]), np.array([0, 1, 2]))
    deviation = values(measure_lengths(lengths, [0] * GROUPS, [0] * GROUPS))["unit_bytes_deviation"]
    assert deviation == pytest.approx(math.sqrt(8 / 9), rel=1e-12)


@pytest.mark.parametrize("ends", [[2, 2, 3], [3, 2], [1, 2], [4], [0, 3], [], [-1, 3]])
def test_units_that_are_not_the_text_are_refused(ends: list[int]) -> None:
    with pytest.raises(NotSpelled, match="3 bytes"):
        unit_lengths(Segments.from_lists([[1], ends, [2]]), np.array([1, 3, 2]))


def test_arrays_that_contradict_each_other_are_refused() -> None:
    arrays = counted([("abcd", [1, 4], 3)]).arrays()
    for name, array in (("unit lengths", [3, 1]), ("unit lengths", [0, 1]), ("unit counts", [1])):
        with pytest.raises(InputError):
            UnitCounts.of_arrays({**arrays, name: np.array(array)})


def test_short_and_long_units_are_counted_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(7)
    lengths, groups = generator.integers(1, 50, 1000), generator.integers(0, GROUPS, 1000)
    short, long = UnitLengths.empty(), UnitLengths.empty()
    short.add(lengths, groups)
    monkeypatch.setattr("pyharness.features.segmentation.metrics.units.SHORT", 0)
    long.add(lengths, groups)
    assert short.lengths.tolist() == long.lengths.tolist()
    assert short.counts.tolist() == long.counts.tolist()

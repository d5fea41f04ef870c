"""The benchmark segmentation: what it keeps, that passes merge, and what it fails for."""

from __future__ import annotations

import pytest

import pyharness
from cutting.cutters import Cut, Cutter, after, every
from pyharness import corpora, report, tokenizers
from pyharness.benchmarks import Findings, Work, benchmarks
from pyharness.features.segmentation.benchmark import SegmentationPass
from pyharness.tokenizers.segmenting import row_of_units, segmenter_of
from pyharness.types import Case, Tally

BENCHMARK = benchmarks()["segmentation"]
CASE = Case("segmentation", "made", "sample")


def run(cut: Cut, is_causal: bool = False) -> Findings:
    row = row_of_units("made", lambda _: Cutter(cut, is_causal), "here")
    return BENCHMARK.run(Work(CASE, row, lambda: row.load(row), corpora.open_corpus("sample"), 1))


def values(findings: Findings) -> dict[str, float | None]:
    return {one.metric + (f" {one.part}" if one.part else ""): one.value for one in findings.measurements}


def test_numbers_derive_again_from_what_is_kept() -> None:
    found = run(after(b" "), is_causal=True)
    assert found.status == "ok"
    assert BENCHMARK.rederive is not None
    again = BENCHMARK.rederive(found.state, CASE)
    assert again.measurements == found.measurements
    assert {**again.details, "is_causal": True} == found.details
    assert {one.metric for one in found.measurements} == set(BENCHMARK.metric_names)
    assert all(array.dtype.kind in "iu" for array in found.state.values())


def test_units_of_a_tokenizer_are_its_tokens() -> None:
    both = pyharness.run(tokenizers=["mistral:v3"], corpora=["sample"], benchmarks=["compression", "segmentation"])
    tokens, units = (
        {one.metric: one for one in both.record.of(name)[0].measurements} for name in ("compression", "segmentation")
    )
    assert units["bytes_per_unit"].value == pytest.approx(tokens["bytes_per_token"].value, rel=0.01)
    assert 0.5 < float(units["prefix_stability"].value or 0) < 1
    text = report.to_text(report.sheets(both.record))
    assert "Stability of units" in text
    assert "words alike: " in text


def test_shards_add_up_to_the_whole() -> None:
    cutter = segmenter_of(tokenizers.load("raw_bytes"))
    whole = SegmentationPass(cutter).read(corpora.open_corpus("sample"))
    parts = [SegmentationPass(cutter).read(corpora.open_corpus(f"shard:{index}/3:sample")) for index in range(3)]
    for part in parts[1:]:
        parts[0].merge(part)
    assert parts[0].tally == whole.tally
    assert parts[0].counted().findings() == whole.counted().findings()


def test_batches_and_order_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = SegmentationPass(Cutter(every(5))).read(corpora.open_corpus("sample")).counted().findings()
    monkeypatch.setattr("pyharness.features.segmentation.benchmark.BATCH_SIZE", 1000)
    small = SegmentationPass(Cutter(every(5))).read(corpora.open_corpus("sample")).counted().findings()
    assert small == whole


@pytest.mark.parametrize("ends", [[1], [2, 1], [0], []])
def test_units_that_are_not_the_text_fail_the_case(ends: list[int]) -> None:
    found = run(lambda data: ends)
    assert found.status == "failed"
    assert str(found.reason).startswith("made: ")
    assert found.measurements == ()


def test_texts_that_are_not_spelled_are_left_out_and_counted() -> None:
    found = run(lambda data: None if data[0] % 2 else every(4)(data))
    assert 0 < found.details["unspelled"] < corpora_size()
    assert values(found)["largest_unit"] == 4
    nothing = run(lambda data: None)
    assert nothing.status == "ok"
    assert nothing.details["unspelled"] == corpora_size()
    assert set(values(nothing).values()) == {None}
    assert all(one.reason for one in nothing.measurements)


def corpora_size() -> int:
    tally = Tally()
    return sum(1 for _ in corpora.open_corpus("sample").documents(tally))

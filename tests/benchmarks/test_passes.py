"""Passes over the parts of a text, kept as arrays and taken up again, are the pass over the whole text."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from layout.thoroughness import examples
from pyharness import tokenizers
from pyharness.benchmarks import Benchmark, Findings, NoFindings, Pass, PassRun, Work, benchmarks
from pyharness.benchmarks.compression import PAIR_SAMPLE_BYTES
from pyharness.corpora import open_corpus, streaming
from pyharness.corpora.parts import part_name
from pyharness.tokenizers.families.raw_bytes import RawBytes
from pyharness.types import Case, InputError, ParallelCorpus, State, Tally, Tokenizer, TokenizerSpec

ROWS = {"compression": ["raw_bytes", "deepseek", "mistral:v1"], "segmentation": ["raw_bytes", "units:word"]}
PAIRS = [(benchmark, row) for benchmark, rows in ROWS.items() for row in rows]
TEXTS = st.lists(st.text(st.sampled_from("ab. é\n\u4e2d"), min_size=1, max_size=40), min_size=1, max_size=12)


@cache
def loaded(row: str) -> tuple[TokenizerSpec, Tokenizer]:
    spec = tokenizers.resolve(row)
    return spec, RawBytes() if spec.instead is not None else tokenizers.load(spec)  # of units, nothing is loaded


def work_of(benchmark: str, row: str, corpus: str) -> Work:
    spec, tokenizer = loaded(row)
    case = Case(benchmark, row, "text", dict(benchmarks()[benchmark].parameters))
    return Work(case, spec, lambda: tokenizer, open_corpus(corpus), 1)


def started(benchmark: str, work: Work) -> Pass:
    starts = benchmarks()[benchmark].starts
    assert starts is not None
    return starts(work)


def in_parts(benchmark: str, row: str, spec: str, count: int) -> Findings:
    """Read each part by itself, and add up the arrays of all."""
    kept: list[State] = []
    for index in range(count):
        work = work_of(benchmark, row, part_name(spec, index, count))
        passed = started(benchmark, work)
        passed.read(work.text, 1, work.progress)
        kept.append(passed.arrays())
    work = work_of(benchmark, row, spec)
    whole, other = started(benchmark, work), started(benchmark, work)
    whole.restore(kept[0])
    for arrays in kept[1:]:
        other.restore(arrays)
        whole.merge(other)
    return whole.findings()


def assert_same(found: Findings, expected: Findings) -> None:
    assert found.measurements == expected.measurements
    assert found.details == expected.details
    assert found.tally == expected.tally
    assert found.state.keys() == expected.state.keys()
    for name, array in expected.state.items():
        assert found.state[name].dtype == array.dtype, name
        assert np.array_equal(found.state[name], array), name
    assert found.tally is not None
    assert expected.tally is not None
    beginnings, all_beginnings = found.tally.beginnings or [], expected.tally.beginnings or []
    assert beginnings == all_beginnings[: len(beginnings)]


@pytest.mark.parametrize(("name", "row"), PAIRS)
@settings(deadline=None, max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=TEXTS, count=st.integers(1, 9), limit=st.integers(4, 60))
def test_any_parts_give_what_one_pass_gives(
    tmp_path: Path, name: str, row: str, texts: list[str], count: int, limit: int
) -> None:
    rows = "\n".join(json.dumps({"text": text}) for text in (*texts, texts[0]))
    (tmp_path / "a.jsonl").write_text(rows, encoding="utf-8")
    spec = f"path:{tmp_path / 'a.jsonl'}?max_document_bytes={limit}"
    expected = benchmarks()[name].run(work_of(name, row, spec))
    assert_same(in_parts(name, row, spec, count), expected)


def test_small_samples_give_what_one_pass_gives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pyharness.benchmarks import compression
    from pyharness.metrics.counting import id_digests

    monkeypatch.setattr(compression, "PAIR_SAMPLE_BYTES", 3000)
    monkeypatch.setattr(compression, "WORD_SAMPLE_BYTES", 1000)
    monkeypatch.setattr(id_digests, "MOST_BYTES", 2000)
    texts = open_corpus("sample:prose").documents
    rows = [json.dumps({"text": text[:400]}) for text in list(texts(Tally()))[:80]]
    (tmp_path / "a.jsonl").write_text("\n".join(rows), encoding="utf-8")
    spec = f"path:{tmp_path / 'a.jsonl'}"
    for count in (1, 5, 40):
        expected = benchmarks()["compression"].run(work_of("compression", "deepseek", spec))
        assert_same(in_parts("compression", "deepseek", spec, count), expected)


@pytest.mark.parametrize("row", ["native+deepseek", "cl100k_base"])
def test_batches_on_threads_give_what_one_gives(row: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "BATCH_SIZE", 5000)
    corpus = open_corpus("sample")
    findings = []
    for threads in (1, 2, 7):
        work = replace(work_of("compression", row, "sample"), threads=threads)
        met: list[int] = []
        passed = started("compression", work)
        passed.read(corpus, threads, met.append)
        assert met == sorted(met)
        assert len(met) > 10
        findings.append(passed.findings())
    for found in findings[1:]:
        assert_same(found, findings[0])


@dataclass
class Half:
    """Every second row of aligned text."""

    whole: ParallelCorpus
    index: int

    def rows(self, tally: Tally) -> Iterator[Mapping[str, str]]:
        return islice(self.whole.rows(tally), self.index, None, 2)


def test_aligned_rows_add_up() -> None:
    benchmark = "fairness"
    work = work_of(benchmark, "raw_bytes", "sample:parallel")
    expected = benchmarks()[benchmark].run(work)
    halves = []
    for index in range(2):
        half = started(benchmark, work)
        half.read(Half(work.aligned, index), 1, work.progress)
        halves.append(half.arrays())
    whole, other = started(benchmark, work), started(benchmark, work)
    whole.restore(halves[0])
    other.restore(halves[1])
    whole.merge(other)
    assert_same(whole.findings(), expected)
    with pytest.raises(InputError):
        started(benchmark, work).restore({**halves[0], "languages": np.zeros(3, np.uint8)})


def changed(name: str, change: Callable[[Any], Any]) -> Callable[[State], State]:
    return lambda arrays: {**arrays, name: change(arrays[name])}


def with_too_many_ids(arrays: State) -> State:
    """Arrays that agree with each other, of one id more than a sample may have."""
    lengths = np.zeros(len(arrays["pairs documents sizes"]), np.int64)
    lengths[0] = 2 * PAIR_SAMPLE_BYTES + 1
    places = np.zeros(lengths[0], np.uint8)
    return {**arrays, "pairs documents lengths": lengths, "pairs documents ids places": places}


def with_copies_of_an_id(count: int) -> State:
    """A histogram that is of one size, but has an id of raw bytes more often than there are ids."""
    zeros = np.zeros(count, np.uint8)
    return {"histogram types": np.array([count] + [0] * 31), "histogram steps": zeros, "histogram counts": zeros}


def with_counts(*counts: int) -> State:
    """A histogram of other documents than the sampled ones, which are all there are."""
    ones = np.ones(len(counts), np.uint8)
    return {"histogram types": np.array([len(counts)] + [0] * 31), "histogram steps": ones,
            "histogram counts": np.array(counts, np.uint64 if max(counts) > 1 << 63 else np.int64)}  # fmt: skip


@pytest.mark.parametrize(
    "forged",
    [
        lambda arrays: {"ids places": np.ones(1 << 24, np.uint8)},
        lambda arrays: {"ids places": np.zeros(1 << 24, np.uint8)},
        lambda arrays: with_copies_of_an_id(1 << 24),
    ],
)
def test_forged_sizes_are_refused_before_memory_is_taken(forged: Callable[[State], State]) -> None:
    work = work_of("compression", "raw_bytes", "sample:code")
    passed, again = started("compression", work), started("compression", work)
    passed.read(work.text, 1, work.progress)
    arrays = {**passed.arrays(), **forged(passed.arrays())}
    tracemalloc.start()
    try:
        with pytest.raises(InputError):
            again.restore(arrays)
        assert tracemalloc.get_traced_memory()[1] < 1 << 24
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "damage",
    [
        with_too_many_ids,
        lambda arrays: {name: array for name, array in arrays.items() if name != "tally"},
        changed("tally", lambda array: array[:3]),
        changed("tally", lambda array: ~(array * 0)),
        changed("tally", lambda array: -array.astype(np.int64)),
        changed("tally beginnings", lambda array: array.astype(np.int64) | -1),
        changed("tally beginnings", lambda array: array[:, :1]),
        changed("facts", lambda array: array + 1),
        changed("vocabulary digest", lambda array: array ^ 1),
        changed("histogram steps", lambda array: np.append(array.astype(np.int64), 1 << 40)),
        lambda arrays: {**arrays, **with_counts(7)},
        lambda arrays: {**arrays, **with_counts(-1, 1)},
        lambda arrays: {**arrays, **with_counts((1 << 64) - 1, 1)},
        lambda arrays: {name: array for name, array in arrays.items() if name != "counter tokens"},
        changed("pairs documents ids types", lambda array: array.astype(np.uint32) + 300),
        changed("pairs documents lengths", lambda array: array + 1),
        changed("pairs documents lengths", lambda array: array[:-1]),
        changed("words documents counts", lambda array: array[:-1]),
        changed("words documents threshold", lambda array: np.zeros((1, 16), np.uint8)),
        changed("pairs documents sizes", lambda array: array.astype(np.int64) - 10_000),
        changed("pairs documents groups", lambda array: array + 32),
        changed("pairs documents digests", lambda array: array.astype(np.int64)[:, :8]),
        changed("pairs documents ids rare", lambda array: np.append(array, 1)),
        changed("ids places", lambda array: array * 0),
        changed("ids places", lambda array: array.astype(np.int64) + 100_000),
        changed("ids places", lambda array: np.ones(1 << 24, np.uint8)),
        lambda arrays: {**arrays, **with_copies_of_an_id(257)},
        changed("ids lengths", lambda array: np.append(array, 1)),
        changed("ids closed", lambda array: array[:0]),
    ],
)
def test_arrays_of_another_pass_are_refused(damage: Callable[[State], State]) -> None:
    work = work_of("compression", "raw_bytes", "sample:code")
    passed = started("compression", work)
    passed.read(work.text, 1, work.progress)
    again = started("compression", work)
    again.restore(passed.arrays())
    assert again.findings() == passed.findings()
    with pytest.raises(InputError):
        started("compression", work).restore(damage(passed.arrays()))


def test_a_part_holds_no_text(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a secret that nobody should read", encoding="utf-8")
    work = work_of("compression", "deepseek", f"path:{tmp_path / 'a.txt'}")
    passed = started("compression", work)
    passed.read(work.text, 1, work.progress)
    assert not any(b"secret" in array.tobytes() for array in passed.arrays().values())


def test_a_pass_without_numbers_keeps_its_reason() -> None:
    class Refused:
        def read(self, *_: object) -> object:
            raise NoFindings(Findings(status="failed", reason="no numbers"))

    run = PassRun(lambda _: Refused())  # type: ignore[arg-type, return-value]
    work = work_of("compression", "raw_bytes", "sample:code")
    assert run(work).reason == "no numbers"
    assert Benchmark("x", "", run, "required", ()).starts is run.starts
    assert benchmarks()["integrity"].starts is None

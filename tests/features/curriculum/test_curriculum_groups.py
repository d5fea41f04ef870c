"""Groups are those of the definition, for any signal, batches and threads; their beginnings are what a round adds."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cases.training_texts import VECTORS
from layout.thoroughness import examples
from oracles import curriculum as oracle
from pyharness.features.curriculum import groups as groups_module
from pyharness.features.curriculum.groups import GroupCounter, expand
from pyharness.types import InputError, Tokens, offsets_of

Document = tuple[list[int], list[float]]
EVERYTHING = 1 << 40


def random_document(generator: random.Random, alphabet: int) -> Document:
    """Few values, so that ties, runs and repeated groups are common."""
    length = generator.choice([0, 1, 2, 5, 30])
    values = generator.choice([[0.1, 0.2, 0.3], [0.0, 0.29, 0.3, 0.31, 2.0, float("inf")], [generator.random()]])
    return generator.choices(range(alphabet), k=length), generator.choices(values, k=length)


def add(counter: GroupCounter, documents: Sequence[Document], threads: int = 1, kind: type = np.uint32) -> None:
    tokens = Tokens.from_lists([ids for ids, _ in documents])
    signal = np.array([value for _, values in documents for value in values], np.float64)
    counter.add(tokens.ids.astype(kind), signal, tokens.offsets, threads)


def counted(counter: GroupCounter, most: int = EVERYTHING) -> list[tuple[oracle.Group, int]]:
    found = counter.first(most)
    return [(tuple(group.tolist()), count) for group, count in zip(found, found.counts.tolist(), strict=True)]


def test_groups_and_their_order_are_those_of_the_reference_on_random_cases() -> None:
    generator = random.Random(14)
    for _ in range(examples(500)):
        alphabet = generator.choice([1, 2, 3, 200])
        documents = [random_document(generator, alphabet) for _ in range(generator.randint(0, 6))]
        rule: dict[str, Any] = {
            "epsilon": generator.choice([0.05, 0.25, 0.3, 5.0]), "strict": generator.random() < 0.5,
            "row_quantile": generator.choice([None, None, 0.0, 0.3, 0.6, 1.0]),
        }  # fmt: skip
        limit = generator.choice([None, None, 1, 2])
        counter = GroupCounter(**rule, id_limit=limit)
        cut = generator.randint(0, len(documents))
        add(counter, documents[:cut], kind=generator.choice([np.uint8, np.uint32]))
        add(counter, documents[cut:])
        special = frozenset() if limit is None else frozenset(range(limit, alphabet))
        found = [
            group for ids, signal in documents
            for group in oracle.groups(ids, signal, rule["epsilon"], rule["row_quantile"], rule["strict"], special)
        ]  # fmt: skip
        most = generator.choice([0, 1, 3, EVERYTHING])
        assert counted(counter, most) == oracle.selected(found, most), (documents, rule, limit)
        assert (counter.total, counter.distinct) == (len(found), len(set(found)))


@pytest.mark.parametrize("vector", VECTORS["vocab_curriculum_groups"], ids=lambda vector: str(vector["name"]))
def test_vectors_of_groups(vector: dict[str, Any]) -> None:
    given_, expected = vector["input"], vector["expected"]
    for name, groups in expected.items():
        rule = {"strict": name == "strict", "row_quantile": given_.get("quantile")}
        counter = GroupCounter(given_["eps"], **rule)
        add(counter, [(given_["ids"], given_["signal_nats"])])
        assert sorted(group for group, _ in counted(counter)) == sorted(map(tuple, groups))
        slow = oracle.groups(given_["ids"], given_["signal_nats"], given_["eps"], rule["row_quantile"], rule["strict"])
        assert slow == list(map(tuple, groups))


@given(st.data())
@settings(max_examples=examples(100))
def test_a_group_falls_below_the_threshold_and_ends_where_it_must(data: st.DataObject) -> None:
    values = data.draw(st.lists(st.sampled_from([0.0, 0.1, 0.2, 0.3, 1.0]), min_size=1, max_size=40))
    counter = GroupCounter(0.3)
    add(counter, [(list(range(len(values))), values)])  # every place is an id of its own
    groups = sorted(group for group, _ in counted(counter))
    inside = {place for group in groups for place in group[1:]}
    for group in groups:
        assert list(group) == list(range(group[0], group[-1] + 1))
    for place in range(1, len(values)):
        assert (place in inside) == (values[place] < 0.3 and values[place] <= values[place - 1])


def large_case() -> list[Document]:
    generator = np.random.default_rng(5)
    lengths = [*generator.integers(0, 4000, 60).tolist(), 150_000]
    return [
        (generator.integers(0, 4, n).tolist(), generator.choice([0.1, 0.2, 0.25, 0.5], n).tolist()) for n in lengths
    ]


def test_neither_threads_nor_batches_change_a_count() -> None:
    documents = large_case()
    whole, parted = GroupCounter(0.3), GroupCounter(0.3)
    add(whole, documents, threads=1)
    for start in range(0, len(documents), 7):
        add(parted, documents[start : start + 7], threads=5)
    assert counted(whole) == counted(parted)
    assert whole.distinct > 3000
    found = [group for ids, signal in documents for group in oracle.groups(ids, signal)]
    assert counted(whole, 500) == oracle.selected(found, 500)


def test_a_shuffle_is_a_function_of_its_seed() -> None:
    documents = large_case()[:20]
    counters = [GroupCounter(0.3), GroupCounter(0.3)]
    for counter, order in zip(counters, (1, -1), strict=True):
        add(counter, documents[::order], threads=2)
    drawn = [[tuple(group.tolist()) for group in counter.first(50, seed=7)] for counter in counters]
    assert drawn[0] == drawn[1]
    assert len(set(drawn[0])) == 50
    other = [tuple(group.tolist()) for group in counters[0].first(50, seed=8)]
    assert set(other) != set(drawn[0])
    assert set(other) <= {group for group, _ in counted(counters[0])}


def test_expansion_is_that_of_the_reference_on_random_cases() -> None:
    generator = random.Random(15)
    for _ in range(examples(500)):
        vocabulary = dict(enumerate(generator.choice(["a", "ab", "abc"])))
        for _ in range(generator.randint(1, 3)):  # later rounds find strings that are there
            groups = [
                tuple(generator.choices(list(vocabulary), k=generator.randint(2, 5)))
                for _ in range(generator.randint(0, 6))
            ]
            strings = [string.encode() for string in vocabulary.values()]
            additions = expand(strings, groups)
            vocabulary, made = oracle.expand(vocabulary, groups)
            assert [addition.string for addition in additions] == [vocabulary[new].encode() for new, _ in made]
            assert [addition.last for addition in additions] == [last for _, last in made]


def test_long_beginnings_can_be_left_out() -> None:
    strings = [b"a", b"bc"]
    assert [addition.string for addition in expand(strings, [[0, 1, 0]], max_token_length=3)] == [b"abc"]
    assert [addition.string for addition in expand(strings, [[0, 1, 0]])] == [b"abc", b"abca"]


def test_a_vocabulary_that_grows_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups_module, "MOST_BYTES", 1000)
    with pytest.raises(InputError, match="max_token_length"):
        expand([b"a"], [[0] * 60])


@pytest.mark.parametrize("epsilon", [0.0, -1.0, float("nan")])
def test_an_epsilon_that_nothing_is_below_is_refused(epsilon: float) -> None:
    with pytest.raises(InputError, match="epsilon must be above 0"):
        GroupCounter(epsilon)


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(InputError, match="row_quantile"):
        GroupCounter(0.3, row_quantile=1.5)
    counter = GroupCounter(0.3)
    ids, offsets = np.zeros(2, np.uint32), np.array([0, 2])
    with pytest.raises(InputError, match=r"signal\[1\]"):
        counter.add(ids, np.array([0.0, np.nan]), offsets)
    with pytest.raises(InputError, match="signal must hold 2 values"):
        counter.add(ids, np.zeros(3), offsets)
    with pytest.raises(InputError, match="offsets"):
        counter.add(ids, np.zeros(2), np.array([0, 3]))
    with pytest.raises(TypeError, match="float64"):
        counter.add(ids, np.zeros(2, np.float32), offsets)
    assert counter.distinct == 0


def test_memory_is_bounded() -> None:
    counter = GroupCounter(0.3, max_bytes=1 << 16)
    ids = np.arange(20_000, dtype=np.uint32)
    with pytest.raises(InputError, match="distinct groups take more than 65536 bytes: give less text"):
        counter.add(ids, np.zeros(20_000), offsets_of([4] * 5000))

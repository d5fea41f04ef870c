"""Scaffold-BPE against recounting everything at each step: events, demolition, invariants."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases.training_texts import VECTORS, random_corpus, rules_of, words_of
from layout.thoroughness import examples
from oracles import bpe as oracle
from oracles import scaffold as scaffold_oracle
from pyharness.bpe import WeightedPieces, train

SCAFFOLD = {vector["name"]: vector for vector in VECTORS["scaffold_train"]}


# Two models that the vectors name without their text: `at` stays normal at equal counts; `aa` loses all uses to `aaaa`.
SCAFFOLD_TEXTS = {
    **{name: (vector["input"]["words"], vector["input"]["n_normal"]) for name, vector in SCAFFOLD.items()},
    "cat_mat": ({"cat": 3, "mat": 2}, 258),
    "self_pair": ({"aaaa": 3, "bc": 2}, 258),
}


@pytest.mark.parametrize("vector", SCAFFOLD.values(), ids=lambda vector: vector["name"])
def test_scaffold_vectors(vector: dict[str, Any]) -> None:
    model = train(
        WeightedPieces.of_bytes(words_of(vector)), vector["input"]["n_normal"], scaffold=True, keep_events=True
    )
    expected = vector["expected"]
    merges = [entry for entry in expected["trace"] if entry[0] == "merge"]
    assert [
        [model[left].decode(), model[right].decode(), count]
        for (left, right, _), count in zip(model.rules.tolist(), model.counts.tolist(), strict=True)
    ] == [entry[1:4] for entry in merges]
    demoted = [
        (made + 1, token, entry[5]) for made, entry in enumerate(merges) for token in entry[7]
    ]  # after how many rules, which, and the head then
    promoted = [entry[1] for entry in expected["trace"] if entry[0] == "promote"]
    events = [event for event in model.events if event.kind == "demoted"]
    assert [(event.rules, model[event.token].decode(), event.head) for event in events] == demoted
    assert [model[event.token].decode() for event in model.events if event.kind == "promoted"] == promoted
    assert [model[token].decode() for token in range(256, len(model))] == expected["expanded_new_in_rank_order"]
    assert sorted(model[int(token)].decode() for token in np.flatnonzero(model.scaffold)) == expected["scaffold"]


@pytest.mark.parametrize("vector", VECTORS["scaffold_encode"], ids=lambda vector: vector["name"])
def test_demolition_vectors(vector: dict[str, Any]) -> None:
    words, size = SCAFFOLD_TEXTS[vector["input"]["model"]]
    pieces = WeightedPieces.of_bytes({word.encode(): count for word, count in words.items()})
    model = train(pieces, size, scaffold=True)
    scaffolding = oracle.encode(list(vector["input"]["bytes"].encode()), rules_of(model))
    assert [model[token].decode() for token in scaffolding] == vector["expected"]["scaffolding"]
    spelled = {
        rule: [
            [model[int(part)].decode() for part in ids[offsets[token] : offsets[token + 1]]] for token in scaffolding
        ]
        for rule in ("eq6", "shortest")
        for ids, offsets in [model.demolition(rule)]
    }
    assert [part for parts in spelled["eq6"] for part in parts] == vector["expected"]["final"]
    assert spelled["shortest"] == vector["expected"]["dp_shortest"]


def test_scaffold_equals_recounting() -> None:
    demoted = promoted = 0
    for seed in range(examples(1000)):
        generator = random.Random(seed)
        words = random_corpus(generator)
        size = 256 + generator.choice([2, 6, 12, 40])
        expected = scaffold_oracle.train(words, size)
        model = train(WeightedPieces.of_bytes(words), size, scaffold=True, keep_events=True)
        assert rules_of(model) == expected.rules, seed
        assert model.counts.tolist() == expected.counts, seed
        assert set(np.flatnonzero(model.scaffold).tolist()) == expected.scaffold, seed
        assert [(e.kind, e.token, e.rules, e.frequency, e.head) for e in model.events] == expected.events, seed
        for rule, reference in (("eq6", scaffold_oracle.demolish), ("shortest", None)):
            ids, offsets = model.demolition(rule)  # type: ignore[arg-type]
            for token in range(len(model)):
                wanted = (
                    reference(expected, token)
                    if reference
                    else scaffold_oracle.shortest(expected, model[token])
                    if model.scaffold[token]
                    else [token]
                )
                assert ids[offsets[token] : offsets[token + 1]].tolist() == wanted, (seed, rule, token)
        demoted += sum(event.kind == "demoted" for event in model.events)
        promoted += sum(event.kind == "promoted" for event in model.events)
    assert demoted > 500
    assert promoted > 100


@given(
    st.dictionaries(st.text("abc", min_size=1, max_size=9), st.integers(1, 50), min_size=1, max_size=10),
    st.integers(256, 290),
)
def test_scaffold_invariants(text: dict[str, int], size: int) -> None:
    words = {word.encode(): weight for word, weight in text.items()}
    model = train(WeightedPieces.of_bytes(words), size, scaffold=True)
    ids, offsets = model.demolition()
    assert not model.scaffold[:256].any()  # bytes are pinned
    assert not model.scaffold[ids].any()  # no scaffold token is ever emitted
    assert model.vocab_size == size or not model.complete
    assert model.vocab_size <= size
    for token in range(len(model)):
        parts = ids[offsets[token] : offsets[token + 1]]
        assert b"".join(model[int(part)] for part in parts) == model[token]

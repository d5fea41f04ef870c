from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import bpe as oracle
from pyharness.bpe import MergeGraph, merge_graph

TOKENS = {token: bytes([65 + token]) * (1 if token < 4 else token) for token in range(12)}
rule_lists = st.lists(st.tuples(*[st.integers(0, 11)] * 3), max_size=40)


def check(graph: MergeGraph, size: int, atomic: list[int], fires: list[oracle.Rule]) -> None:
    """Compare with the definitions, given the rules that can fire."""
    depth = oracle.derivable(atomic, fires)
    assert graph.derivable.tolist() == [token in depth for token in range(size)]
    assert graph.depth.tolist() == [depth.get(token, -1) for token in range(size)]
    made = Counter(new for *_, new in fires)
    used = Counter(part for left, right, _ in fires for part in {left, right})
    assert graph.derivations.tolist() == [made[token] for token in range(size)]
    assert graph.children.tolist() == [used[token] for token in range(size)]
    assert graph.duplicates.tolist() == sorted(token for token in made if made[token] > 1)
    assert graph.rule_count == len(fires)


@given(rules=rule_lists)
def test_rules_form(rules: list[oracle.Rule]) -> None:
    graph = merge_graph(oracle.model(TOKENS, rules=rules))
    fires = [(left, right, new) for (left, right), new in oracle.first_rules(rules).items()]
    check(graph, 12, [0, 1, 2, 3], fires)
    depth = oracle.derivable([0, 1, 2, 3], rules)
    orphans = [row for row, (left, right, _) in enumerate(rules) if left not in depth or right not in depth]
    assert graph.orphan_rules.tolist() == orphans
    pairs = [(left, right) for left, right, _ in rules]
    shadowed = [row for row, pair in enumerate(pairs) if pairs.index(pair) < row]
    assert graph.shadowed_rules.tolist() == shadowed


@given(strings=st.sets(st.text("ab", min_size=1, max_size=6), max_size=25), gap=st.integers(1, 4))
def test_ranks_form(strings: set[str], gap: int) -> None:
    distinct = sorted({"a", "b"} | strings)
    tokens = {gap * position: string.encode() for position, string in enumerate(distinct)}
    graph = merge_graph(oracle.model(tokens, ranks={token: token for token in tokens}))
    atomic = [token for token, data in tokens.items() if len(data) == 1]
    check(graph, max(tokens) + 1, atomic, oracle.split_rules(tokens))
    assert graph.orphan_rules.size == graph.shadowed_rules.size == 0


def test_cycles_derive_nothing() -> None:
    tokens = {0: b"a", 1: b"bb", 2: b"cc", 3: b"dd"}
    graph = merge_graph(oracle.model(tokens, rules=[(1, 0, 2), (2, 0, 1), (3, 3, 3)]))
    assert graph.derivable.tolist() == [True, False, False, False]
    assert graph.orphan_rules.tolist() == [0, 1, 2]


def test_an_entry_that_never_results_from_a_merge() -> None:
    """Gaps and special tokens of a ranks file: no rank, not a base symbol."""
    tokens = {0: b"a", 1: b"b", 2: b"ab", 3: b"aab"}
    graph = merge_graph(oracle.model(tokens, ranks={3: 0}))
    assert graph.derivable.tolist() == [True, True, False, False]  # (a, ab) needs ab
    assert graph.rule_count == 0


def test_of_equal_strings_one_is_produced() -> None:
    tokens = {0: b"a", 1: b"b", 2: b"ab", 3: b"ab", 4: b"aba"}
    graph = merge_graph(oracle.model(tokens, ranks={2: 5, 3: 1, 4: 2}))
    assert graph.derivable.tolist() == [True, True, False, True, True]
    assert graph.children.tolist()[2:4] == [0, 1]


def test_a_token_its_base_does_not_spell_has_no_rules() -> None:
    good = oracle.model({0: b"a", 1: b"b", 2: b"ab"}, ranks={2: 0})
    broken = good.base.copy()
    broken[2:] = 0
    object.__setattr__(good, "base", broken)
    assert merge_graph(good).derivable.tolist() == [True, True, False]


def test_empty_model() -> None:
    empty = np.zeros(0, np.uint32)
    model = oracle.model({0: b""}, rules=[])
    graph = merge_graph(model)
    assert graph.derivable.tolist() == [False]
    assert graph.duplicates.tolist() == empty.tolist()


def test_out_of_range_rules_are_refused() -> None:
    with pytest.raises(ValueError, match=r"rules\[1\] = 12\b"):
        merge_graph(oracle.model(TOKENS, rules=[(0, 12, 1)]))

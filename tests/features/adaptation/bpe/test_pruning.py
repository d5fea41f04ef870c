"""Orders of removal against looking at all tokens again at every step, in both forms of models."""

from __future__ import annotations

import dataclasses
import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapted.pruned_models import pruned_merges
from extended_models import random_base
from oracles import bpe, pruning
from oracles.extending import Grown
from pyharness import _core
from pyharness.bpe.formats.imports import import_model
from pyharness.bpe.model.model import BpeModel
from pyharness.bpe.model.reachability import NEVER
from pyharness.features.adaptation.bpe.pruning import (
    first_of,
    frequency_order,
    id_map,
    last_n,
    leaf_last_n,
    leaf_order,
    merge_based,
    removable,
    script_order,
)
from pyharness.types import InputError, MergeModel, TokenKind

CASES = 500
FORMS = pytest.mark.parametrize("form", ["rules", "ranks"])
VECTORS = json.loads((Path(__file__).parents[3] / "support" / "vectors.json").read_text(encoding="utf-8"))["vectors"]


def drawn(seed: int, form: str) -> tuple[random.Random, BpeModel, Grown, set[int]]:
    """Model, the same for the oracle, and its tokens that can go: of some that can be merged, not all."""
    generator = random.Random(seed)
    model, base = random_base(generator, ranks=form == "ranks")
    made = [token for token, string in base.strings.items() if len(string) > 1]
    pinned = {token for token in made if generator.random() < 0.05}
    kinds = model.vocabulary.kinds.copy()
    kinds[list(pinned)] = TokenKind.ADDED
    model = dataclasses.replace(
        model,
        vocabulary=dataclasses.replace(model.vocabulary, kinds=kinds),
        merges=dataclasses.replace(model.merges, tested=model.merges.tested & (kinds == TokenKind.NORMAL)),
    )
    return generator, model, base, set(made) - pinned


def path_of(base: Grown, string: bytes) -> pruning.Path:
    ids = {string: token for token, string in base.strings.items()}
    symbols = [ids[bytes([byte])] for byte in string]
    if base.rules is not None:
        return pruning.rule_path(symbols, base.rules)
    assert base.ranks is not None
    return pruning.rank_path(symbols, base.strings, base.ranks)


def paths_of(base: Grown) -> dict[int, pruning.Path]:
    return {token: path_of(base, string) for token, string in base.strings.items()}


def drawn_counts(generator: random.Random, model: BpeModel) -> np.ndarray[Any, np.dtype[np.uint64]]:
    most = generator.choice([0, 1, 2, 9])  # few numbers, so that many are equal
    return np.array([generator.randint(0, most) for _ in range(model.id_limit)], np.uint64)


@FORMS
def test_leaf_order_equals_looking_at_all_tokens_again(form: str) -> None:
    stepping = unreachable = 0
    for seed in range(CASES):
        generator, model, base, can_go = drawn(seed, form)
        counts, paths = drawn_counts(generator, model), paths_of(base)
        expected = pruning.leaf_order(paths, dict(enumerate(counts.tolist())), can_go)
        assert leaf_order(model, counts).tolist() == expected, seed
        assert np.flatnonzero(removable(model)).tolist() == sorted(can_go), seed
        assert leaf_last_n(model).tolist() == pruning.leaf_order(paths, {}, can_go), seed
        stepping += len(expected) < len(can_go)
        unreachable += any(paths[token][0] != [token] for token in expected)
    assert min(stepping, unreachable) > 10


@FORMS
def test_baselines_equal_their_definitions(form: str) -> None:
    for seed in range(CASES):
        generator, model, base, can_go = drawn(seed, form)
        letters = sorted(model.alphabet)
        words = {
            b"".join(generator.choices(letters, k=generator.randint(1, 9))): generator.randint(1, 9) for _ in "12345"
        }
        paths = {word: path_of(base, word) for word in words}
        seen: Counter[int] = Counter()
        for word, weight in words.items():
            for token in paths[word][0]:
                seen[token] += weight
        counts = np.array([seen[token] for token in range(model.id_limit)], np.uint64)
        uses = pruning.merges_of(paths, words)
        assert last_n(model).tolist() == sorted(can_go, reverse=True)
        assert frequency_order(model, counts).tolist() == sorted(can_go, key=lambda token: (seen[token], -token))
        pinned = [token for token in seen if token not in can_go and len(base.strings[token]) > 1]
        if not pinned:  # an added token is cut out of a text, and not merged
            by_merges = sorted(can_go, key=lambda t: (seen[t] + uses[t], -len(base.strings[t]), -t))
            assert merge_based(model, counts).tolist() == by_merges, seed


def test_removing_equals_the_definition() -> None:
    for seed in range(CASES):
        generator, model, base, can_go = drawn(seed, "rules")
        if len(base.strings) < int((model.vocabulary.kinds != TokenKind.ABSENT).sum()):
            continue  # special tokens, which the oracle does not have
        gone = generator.sample(sorted(can_go), generator.randint(0, len(can_go)))
        ids = id_map(model, np.array(gone, np.uint32))
        strings, rules = pruning.remove(base.strings, base.rules or [], gone)
        merges = pruned_merges(model.merges, ids)
        assert merges.rules is not None
        assert [tuple(rule) for rule in merges.rules.tolist()] == rules, seed
        assert ids.size == len(strings)
        for token, string in base.strings.items():
            assert (ids.new[token] < 0) == (token in gone)
            assert token in gone or strings[int(ids.new[token])] == string, seed


def vector_model(given: dict[str, Any]) -> MergeModel:
    """Model of a list of merges, or of a training."""
    if "words" in given:
        words = {word.encode(): count for word, count in given["words"].items()}
        vocabulary, rules = bpe.train(words, given["vocab"])
        return bpe.model(vocabulary, rules=rules)
    (stt,) = (vector for vector in VECTORS["stt"] if "stt/" + vector["name"] == given["model"])
    ids = {bytes([byte]): byte for byte in range(256)}
    merges = [(left.encode(), right.encode()) for left, right in stt["input"]["merges_in_order"]]
    rules = [(ids[left], ids[right], ids.setdefault(left + right, len(ids))) for left, right in merges]
    return bpe.model({token: string for string, token in ids.items()}, rules=rules)


@pytest.mark.parametrize("vector", VECTORS["leaf_prune"], ids=lambda vector: vector["name"])
def test_vectors(vector: dict[str, Any]) -> None:
    merges = vector_model(vector["input"])
    text = merges.data.tobytes()
    strings = [text[a:b].decode("latin-1") for a, b in zip(merges.offsets[:-1], merges.offsets[1:], strict=True)]
    model = dataclasses.replace(import_model(b"minbpe v1\n\n0\n"), merges=merges)
    counts = np.array([vector["input"]["freq"].get(string, 0) for string in strings], np.uint64)
    assert [strings[token] for token in leaf_order(model, counts).tolist()] == vector["expected"]["order"]


@st.composite
def part_graphs(draw: st.DrawFn) -> tuple[list[tuple[int, int] | None], list[int], list[bool]]:
    """Parts of tokens, of smaller ids; counts; what can go."""
    size = draw(st.integers(1, 14))
    parts: list[tuple[int, int] | None] = [
        draw(st.none() | st.tuples(*[st.integers(0, token - 1)] * 2)) if token else None for token in range(size)
    ]
    counts = draw(st.lists(st.integers(0, 3), min_size=size, max_size=size))
    return parts, counts, draw(st.lists(st.booleans(), min_size=size, max_size=size))


@given(part_graphs())
def test_native_order_of_any_graph(graph: tuple[list[tuple[int, int] | None], list[int], list[bool]]) -> None:
    parts, counts, can_go = graph
    steps = {token: ([token], [] if pair is None else [(*pair, token)]) for token, pair in enumerate(parts)}
    expected = pruning.leaf_order(steps, dict(enumerate(counts)), {t for t, can in enumerate(can_go) if can})
    rows = np.array([(NEVER, NEVER) if pair is None else pair for pair in parts], np.uint32)
    assert _core.leaf_order(rows, np.array(counts, np.uint64), np.array(can_go)).tolist() == expected


def test_native_order_refuses_what_does_not_fit() -> None:
    none, can_go = np.full((2, 2), NEVER, np.uint32), np.ones(2, np.bool_)
    counts = np.array([0, 2**64 - 1], np.uint64)
    for parts, message in (([[NEVER, NEVER], [0, 2]], "parts"), ([[NEVER, NEVER], [0, NEVER]], "parts")):
        with pytest.raises(ValueError, match=message):
            _core.leaf_order(np.array(parts, np.uint32), counts, can_go)
    with pytest.raises(ValueError, match="removable must hold 2"):
        _core.leaf_order(none, counts, can_go[:1])
    with pytest.raises(ValueError, match="parts must hold 4"):
        _core.leaf_order(none[:1], counts, can_go)
    with pytest.raises(ValueError, match=r"pass 2\*\*64"):
        _core.leaf_order(np.array([[NEVER, NEVER], [0, 0]], np.uint32), counts, can_go)


def test_what_goes_is_the_beginning_of_the_order() -> None:
    model = import_model(b"minbpe v1\n\n0\n97 98\n256 99\n257 100\n")
    order = leaf_last_n(model)
    assert first_of(model, order, size=257).tolist() == [258, 257]
    assert first_of(model, order, size=259).tolist() == []
    assert first_of(model, order, share=0.6).tolist() == [258, 257]
    assert first_of(model, order, share=1).tolist() == [258, 257, 256]
    with pytest.raises(InputError, match=r"\b4 of 259 tokens .*\b255\b.*\b3 can"):
        first_of(model, order, size=255)
    with pytest.raises(InputError, match=r"\b260 tokens .*\b259"):
        first_of(model, order, size=260)
    with pytest.raises(InputError, match=r"share of 1\.1"):
        first_of(model, order, share=1.1)
    with pytest.raises(InputError, match=r"size.*share"):
        first_of(model, order)


def test_scripts_go_first() -> None:
    merges = "209 143\n97 98\n227 129\n258 130\n"  # я, ab, a part of a kana, あ
    model = import_model(f"minbpe v1\n\n0\n{merges}".encode())
    counts = np.array([0] * 256 + [5, 1, 0, 9], np.uint64)
    assert script_order(model, counts, ["Cyrillic"]).tolist() == [256, 258, 257, 259]
    assert script_order(model, counts, ["hiragana", "CYRILLIC"]).tolist() == [256, 259, 258, 257]
    with pytest.raises(InputError, match=r"script .*'Elvish'"):
        script_order(model, counts, ["Elvish"])


def test_scaffold_models_are_refused() -> None:
    model = import_model(b"minbpe v1\n\n0\n97 98\n")
    scaffold = dataclasses.replace(model, expansion=(np.arange(257, dtype=np.uint32), np.arange(258)))
    with pytest.raises(InputError, match=r"Scaffold-BPE.*pruned"):
        leaf_last_n(scaffold)

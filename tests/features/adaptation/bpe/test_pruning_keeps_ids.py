"""What leaf pruning promises: other tokens keep their ways, and texts without removed tokens keep their ids."""

from __future__ import annotations

import random
from itertools import pairwise

import numpy as np
import pytest

from adapted.pruned_models import mapped_parts, pruned_merges, pruned_model
from bpe_models import trained_model
from extended_models import random_base
from layout.thoroughness import examples
from oracles.bpe import NEVER
from pyharness.bpe.encoding.encoders import BpeEncoder
from pyharness.bpe.encoding.tokenizer import BpeTokenizer
from pyharness.bpe.model.model import BpeModel
from pyharness.bpe.model.reachability import self_tokenization
from pyharness.features.adaptation.bpe.model_pieces import TokenCounter
from pyharness.features.adaptation.bpe.pruning import frequency_order, id_map, leaf_order, merge_based, parts
from pyharness.types import Ids

CASES = 1500
FORMS = pytest.mark.parametrize("form", ["rules", "ranks"])


def newly_unreachable(model: BpeModel, removed: Ids) -> set[int]:
    """Tokens that stay and passed the test before, and no longer do; old ids."""
    ids = id_map(model, removed)
    failed = set(self_tokenization(pruned_merges(model.merges, ids)).failed.tolist())
    before = set(self_tokenization(model.merges).failed.tolist())
    return {old for old, new in enumerate(ids.new.tolist()) if new in failed and old not in before}


def changed_texts(model: BpeModel, removed: Ids, words: list[bytes]) -> int:
    """Words whose ids change although they have none that is removed."""
    ids = id_map(model, removed)
    old, new = BpeEncoder(model.merges), BpeEncoder(pruned_merges(model.merges, ids))
    changed = 0
    for word in words:
        base = np.array([model.alphabet[bytes([byte])] for byte in word], np.uint32)
        before = ids.new[old.encode(base)]
        after = new.encode(ids.new[base].astype(np.uint32))
        changed += bool((before >= 0).all()) and before.tolist() != after.tolist()
    return changed


@FORMS
def test_nothing_else_changes_whatever_is_cut_off(form: str) -> None:
    broken_tokens = broken_texts = cuts = 0
    for seed in range(CASES):
        generator = random.Random(seed)
        model, _ = random_base(generator, ranks=form == "ranks")
        counts = np.array([generator.randint(0, 3) for _ in range(model.id_limit)], np.uint64)
        letters = sorted(model.alphabet)
        words = [b"".join(generator.choices(letters, k=generator.randint(1, 12))) for _ in range(12)]
        order, of = leaf_order(model, counts), parts(model)
        if len(order) == 0:
            continue
        removed = order[: generator.randint(1, len(order))]
        cuts += 1
        assert newly_unreachable(model, removed) == set(), seed
        assert changed_texts(model, removed, words) == 0, seed
        assert newly_unreachable(model, merge_based(model, counts)[: len(removed)]) == set(), seed
        ids = id_map(model, removed)
        failed = self_tokenization(model.merges).failed
        after = parts(pruned_model(model, ids)).tolist()
        for old, expected in zip(np.flatnonzero(ids.new >= 0), mapped_parts(of, ids), strict=True):
            assert old in failed or after[ids.new[old]] == expected, seed  # what failed may pass now
        naive = frequency_order(model, counts)[: len(removed)]
        broken_tokens += len(newly_unreachable(model, naive)) > 0
        broken_texts += changed_texts(model, naive, words) > 0
    assert cuts > CASES / 2
    assert min(broken_tokens, broken_texts) > CASES / 100  # so that the test can see it


@FORMS
def test_the_parts_of_a_token_that_stays_are_not_removed(form: str) -> None:
    for seed in range(examples(300)):
        model, _ = random_base(random.Random(seed), ranks=form == "ranks")
        order, of = leaf_order(model, np.zeros(model.id_limit, np.uint64)).tolist(), parts(model)
        place = {token: at for at, token in enumerate(order)}
        for token, pair in enumerate(of.tolist()):
            if NEVER not in pair:
                assert all(place.get(part, len(order)) > place.get(token, len(order) - 1) for part in pair)


@pytest.fixture(scope="module")
def counted() -> tuple[BpeModel, np.ndarray, list[str]]:
    from bpe_models import sample

    model, texts = trained_model("gpt2"), list(sample()[:300])
    counter = TokenCounter(model)
    for start, end in pairwise([0, 100, 300]):
        counter.add(texts[start:end])
    return model, counter.counts, texts


def test_counts_are_those_of_the_tokenizer(counted: tuple[BpeModel, np.ndarray, list[str]]) -> None:
    model, counts, texts = counted
    ids = BpeTokenizer(model).encode_batch(texts).ids
    assert counts.tolist() == np.bincount(ids, minlength=model.id_limit).tolist()


def test_a_trained_model_by_tenths(counted: tuple[BpeModel, np.ndarray, list[str]]) -> None:
    model, counts, texts = counted
    leaves, naive = leaf_order(model, counts), frequency_order(model, counts)
    tokenizer = BpeTokenizer(model)
    before = [tokenizer.encode(text) for text in texts]
    broken = []
    for tenth in range(1, 10):
        removed = leaves[: len(leaves) * tenth // 10]
        assert newly_unreachable(model, removed) == set()
        broken.append(len(newly_unreachable(model, naive[: len(removed)])))
        ids = id_map(model, removed)
        pruned = BpeTokenizer(pruned_model(model, ids))
        gone = set(removed.tolist())
        kept = [text for text, found in zip(texts, before, strict=True) if gone.isdisjoint(found.tolist())]
        assert tenth > 1 or len(kept) > 10
        for text in kept[:20]:
            assert pruned.encode(text).tolist() == ids.new[tokenizer.encode(text)].tolist()
    assert max(broken) > 0

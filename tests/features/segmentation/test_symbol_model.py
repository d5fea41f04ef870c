"""The symbol model says what its definition says, for any text, batches and threads."""

from __future__ import annotations

import importlib
import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from oracles import symbol_model as oracle
from oracles.symbol_model import Case, random_case
from pyharness.features.segmentation.symbol_models import SymbolIds, SymbolModel, SymbolScores
from pyharness.types import InputError, Offsets, Tokens

CASES = 200


def laid(documents: Sequence[Sequence[int]]) -> tuple[SymbolIds, Offsets]:
    tokens = Tokens.from_lists(documents)
    return tokens.ids, tokens.offsets


def trained(case: Case, threads: int = 2) -> SymbolModel:
    return SymbolModel.train([laid(case.documents)], case.alphabet_size, case.order, threads)


def all_of(scores: SymbolScores) -> NDArray[np.float64]:
    return np.concatenate([scores.entropy, scores.nll, scores.next_entropy])


def same(one: SymbolScores, other: SymbolScores) -> bool:
    """To the last bit."""
    return all_of(one).tobytes() == all_of(other).tobytes()


@pytest.mark.parametrize("part", range(10))
def test_entropy_and_nll_are_sums_over_the_alphabet(part: int) -> None:
    for seed in range(part, CASES, 10):
        case = random_case(seed)
        reference = oracle.SymbolModel(case.documents, case.alphabet_size, case.order)
        expected = [reference.score(document) for document in case.scored]
        found = trained(case).score(*laid(case.scored))
        apart = all_of(found) - [
            *(value for entropy, _, _ in expected for value in entropy),
            *(value for _, nll, _ in expected for value in nll),
            *(after for _, _, after in expected),
        ]
        assert np.abs(apart).max() <= 1e-12, case


@pytest.mark.parametrize("seed", range(40))
def test_probabilities_sum_to_one_and_are_the_definition_s(seed: int) -> None:
    case = random_case(seed)
    model = trained(case)
    reference = oracle.SymbolModel(case.documents, case.alphabet_size, case.order)
    for document in case.scored:
        before = document[:7]
        chances = model.probabilities(before)
        assert abs(math.fsum(chances) - 1) <= 1e-14
        np.testing.assert_allclose(chances, reference.probabilities(before), rtol=1e-14)
        after = model.score(*laid([[*before, 0]]))
        assert after.nll[-1] == pytest.approx(-math.log(chances[0]), rel=1e-13, abs=1e-13)


@pytest.mark.parametrize("order", range(1, 6))
def test_small_entropies_lose_nothing(order: int) -> None:
    """A hundred thousand times the same: what is left for all others is a difference of nearly equal numbers."""
    documents = [[1] * 100_000, [1] * 50 + [2], [0]]
    found = SymbolModel.train([laid(documents)], 5, order).score(*laid([[1] * 6]))
    reference = oracle.SymbolModel(documents, 5, order)
    expected = [reference.exact_entropy([1] * place) for place in range(7)]
    np.testing.assert_allclose([*found.entropy, *found.next_entropy], expected, rtol=1e-12)
    assert found.entropy[-1] < 1e-3


def test_a_large_alphabet_costs_what_was_seen() -> None:
    size = 1 << 25
    model = SymbolModel.train([laid([[7, 8, 7, size - 1]])], size, 5)
    p = {count: (count + 3 / size) / 7 for count in (1, 2)}
    rest = (size - 3) / size * 3 / 7
    expected = -2 * p[1] * math.log(p[1]) - p[2] * math.log(p[2]) - rest * math.log(rest / (size - 3))
    assert model.score(*laid([[9]])).entropy[0] == pytest.approx(expected, abs=1e-12)
    assert model.distinct_ngrams == (3, 3, 2, 1, 0)


def test_nothing_leaks_from_a_document_into_the_next() -> None:
    case = random_case(4)
    model = trained(case)
    together = model.score(*laid(case.scored))
    offsets = laid(case.scored)[1]
    for index, (start, stop) in enumerate(pairwise(offsets)):
        alone = model.score(*laid([case.scored[index]]))
        there = SymbolScores(
            together.entropy[start:stop], together.nll[start:stop], together.next_entropy[index : index + 1]
        )
        assert same(alone, there)
    joined = SymbolModel.train([laid([[symbol for document in case.documents for symbol in document]])], 256, 3)
    assert trained(case).digest != joined.digest
    backwards = SymbolModel.train([laid(case.documents[::-1])], case.alphabet_size, case.order)
    assert backwards.digest == model.digest


def long_text(alphabet_size: int) -> tuple[SymbolIds, Offsets]:
    """Enough for seven threads, in documents of all lengths."""
    chance = np.random.default_rng(5)
    ids = (chance.random(120_000) ** 4 * alphabet_size).astype(np.uint32)
    cuts = np.sort(chance.integers(0, 60_000, 400))
    return ids, np.concatenate([[0, 0], cuts, [len(ids)]]).astype(np.int64)


@pytest.mark.parametrize(("alphabet_size", "order"), [(256, 5), (256, 1), (50_000, 4), (1 << 20, 5)])
def test_threads_and_batches_do_not_change_a_bit(alphabet_size: int, order: int) -> None:
    ids, offsets = long_text(alphabet_size)
    model = SymbolModel.train([(ids, offsets)], alphabet_size, order, threads=1)
    scores = model.score(ids, offsets)
    batches = [laid([ids[a:b].tolist() for a, b in pairwise(offsets[k : k + 8])]) for k in range(0, len(offsets), 7)]
    for threads in (2, 3, 7):
        other = SymbolModel.train([(ids, offsets)], alphabet_size, order, threads)
        assert other.digest == model.digest
        assert same(other.score(ids, offsets, threads), scores)
    in_batches = SymbolModel.train(iter(batches), alphabet_size, order, threads=3)
    assert in_batches.digest == model.digest
    parts = [in_batches.score(*batch) for batch in batches]
    for name in ("entropy", "nll", "next_entropy"):
        assert np.concatenate([getattr(part, name) for part in parts]).tobytes() == getattr(scores, name).tobytes()


def test_bytes_are_ids() -> None:
    ids, offsets = long_text(256)
    wide = SymbolModel.train([(ids, offsets)], 256, 3)
    narrow = SymbolModel.train([(ids.astype(np.uint8), offsets)], 256, 3)
    assert narrow.digest == wide.digest
    assert same(narrow.score(ids.astype(np.uint8), offsets), wide.score(ids, offsets))


def test_digests_tell_models_apart() -> None:
    text = laid([[1, 0, 1], [0]])
    digests = {
        SymbolModel.train([batch], size, order).digest
        for batch, size, order in [
            (text, 2, 3), (text, 3, 3), (text, 2, 2), (text, 2, 4),
            (laid([[1, 0, 1, 0]]), 2, 3), (laid([[1, 0, 1]]), 2, 3),
        ]
    }  # fmt: skip
    assert len(digests) == 6


@pytest.mark.parametrize("order", [0, 6, -1])
def test_another_order_is_refused(order: int) -> None:
    with pytest.raises(InputError, match=rf"order {order} .*1\.\.5"):
        SymbolModel.train([laid([[1]])], 2, order)


@pytest.mark.parametrize("size", [0, -5, (1 << 25) + 1])
def test_another_alphabet_is_refused(size: int) -> None:
    with pytest.raises(InputError, match=r"1\.\.33,554,432"):
        SymbolModel.train([laid([[0]])], size)


def test_symbols_that_are_not_of_the_alphabet_are_refused() -> None:
    with pytest.raises(InputError, match=r"ids\[2\] = 5\b"):
        SymbolModel.train([laid([[1, 2]]), laid([[1], [2, 5]])], 5)
    model = SymbolModel.train([laid([[1, 2]])], 5)
    with pytest.raises(InputError, match=r"ids\[0\] = 9\b"):
        model.score(*laid([[9]]))
    with pytest.raises(InputError, match=r"0\.\.4"):
        model.probabilities([1, 5])


@pytest.mark.parametrize("batches", [[], [laid([])], [laid([[], []])]])
def test_no_text_is_refused(batches: list[tuple[SymbolIds, Offsets]]) -> None:
    with pytest.raises(InputError, match="no symbol"):
        SymbolModel.train(batches, 256)


def test_offsets_that_do_not_fit_are_refused() -> None:
    model = SymbolModel.train([laid([[1, 2]])], 5)
    for offsets in ([0, 3], [1, 2], [0, 2, 1, 2], []):
        with pytest.raises(InputError, match="offsets"):
            model.score(np.array([1, 2], np.uint32), np.array(offsets, np.int64))


def test_another_dtype_is_refused() -> None:
    with pytest.raises(TypeError, match="uint32"):
        SymbolModel.train([(np.array([1.0]), np.array([0, 1]))], 5)


def test_more_ngrams_than_there_is_room_for_are_refused() -> None:
    with pytest.raises(InputError, match=r" 100000 bytes.*order"):
        SymbolModel.train([long_text(1 << 20)], 1 << 20, 5, max_bytes=100_000)


def test_the_public_name_has_the_model() -> None:
    assert importlib.import_module("pyharness.kernels.symbol_models").SymbolModel is SymbolModel

"""Whole numbers to ids and back: losslessly, or as the authors' processor does it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from layout.thoroughness import examples
from oracles.actions import fast as oracle
from pyharness.features.actions.codecs.bins import BinCodec
from pyharness.features.actions.codecs.fast import RESERVED, FastCodec, IntegerBpe
from pyharness.features.actions.codecs.quantiles import Quantiles
from pyharness.features.actions.codecs.reference import ReferenceCodec
from pyharness.features.actions.types import ActionCodec, Damaged
from pyharness.types import InputError

FRAMES, DIMENSIONS = 16, 3
RANDOM = np.random.default_rng(7)
CHUNKS = [np.cumsum(RANDOM.normal(size=(FRAMES, DIMENSIONS)), axis=0) * 0.2 for _ in range(80)]
QUANTILES = Quantiles.of(np.concatenate(CHUNKS))
FAST = FastCodec.fit(CHUNKS, QUANTILES, 10, 300)
LEARNT = IntegerBpe.fit([RANDOM.poisson(2, 60) - 2 for _ in range(40)], 80)


def test_codecs_are_what_the_protocol_says() -> None:
    assert isinstance(FAST, ActionCodec)
    assert isinstance(BinCodec(QUANTILES, 256), ActionCodec)
    assert isinstance(ReferenceCodec.fit(CHUNKS, QUANTILES, 10, 300), ActionCodec)


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(st.integers(-12, 14) | st.integers(-(1 << 41), 1 << 41), max_size=40))
def test_any_numbers_come_back(numbers: list[int]) -> None:
    assert LEARNT.decode(LEARNT.encode(np.array(numbers, np.int64)), len(numbers)).tolist() == numbers


def test_merging_is_that_of_the_reference() -> None:
    rules = LEARNT.rules.tolist()
    assert len(rules) > 20
    for _ in range(200):
        numbers = RANDOM.integers(LEARNT.minimum, LEARNT.maximum + 1, RANDOM.integers(1, 40))
        assert LEARNT.encode(numbers).tolist() == oracle.merged((numbers - LEARNT.minimum).tolist(), rules)


def test_numbers_that_were_not_met_within_the_range_have_ids() -> None:
    learnt = IntegerBpe.fit([np.array([-5, 5, -5, 5])], 40)
    assert (learnt.minimum, learnt.maximum, learnt.alphabet) == (-5, 5, 11)
    assert learnt.encode(np.arange(-5, 6)).tolist() == list(range(11))


def test_escapes_are_as_documented() -> None:
    learnt = IntegerBpe.fit([np.array([0, 1])], 19)
    assert (learnt.vocab_size, learnt.escape) == (19, 2)
    digit = learnt.escape + 1
    assert learnt.encode(np.array([2])).tolist() == [2, digit]  # the next one above: code 0
    assert learnt.encode(np.array([-1])).tolist() == [2, digit + 1]  # the next one below: code 1
    assert learnt.encode(np.array([7])).tolist() == [2, digit + 8 + 2, digit + 1]  # 5 above: code 10 = 2 + 8 * 1


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ([19], "id 19 .*vocabulary.* 18$"),
        ([3], "id 3 .*digit of"),
        ([2], "escape does not"),
        ([2, 0], "escape does not"),
        ([2, 3 + 8], "escape does not"),
        ([2, 3 + 8, 3], "escape does not"),  # a leading zero: a second way to write 0
        ([2, *[3 + 15] * 30, 4], "escape does not"),
        ([0, 1, 0, 1, 0], "more than 4 coefficients"),
    ],
)
def test_ids_that_nothing_gives_are_damaged(ids: list[int], message: str) -> None:
    learnt = IntegerBpe.fit([np.array([0, 1])], 19)
    with pytest.raises(Damaged, match=message):
        learnt.decode(np.array(ids, np.uint32), 4)


def test_a_vocabulary_too_small_for_the_alphabet_is_refused() -> None:
    assert IntegerBpe.fit([np.array([0, 9])], 10 + RESERVED).vocab_size == 10 + RESERVED
    with pytest.raises(InputError, match=r"vocab_size=26 is too small: .* 0 to 9, which takes 10 ids, and 17 are for"):
        IntegerBpe.fit([np.array([0, 9])], 9 + RESERVED)
    with pytest.raises(InputError, match="no chunk"):
        IntegerBpe.fit([], 1024)


def test_fast_gives_back_what_was_quantised_far_outside_the_training_too() -> None:
    outside = 0
    for _ in range(300):
        chunk = RANDOM.normal(size=(FRAMES, DIMENSIONS)) * RANDOM.choice([0.1, 1, 100, 1e6])
        numbers = FAST.quantised(chunk)
        outside += FAST.outside(numbers)
        assert FAST.decode(FAST.encode(numbers), FRAMES).tolist() == numbers.tolist()
        error = FAST.normalised(FAST.restored(numbers, FRAMES)) - FAST.normalised(chunk)
        assert np.linalg.norm(error) <= np.sqrt(FRAMES * DIMENSIONS) / 20 * (1 + 1e-6) + 1e-6
    assert outside > 1000


def test_chunks_of_other_lengths_and_of_one_frame_come_back() -> None:
    for frames in (1, 2, 7, 100):
        numbers = FAST.quantised(np.zeros((frames, DIMENSIONS)))
        assert FAST.decode(FAST.encode(numbers), frames).tolist() == numbers.tolist()


@pytest.mark.parametrize(
    ("chunk", "message"),
    [
        (np.zeros((4, 2)), r"\b2 values.* 3$"),
        (np.zeros((0, 3)), "has 0 frames"),
        (np.zeros(3), "shape"),
        (np.full((4, 3), np.nan), "no finite numbers"),
        (np.full((4, 3), np.inf), "no finite numbers"),
        (np.full((4, 3), 1e300), r"\de\+30\d steps from the"),
        (np.array([[1.7e308] * 3, [-1.7e308] * 3] * 2), "too many.* steps from the"),
    ],
)
def test_what_is_no_chunk_is_refused(chunk: np.ndarray, message: str) -> None:
    for codec in (FAST, BinCodec(QUANTILES, 256)):
        with pytest.raises(InputError, match=message):
            codec.quantised(chunk)


def test_a_spread_that_no_number_scales_by_is_none() -> None:
    frames = np.arange(8)[:, None] % 2 * np.array([[5e-324, 1e-310, 1.0]])
    quantiles = Quantiles.of(frames)
    assert quantiles.unscaled.tolist() == [True, True, False]
    assert np.allclose(quantiles.restored(quantiles.normalised(frames)), frames, rtol=0, atol=1e-15)
    with pytest.raises(InputError, match="dimension 1 spans"):
        Quantiles.of(np.stack([np.arange(8.0), 1.7e308 * (-1.0) ** np.arange(8)], axis=1))


def test_ids_of_another_number_of_coefficients_are_damaged() -> None:
    ids = FAST.encode(FAST.quantised(CHUNKS[0]))
    with pytest.raises(Damaged, match=r"\d+ coefficients.* 16 frames of 3 .*48"):
        FAST.decode(ids[:-1], FRAMES)
    with pytest.raises(Damaged, match=r"id 8 .*vocabulary.* 7$"):
        BinCodec(QUANTILES, 8).decode(np.full(48, 8, np.uint32), FRAMES)
    with pytest.raises(Damaged, match="there are 47 ids"):
        BinCodec(QUANTILES, 8).decode(np.zeros(47, np.uint32), FRAMES)


def test_bins_clamp_and_count() -> None:
    codec = BinCodec(Quantiles(np.array([-1.0]), np.array([1.0])), 4)
    numbers = codec.quantised(np.array([[-1.5], [-1.0], [0.0], [1.0], [1.0001], [9.0]]))
    assert numbers.tolist() == [-1, 0, 2, 3, 4, 20]
    assert codec.outside(numbers) == 3
    assert codec.encode(numbers).tolist() == [0, 0, 2, 3, 3, 3]
    assert codec.restored(np.array([0, 3]), 2).ravel().tolist() == [-0.75, 0.75]

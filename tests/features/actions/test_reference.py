"""What the authors' processor clamps, drops and swallows, and what the codec of ours does there."""

from __future__ import annotations

import numpy as np
import pytest

from pyharness.features.actions.codecs.quantiles import Quantiles
from pyharness.features.actions.codecs.reference import ReferenceCodec
from pyharness.features.actions.types import Damaged
from pyharness.types import InputError

pytest.importorskip("tokenizers")

ONE = Quantiles(
    np.array([-1.0]), np.array([1.0])
)  # values stay; of chunks of one frame, coefficients are 10 times them


def fitted(*values: float, vocab_size: int = 1024) -> ReferenceCodec:
    """Fit to chunks of one frame of one dimension, each met three times."""
    return ReferenceCodec.fit([np.array([[value]]) for value in values for _ in range(3)], ONE, 10, vocab_size)


def test_what_is_below_the_minimum_is_clamped() -> None:
    codec = fitted(-1.0, 0.0, 1.0)
    numbers = codec.quantised(np.array([[-2.0]]))
    assert numbers.tolist() == [-20]
    assert codec.outside(numbers) == 1
    assert codec.decode(codec.encode(numbers), 1).tolist() == [-10]


def test_symbols_that_were_not_met_are_dropped_and_zeros_follow() -> None:
    codec = fitted(-1.0, 0.0, 1.0)
    numbers = codec.quantised(np.array([[0.3]]))  # within the range, and not met
    assert codec.outside(numbers) == 1
    assert codec.encode(numbers).tolist() == []
    with pytest.raises(Damaged, match="0 of 1 coefficients"):
        codec.decode(codec.encode(numbers), 1)
    assert codec.zeros_for_damaged


def test_the_initial_alphabet_protects_only_what_is_its_own_letter() -> None:
    """``chr(33)`` is the letter of byte 33; ``chr(13)`` is a token that no byte is written as."""
    codec = fitted(0.0, 4.0)
    assert codec.outside(np.array([33])) == 0
    assert codec.encode(np.array([33])).tolist() != []
    assert codec.outside(np.array([13])) == 1
    assert codec.encode(np.array([13])).tolist() == []


def test_symbols_from_128_on_are_two_bytes() -> None:
    codec = fitted(0.0, 20.0)  # characters 0 and 200
    assert codec.decode(codec.encode(np.array([200])), 1).tolist() == [200]
    assert codec.outside(np.array([201])) == 1  # its second byte was not met: half a character is left
    assert codec.decode(codec.encode(np.array([201])), 1).tolist() == [0xFFFD]  # no zeros, and no notice either


def test_half_a_surrogate_pair_is_a_type_error() -> None:
    codec = fitted(0.0, 1.0)
    with pytest.raises(TypeError):
        codec.encode(np.array([0xD800]))
    assert codec.outside(np.array([0xD800])) == 1


@pytest.mark.parametrize("number", [0x110000, 1 << 40])
def test_a_number_beyond_the_characters_is_a_type_error(number: int) -> None:
    with pytest.raises(TypeError, match="not a character"):
        fitted(0.0, 1.0).encode(np.array([number]))


def test_a_vocabulary_smaller_than_the_range_is_refused() -> None:
    with pytest.raises(InputError, match=r"vocab_size=10 is too small: .* span 20 numbers"):
        fitted(-1.0, 1.0, vocab_size=10)
    with pytest.raises(InputError, match="no chunk"):
        ReferenceCodec.fit([], ONE, 10, 100)


def test_a_range_with_half_surrogate_pairs_is_refused() -> None:
    chunks = [np.array([[value]]) for value in (0.0, 1.0)]
    for scale in (0xD800, 0x200000):
        with pytest.raises(InputError, match=rf"^scale=\S+ is too .* span {scale:,} "):
            ReferenceCodec.fit(chunks, ONE, scale, 1 << 22)
    assert ReferenceCodec.fit(chunks, ONE, 0xD800 - 1, 1 << 20).vocab_size == 0xD800

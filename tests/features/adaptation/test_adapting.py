"""A shorter extension is what a shorter training gives: the first rules, up to the last that makes a string of it."""

import numpy as np
import pytest

from pyharness.features.adaptation.bpe.extension import Extension

RULES = np.array([[0, 1, 3], [1, 2, 2], [3, 2, 4], [4, 0, 1]], np.uint32)
WHOLE = Extension(3, (b"ab", b"abc"), RULES, np.array([4, 3, 2, 1], np.uint64), complete=False)


@pytest.mark.parametrize(("tokens", "rules"), [(0, 0), (1, 1), (2, 3), (9, 4)])
def test_rules_end_with_the_last_string(tokens: int, rules: int) -> None:
    part = WHOLE.first(tokens)
    assert part.tokens == WHOLE.tokens[:tokens]
    assert part.rules.tolist() == RULES[:rules].tolist()
    assert part.counts.tolist() == [4, 3, 2, 1][:rules]


def test_only_what_was_asked_for_in_full_is_complete() -> None:
    assert WHOLE.first(1).complete
    assert WHOLE.first(2).complete
    assert not WHOLE.first(3).complete


def test_rules_that_take_later_strings_are_left_out() -> None:
    rules = np.array([[0, 4, 3], [0, 1, 3], [1, 1, 4]], np.uint32)  # as a naive extension has them
    first = Extension(3, (b"abb", b"bb"), rules, np.zeros(3, np.uint64), complete=True).first(1)
    assert first.rules.tolist() == [[0, 1, 3]]

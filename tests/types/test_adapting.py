"""A shorter extension is what a shorter training gives: the first rules, up to the one that makes its last string."""

import numpy as np
import pytest

from pyharness.types import Extension

RULES = np.array([[0, 1, 3], [1, 2, 2], [3, 2, 4], [4, 0, 1]], np.uint32)
WHOLE = Extension(3, (b"ab", b"abc"), RULES, np.array([4, 3, 2, 1], np.uint64), complete=False)


@pytest.mark.parametrize(("tokens", "rules"), [(0, 0), (1, 1), (2, 4), (9, 4)])
def test_rules_end_with_the_last_string(tokens: int, rules: int) -> None:
    part = WHOLE.first(tokens)
    assert part.tokens == WHOLE.tokens[:tokens]
    assert part.rules.tolist() == RULES[:rules].tolist()
    assert part.counts.tolist() == [4, 3, 2, 1][:rules]


def test_only_what_was_asked_for_in_full_is_complete() -> None:
    assert WHOLE.first(1).complete
    assert not WHOLE.first(2).complete
    assert not WHOLE.first(3).complete

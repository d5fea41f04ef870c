"""Cuts of words, and pairs of alike words: against loops over all pairs of occurrences."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutting.cutters import every
from pyharness.features.segmentation.metrics.words import Cut, CutKinds, WordPairs, cut_words
from pyharness.statistics.jackknife import GROUPS, Undefined
from pyharness.types import InputError

OCCURRENCE = st.tuples(st.sampled_from("abc"), st.sampled_from([(), (1,), (1, 2)]), st.integers(0, 4))


def counted(drawn: list[tuple[str, Cut, int]]) -> WordPairs:
    kinds, numbers = CutKinds.numbered([(word, cut) for word, cut, _ in drawn])
    return WordPairs.of(kinds.by_group(numbers, np.array([group for *_, group in drawn], np.int64)), kinds)


def reference(drawn: list[tuple[str, Cut, int]], groups: set[int]) -> tuple[int, int, int]:
    """Pairs of a word in two groups; cut alike; both uncut."""
    held = [one for one in drawn if one[2] in groups]
    pairs = [(a[1], b[1]) for a, b in combinations(held, 2) if a[0] == b[0] and a[2] != b[2]]
    return len(pairs), sum(a == b for a, b in pairs), sum(a == b == () for a, b in pairs)


@given(st.lists(OCCURRENCE, max_size=40), st.sets(st.integers(0, 4), min_size=1))
def test_pairs_are_those_of_all_occurrences(drawn: list[tuple[str, Cut, int]], groups: set[int]) -> None:
    found, chosen = counted(drawn), np.isin(np.arange(GROUPS), list(groups))
    pairs, alike, uncut = reference(drawn, groups)
    for of, above, below in (
        (found.consistency, alike, pairs),
        (found.consistency_of_cut, alike - uncut, pairs - uncut),
    ):
        if below == 0:
            with pytest.raises(Undefined):
                of(chosen)
        else:
            assert of(chosen) == above / below
    again = {word for word, count in Counter(word for word, *_ in drawn).items() if count > 1}
    distinct = {(word, cut) for word, cut, _ in drawn if word in again}
    assert (found.types, found.cuts) == (len(again), len(distinct))


def test_cuts_are_bytes_inside_a_word() -> None:
    found = list(cut_words("The café, the end", np.array(every(4)("The café, the end".encode()))))
    assert found == [("The", ()), ("café", (4,)), ("the", (1,)), ("end", (1,))]
    assert list(cut_words("", np.zeros(0, np.int64))) == []
    assert list(cut_words("naïve", np.array([1, 3, 6]))) == [("naïve", (1, 3))]


def test_words_of_static_patches_are_as_alike_as_their_places_say() -> None:
    """Of patches of 4 bytes, a word of 3 is uncut at two places of four: 1/4 + 1/16 + 1/16 of the pairs are alike."""
    found: list[tuple[str, Cut, int]] = []
    for place, start in enumerate(np.random.default_rng(5).integers(0, 4, 40_000).tolist()):
        found.append(("the", tuple(end - start for end in (4,) if start < end < start + 3), place % GROUPS))
    assert counted(found).consistency(np.ones(GROUPS, np.bool_)) == pytest.approx(0.375, abs=0.01)


def test_shares_of_pairs_do_not_grow_with_the_text() -> None:
    """Means over many drawn texts of two sizes; the number of cuts per word, of the same texts, does grow."""
    generator = np.random.default_rng(6)
    cuts = [(), (1,), (2,), (1, 2), (3,)]

    def drawn(occurrences: int) -> tuple[float, float, float]:
        words = [f"{number}" for number in generator.zipf(1.5, occurrences) % 20]
        kinds = [cuts[min(4, int(generator.geometric(0.4 + int(word) / 50)) - 1)] for word in words]
        groups = generator.integers(0, GROUPS, occurrences).tolist()
        found = counted(list(zip(words, kinds, groups, strict=True)))
        every_group = np.ones(GROUPS, np.bool_)
        return found.consistency(every_group), found.consistency_of_cut(every_group), found.cuts_per_word()

    small, large = (np.array([drawn(size) for _ in range(count)]) for size, count in ((150, 400), (2400, 100)))
    error = np.sqrt(small.var(axis=0) / len(small) + large.var(axis=0) / len(large))
    distance = np.abs(small.mean(axis=0) - large.mean(axis=0)) / error
    assert distance[0] < 4
    assert distance[1] < 4
    assert distance[2] > 10


def test_arrays_that_contradict_each_other_are_refused() -> None:
    arrays = counted([("a", (1,), 0), ("a", (), 1), ("a", (1,), 2)]).arrays()
    found = WordPairs.of_arrays(arrays)
    assert found.arrays().keys() == arrays.keys()
    with pytest.raises(InputError):
        WordPairs.of_arrays({**arrays, "word pairs": arrays["word pairs"][:2]})
    with pytest.raises(InputError):
        WordPairs.of_arrays({**arrays, "word pairs cut alike": arrays["word pairs"] + 1})

"""Where texts are cut, what makes a prefix stable, and what noise does: against sets and loops over characters."""

from __future__ import annotations

import hashlib
import math

import numpy as np
import regex
from hypothesis import given
from hypothesis import strategies as st

from cutting.cutters import every, from_the_end
from pyharness.features.segmentation.metrics import variants
from pyharness.types import Digest

TEXT = st.text("abc DEß éд日ǅ\u0301\n'.", max_size=200)
DRAWN = [1113788500361862149, 8001978233234533084, 1603510463429368446]
SEED = st.binary(min_size=16, max_size=16)


@given(TEXT, SEED)
def test_cuts_are_between_characters_and_as_many_as_there_is_text(text: str, seed: Digest) -> None:
    cuts = variants.prefix_cuts(text, seed)
    most = math.ceil(len(text.encode()) / variants.BYTES_PER_CUT) if len(text) > 1 else 0
    assert cuts == sorted(set(cuts))
    assert len(cuts) <= most
    assert bool(cuts) == (most > 0)
    assert all(0 < cut < len(text) for cut in cuts)
    assert variants.prefix_cuts(text, seed) == cuts


def test_every_place_is_cut_about_as_often() -> None:
    found = [
        cut for number in range(4000) for cut in variants.prefix_cuts("x" * 9, hashlib.md5(b"%d" % number).digest())
    ]
    assert set(found) == set(range(1, 9))
    assert max(abs(found.count(cut) - 500) for cut in range(1, 9)) < 120  # five standard deviations of 20.9, and some


@given(st.integers(2, 60), st.data(), st.integers(1, 9))
def test_a_stable_prefix_has_the_starts_of_the_whole(size: int, data: st.DataObject, step: int) -> None:
    text, at = b"x" * size, data.draw(st.integers(1, size - 1))
    for cutter in (every(step), from_the_end(step)):
        whole, prefix = cutter(text) or [], cutter(text[:at]) or []
        starts, own = ({0, *ends[:-1]} for ends in (whole, prefix))
        expected = own == {start for start in starts if start < at}
        assert variants.is_stable(np.array(whole), np.array(prefix)) == expected
    assert variants.is_stable(np.array(every(step)(text)), np.array(every(step)(text[:at])))


def test_draws_are_what_they_were() -> None:
    """What is drawn decides numbers: of another generator they would be others, under one name."""
    assert variants.draws(bytes(range(16)), 3).tolist() == DRAWN


@given(TEXT, SEED)
def test_typos_change_what_is_drawn_and_nothing_else(text: str, seed: Digest) -> None:
    drawn, out, place = variants.draws(seed, len(text)).tolist(), "", 0
    while place < len(text):
        one, two = text[place], text[place + 1 : place + 2]
        if drawn[place] % 50 or not (one.isalpha() and two.isalpha()):
            out, place = out + one, place + 1
            continue
        out += {0: two + one, 1: two, 2: one + one + two}[drawn[place] // 50 % 3]
        place += 2
    assert variants.typos(text, seed) == out


@given(TEXT, SEED)
def test_case_changes_in_words_and_spaces_double(text: str, seed: Digest) -> None:
    segments, changed = regex.split(r"(?V1w)\b", text), variants.other_case(text, seed)
    words = [one for one in segments if regex.search(r"[\p{L}\p{N}]", one)]
    drawn = dict(zip(range(len(words)), variants.draws(seed, len(words)).tolist(), strict=True))
    number, out = 0, ""
    for one in segments:
        if regex.search(r"[\p{L}\p{N}]", one):
            turned = one.lower() if one.upper() == one else one.upper()
            out += turned if drawn[number] % 10 == 0 else one
            number += 1
        else:
            out += one
    assert changed == out
    spaces = iter(variants.draws(seed, text.count(" ")).tolist())
    doubled = "".join(one + " " * (one == " " and next(spaces) % 10 == 0) for one in text)
    assert variants.doubled_spaces(text, seed) == doubled


def test_noise_comes_as_often_as_it_says() -> None:
    text, seed = "abcdefghi " * 4000, bytes(16)
    assert 8 / 9 * 36000 / 50 * 0.85 < _differences(variants.typos(text, seed)) < 8 / 9 * 36000 / 50 * 1.15
    assert 340 < variants.doubled_spaces(text, seed).count("  ") < 460
    assert 340 < variants.other_case(text, seed).count("A") < 460


def _differences(text: str) -> int:
    return sum(word != "abcdefghi" for word in text.split())

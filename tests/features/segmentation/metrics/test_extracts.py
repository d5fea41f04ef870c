"""Counts of extracts: each figure from its definition, by loops, on cutters of which it is known."""

from __future__ import annotations

from itertools import combinations

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from cutting.cutters import Cut, Cutter, after, every, from_the_end
from pyharness.features.segmentation.metrics import variants
from pyharness.features.segmentation.metrics.extracts import EXTRACT_BYTES, ExtractCounts, extract
from pyharness.metrics.counting.words import words
from pyharness.statistics.jackknife import group_of
from pyharness.types import Measurement, NotSpelled, digest_of

SENTENCE = "The quick brown fox jumps over the lazy dog, and then it sleeps for {} hours. "
TEXTS = [(SENTENCE.format(number) * (1 + number % 5)).strip() for number in range(300)]
SAMPLE = [(text, digest_of(text)) for text in TEXTS]


def figures(cut: Cut, sample: list[tuple[str, bytes]] = SAMPLE) -> dict[str, Measurement]:
    found = ExtractCounts.count(Cutter(cut), sample)
    again = ExtractCounts.of_arrays(found.arrays())
    assert again.measurements() == found.measurements()
    return {one.metric + (f" {one.part}" if one.part else ""): one for one in found.measurements()}


def inside(cut: Cut, text: str) -> list[tuple[str, tuple[int, ...]]]:
    ends = cut(text.encode()) or []
    return [(word, tuple(end - start for end in ends if start < end < stop)) for word, start, stop in words(text)]


@pytest.mark.parametrize("cut", [every(4), after(b" "), from_the_end(3)])
def test_figures_follow_their_definitions(cut: Cut) -> None:
    found = {name: one.value for name, one in figures(cut).items()}
    met = [(word, at, group_of(key)) for text, key in SAMPLE for word, at in inside(cut, text)]
    assert found["cut_word_share"] == sum(bool(at) for _, at, _ in met) / len(met)
    stable, count = 0, 0
    for text in TEXTS:
        starts = {0, *(cut(text.encode()) or [])[:-1]}
        for place in variants.prefix_cuts(text, digest_of(text)):
            own = {0, *(cut(text[:place].encode()) or [])[:-1]}
            count, stable = count + 1, stable + (own == {one for one in starts if one < len(text[:place].encode())})
    assert found["prefix_stability"] == stable / count
    for kind, changed in variants.NOISE.items():
        noisy = [changed(text, digest_of(text)) for text in TEXTS]
        above, below = (
            sum(len(cut(text.encode()) or []) for text in texts) / sum(map(len, texts)) for texts in (noisy, TEXTS)
        )
        assert found[f"noise_unit_ratio {kind}"] == pytest.approx(above / below, rel=1e-12)
    assert found["cuts_per_word"] is not None


def test_pairs_of_words_are_of_two_groups() -> None:
    sample = SAMPLE[:6]
    met: list[tuple[str, tuple[int, ...], int]] = []
    for text, key in sample:
        words_in = inside(every(4), text)
        drawn = variants.draws(digest_of(text), len(words_in)).tolist()
        for word in {word for word, _ in words_in}:
            last = max((drawn[place], place) for place, (one, _) in enumerate(words_in) if one == word)[1]
            met.append((word, words_in[last][1], group_of(key)))
    pairs = [(a, b) for a, b in combinations(met, 2) if a[0] == b[0] and a[2] != b[2]]
    alike, uncut = sum(a[1] == b[1] for a, b in pairs), sum(a[1] == b[1] == () for a, b in pairs)
    found = figures(every(4), sample)
    assert found["word_consistency"].value == alike / len(pairs)
    assert found["cut_word_consistency"].value == (alike - uncut) / (len(pairs) - uncut)


def test_what_is_known_of_cutters() -> None:
    static, space, whole = (figures(cut) for cut in (every(4), after(b" "), lambda data: [len(data)] if data else []))
    assert static["prefix_stability"].value == space["prefix_stability"].value == 1
    assert (figures(from_the_end(4))["prefix_stability"].value or 0) < 0.5
    assert space["word_consistency"].value == 1 > 0.6 > (static["word_consistency"].value or 1)
    assert whole["cut_word_share"].value == 0
    assert whole["cut_word_consistency"].value is None
    assert "cut" in str(whole["cut_word_consistency"].reason)
    assert (space["noise_unit_ratio spaces"].value or 0) > 1.05
    assert static["noise_unit_ratio typos"].value == pytest.approx(1, abs=0.02)
    assert len(static["prefix_stability"].replicates) == 32
    assert len(static["noise_unit_ratio case"].replicates) == 32
    assert not static["noise_unit_ratio spaces"].replicates
    assert static["noise_unit_ratio spaces"].no_interval


def test_extracts_that_are_not_spelled_are_left_out() -> None:
    def sometimes(data: bytes) -> list[int] | None:
        return None if b" 1" in data else every(4)(data)

    sample = [(text, key) for text, key in SAMPLE if " 1" not in text]
    some, known = figures(sometimes), figures(every(4), sample)
    for name in ("cut_word_share", "word_consistency", "noise_unit_ratio typos"):
        assert some[name].value == known[name].value, name
    nothing = figures(lambda data: None)
    assert all(one.value is None and one.reason for one in nothing.values())


def test_prefixes_and_noise_that_are_not_spelled_are_left_out() -> None:
    known = {text.encode() for text in TEXTS}
    found = figures(lambda data: every(4)(data) if data in known else None)
    assert found["prefix_stability"].value is None
    assert found["noise_unit_ratio spaces"].value is None
    assert "two characters" in str(found["prefix_stability"].reason)
    assert found["word_consistency"].value == figures(every(4))["word_consistency"].value


def test_units_of_a_prefix_that_do_not_spell_it_are_wrong() -> None:
    known = {text.encode() for text in TEXTS}
    with pytest.raises(NotSpelled):
        figures(lambda data: every(4)(data) if data in known else [len(data) + 1])


def test_scripts_without_spaces_have_no_words_and_no_case() -> None:
    found = figures(every(3), [(text, digest_of(text)) for text in ("日本語の文章です" + "。" * n for n in range(90))])
    for name in ("cut_word_share", "word_consistency", "cut_word_consistency", "cuts_per_word"):
        assert "without spaces" in str(found[name].reason), name
    assert "changes" in str(found["noise_unit_ratio case"].reason)
    assert found["prefix_stability"].value == 1


@given(st.text("ab é日\n", min_size=500, max_size=3000))
def test_an_extract_is_a_beginning_that_ends_between_segments(text: str) -> None:
    found, fits = extract(text), text
    while len(fits.encode()) > EXTRACT_BYTES:
        fits = fits[:-1]
    if fits == text:
        assert found == text
        return
    *others, last = (one for one in regex.split(r"(?V1w)\b", fits) if one)
    assert found == ("".join(others) or last)


def test_an_extract_of_one_long_word_is_its_beginning() -> None:
    assert extract("a" * 5000) == "a" * 2048
    assert extract("é" * 5000 + " ") == "é" * 1024
    assert extract("日" * 1000) == "日" * 681
    assert extract("ab " * 2000) == "ab " * 682

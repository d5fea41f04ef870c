"""Claims of articles: verdicts follow from intervals by rules that are written down; figures are those of counts."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from claims import bpe_sizes, costs, covered, digits, eighth, growth, likeness, longer_tokens, rarest, verdicts
from claims.bpe_sizes import Curve, first, learnt, trained_curve
from claims.texts import EVERYTHING, SAMPLE, Text, chosen
from pyharness import bpe
from pyharness.statistics.jackknife import GROUPS

ALL = np.ones(GROUPS, np.bool_)

NO_INTERVAL = "not testable here, because there is no interval: documents are few, or a few of them decide"


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Text:
    """Documents of words that are made of syllables."""
    chance = random.Random(13)
    syllables = [a + b for a in "bdfgklmnprst" for b in "aeiou"]
    some = ["".join(chance.choices(syllables, k=chance.randint(1, 4))) for _ in range(600)]
    lines = [" ".join(some[min(int(chance.paretovariate(0.7)), 600) - 1] for _ in range(12)) for _ in range(700)]
    path = tmp_path_factory.mktemp("claims") / "text.txt"
    path.write_text("\n".join([*lines, *lines[:5]]), encoding="utf-8")
    return Text.read("syllables", [f"path:{path}?split=line"])


@pytest.mark.parametrize(
    ("interval", "verdict"),
    [
        ((0.79, 0.81), "confirmed"),
        ((0.78, 0.82), "confirmed"),
        ((0.70, 0.77), "refuted"),
        ((0.83, 0.90), "refuted"),
        ((0.77, 0.79), "not testable here, because the interval reaches across the limit"),
        ((0.70, 0.90), "not testable here, because the interval reaches across the limit"),
        (None, NO_INTERVAL),
        ((np.nan, np.nan), NO_INTERVAL),
    ],
)
def test_verdicts_follow_from_intervals(interval: verdicts.Interval, verdict: str) -> None:
    assert verdicts.within(interval, 0.78, 0.82) == verdict


def test_one_row_refutes_and_all_confirm() -> None:
    assert verdicts.overall(["confirmed", "confirmed"]) == "confirmed (2 of 2 rows)"
    assert verdicts.overall(["confirmed", "refuted", "x"]) == "refuted (1 of 3 rows; 1 confirm it)"
    assert verdicts.overall(["confirmed", "x"]) == "not testable here, because 1 of 2 rows decide nothing"
    assert verdicts.overall([]).startswith("not testable here")


def test_documents_count_once_and_their_parts_differ(text: Text) -> None:
    assert len(set(text.documents)) == len(text.documents) <= 700
    learnt_from, held_out = set(text.learnt.documents), set(text.measured.documents)
    assert not learnt_from & held_out
    assert learnt_from | held_out == set(text.documents)
    assert 0.2 < len(held_out) / len(text.documents) < 0.5
    assert sum(text.counts) == len(text.documents)
    assert int(text.by_group(text.sizes).sum()) == sum(len(one.encode()) for one in text.documents)
    assert "small" in text.about


def test_without_data_the_sample_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYHARNESS_DATA", raising=False)
    assert list(chosen(None, ("English",))) == [("the built-in sample", (SAMPLE,))]
    monkeypatch.setenv("PYHARNESS_DATA", "/data")
    ((name, files),) = chosen(["Thai"], ())
    assert (name, files) == ("Thai", ("path:/data/corpora/multilingual/th/thaigov_news.jsonl.xz",))
    ((_, files),) = chosen(None, (EVERYTHING,))
    assert len(files) > 15
    assert list(chosen(["path:x"], ())) == [("path:x", ("path:x",))]


def test_the_first_tokens_are_what_a_smaller_training_gives(text: Text) -> None:
    large = learnt(text, 600)
    for size in (256, 300, 411):
        small = learnt(text, size)
        cut = first(large, size)
        assert [cut[token] for token in range(len(cut))] == [small[token] for token in range(len(small))]
        assert cut.rules.tolist() == small.rules.tolist()


def test_the_curve_is_of_the_held_out_documents(text: Text, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bpe_sizes, "SMALLEST", 256)
    curve = trained_curve(text)
    assert curve.sizes.tolist() == [256, 512]
    model = bpe.model_of_training(first(learnt(text), 512), "o200k")
    tokens = sum(len(bpe.BpeTokenizer(model).encode(one)) for one in text.measured.documents)
    assert curve.bytes_per_token(ALL)[0] == 1
    assert curve.bytes_per_token(ALL)[1] == pytest.approx(text.measured.sizes.sum() / tokens)


def curve_of(values: NDArray[Any], noise: float = 0.001) -> Curve:
    """Bytes per token as given, but for noise that groups differ by."""
    sizes = np.array([1024 << step for step in range(len(values))])
    size = 10**9
    own = 1 + noise * np.random.default_rng(1).standard_normal((len(values), GROUPS))
    tokens = (size / values[:, None] * own).astype(np.int64)
    return Curve("drawn", sizes, tokens, np.full(GROUPS, size), [10] * GROUPS)


def test_growth_with_the_logarithm_is_told_from_saturation() -> None:
    steps: NDArray[np.float64] = np.arange(9, dtype=np.float64)
    straight, bent = (np.asarray(one, np.float64) for one in (2 + 0.3 * steps, 5 - 3 * 2 ** (-0.3 * steps)))
    assert growth.gain_ratio(straight) == pytest.approx(1)
    assert growth.gain_ratio(bent) == pytest.approx(2 ** (-0.3 * 4), rel=1e-6)
    power, (limit, factor) = growth.saturating(steps, bent)
    assert (power, limit, factor) == pytest.approx((0.3, 5, -3), rel=1e-6)
    line_miss, curve_miss = growth.misses(steps, bent)
    assert line_miss > 0.1
    assert abs(curve_miss) < 1e-6
    assert abs(growth.residuals(straight)).max() < 1e-9
    for values, verdict in ((straight, "confirmed"), (bent, "refuted")):
        rows = list(growth.curve_rows("drawn", curve_of(values)))
        assert [row.verdict for row in rows if row.verdict] == [verdict]
    assert list(growth.curve_rows("drawn", curve_of(straight[:3]))) == []


def test_costs_are_those_of_the_formula_and_ends_decide() -> None:
    curve = curve_of(2 + 0.3 * np.arange(8.0), noise=0)
    costs_of = costs.per_byte(curve, 512, 6, ALL)
    assert costs_of[2] == pytest.approx((4096 * 512 + 12 * 512 * 512 * 6) / 2.6, rel=1e-6)
    assert costs.parameters(1000, 10, 3) == (20_000, 3_600)
    assert costs.excess(curve, 512, 6, 7, 2, ALL) == pytest.approx(costs_of[7] / costs_of[2] - 1)
    above, around = (0.1, 0.2), (-0.1, 0.2)
    assert costs.decided(3, 8, above, above) == "confirmed"
    assert costs.decided(7, 8, above, above) == costs.decided(0, 8, above, above) == "refuted"
    for best in (0, 3, 7):
        assert costs.decided(best, 8, around, around).startswith("not testable here")
        assert costs.decided(best, 8, None, above).startswith("not testable here")


def test_the_commonest_types_are_counted(text: Text) -> None:
    histogram = np.zeros((GROUPS, 4), np.int64)
    histogram[0] = 1, 5, 0, 2
    histogram[1] = 1, 0, 9, 2
    assert covered.share(histogram, 1, ALL) == 9 / 20
    assert covered.share(histogram, 2, ALL) == 14 / 20
    assert covered.share(histogram, 9, ALL) == 1
    assert covered.share(histogram, 1, np.arange(GROUPS) == 0) == 5 / 8
    every = Counter(word for one in text.documents for word in one.split())
    words = covered.of_words(text)
    assert sorted(words.sum(axis=0).tolist()) == sorted(every.values())
    group = int(text.groups[0])
    assert words[group].sum() == sum(
        len(one.split()) for one, own in zip(text.documents, text.groups, strict=True) if own == group
    )
    tokens = covered.of_tokens(bpe.model_of_training(learnt(text, 300), "o200k"), text)
    assert tokens.shape == (GROUPS, 300)


def test_the_law_of_ranks_is_found_and_misses_are_seen() -> None:
    ranks = np.arange(1, 20_001)
    shares = 1 / ranks**1.2
    histogram = np.random.default_rng(3).poisson(3e5 * shares, (GROUPS, len(ranks)))
    expected = shares[-1] / shares.sum() * rarest.TOKENS
    assert np.exp(rarest.log_of_rarest(histogram, len(ranks), ALL)) == pytest.approx(expected, rel=0.15)
    assert rarest.test_of_law(histogram) == pytest.approx(1, rel=0.2)
    bent = np.random.default_rng(3).poisson(3e5 * shares * np.exp(-ranks / 400), histogram.shape)
    assert rarest.test_of_law(bent) > rarest.FACTOR
    once = np.zeros((GROUPS, 3), np.int64)
    once[0] = 96, 0, 0
    once[1] = 100, 4, 0
    assert rarest.bound(once) == 3 * 4 / 200 * 1e12


def test_the_rarest_are_decided_by_fit_bound_and_test() -> None:
    assert rarest.decided((10, 100), 500, 5, 9) == "confirmed"
    assert rarest.decided((10, 100), 5e5, 1, 9).startswith("not testable here")
    assert rarest.decided((2e4, 3e4), 5e5, 1, 0) == "refuted"
    assert rarest.decided((2e4, 3e4), 5e5, 1, 9).endswith("only bounded from above")
    assert rarest.decided((2e4, 3e4), 5e5, 2.5, 0).endswith("by a factor of 2.5")
    assert rarest.decided((2e4, 3e4), 5e5, 0.4, 0).endswith("by a factor of 2.5")
    assert rarest.decided(None, 5e5, 1, 0).startswith("not testable here")


def test_tokens_of_all_trainers_are_written_alike(text: Text) -> None:
    documents = [document for part in likeness.read(text, 10**9) for document in part]
    weights = likeness.counted(documents)
    assert weights.total() > 5000
    assert len(likeness.counted(likeness.read(text, 1000)[0])) < 600
    for kind in likeness.NAMES.values():
        strings, cut = likeness.trained(kind, documents, 120)
        assert 60 < len(strings) <= 120, kind
        for word, tokens in zip(weights, cut(list(weights)), strict=True):
            assert "".join(tokens) == f"{likeness.START}{word}", kind
            assert set(tokens) <= strings, kind
    assert likeness.jaccard(frozenset("abc"), frozenset("bcd")) == 0.5
    assert likeness.written(lambda some: [list(word) for word in some], {"ab": 2, "b": 1}) == Counter("aabbb")


def test_only_unigram_learns_otherwise_where_words_lie_otherwise(text: Text) -> None:
    """Documents as they stand, with marks, against one list of their words."""
    documents = [document.replace(" ", ", ", 3) for part in likeness.read(text, 10**9) for document in part]
    weights = likeness.counted(documents)
    listed = likeness.side_by_side(weights)
    assert likeness.counted(listed) == likeness.counted(likeness.marked(documents)) == weights
    differ = {kind for kind in likeness.NAMES.values() if _strings(kind, documents) != _strings(kind, listed)}
    assert differ == {"unigram"}


def _strings(kind: str, documents: list[str]) -> frozenset[str]:
    return likeness.trained(kind, documents, 120)[0]


def test_likeness_has_a_row_for_each_pair(text: Text) -> None:
    rows = list(likeness.rows(text, 120))
    assert len(rows) == 20
    assert sum(bool(row.verdict) for row in rows) == 6
    assert all(0 <= float(row.figure) <= 1 and row.interval != "none" for row in rows)


def test_slope_is_that_of_least_squares() -> None:
    lengths = np.random.default_rng(5).integers(1, 9, 500)
    bits = 3.0 - 0.2 * lengths + np.random.default_rng(6).standard_normal(500)
    counts = np.bincount(lengths, minlength=65)
    sums = np.bincount(lengths, bits, 65)
    assert longer_tokens.slope(counts, sums) == pytest.approx(np.polyfit(lengths, bits, 1)[0])
    longer = lengths > lengths.mean()
    ratio = (bits[longer].sum() / lengths[longer].sum()) / (bits[~longer].sum() / lengths[~longer].sum())
    assert longer_tokens.per_byte_ratio(counts, sums) == pytest.approx(ratio)


def test_every_token_is_scored_in_its_group(text: Text) -> None:
    counts, bits = longer_tokens.scored(text, 300)
    model = bpe.BpeTokenizer(bpe.model_of_training(learnt(text, 300), "o200k"))
    assert counts.sum() == sum(len(model.encode(one)) for one in text.measured.documents)
    assert (counts * np.arange(counts.shape[1])).sum(axis=1).tolist() == text.measured.by_group(
        text.measured.sizes
    ).tolist()
    assert ((bits > 0) <= (counts > 0)).all()


def test_an_eighth_of_the_ids_is_compared(text: Text) -> None:
    rows = list(eighth.rows(text, 8 * 280))
    assert [row.text for row in rows] == ["syllables"] * 3
    assert float(rows[0].figure) > 1.05
    assert rows[0].verdict == "refuted"
    assert eighth.ratio(np.array([6, 3]), np.array([2, 1]), np.array([True, False])) == 3


def test_numbers_are_in_whole_groups_from_the_right_where_triples_are_tokens(tmp_path: Path) -> None:
    assert digits.in_whole_groups(7, [1, 3, 3])
    assert digits.in_whole_groups(6, [3, 1, 2]) is False
    chance = random.Random(7)
    drawn = ["".join(chance.choices("12", k=chance.randint(4, 9))) for _ in range(1600)]  # eight triples
    lines = [f"{a} of {b} or {n}" for n, (a, b) in enumerate(zip(drawn[::2], drawn[1::2], strict=True))]
    path = tmp_path / "numbers.txt"
    path.write_text("\n".join(lines), encoding="utf-8")
    text = Text.read("numbers", [f"path:{path}?split=line"])
    right = digits.counted(text, "right", 500)
    found = digits.NUMBER.findall("\n".join(text.measured.documents))
    assert right[0].sum() == len(found)
    assert right[1].sum() == right[0].sum(), "all triples are tokens"
    assert right[2].sum() == sum(-(-len(number) // 3) for number in found)
    left = digits.counted(text, "left", 500)
    assert left[1].sum() == sum(len(number) % 3 == 0 for number in found)
    assert [row.verdict for row in digits.rows(text, 500) if row.verdict] == ["confirmed"]


def test_a_report_says_claim_rule_text_and_verdict(
    text: Text, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row = verdicts.Row("x", "y", "1", "0 to 2", "confirmed")
    claim = verdicts.Claim("said", "rule", lambda _: [row], (SAMPLE,))
    report = verdicts.report(claim, [text])
    for line in ("claim: said", "rule: rule", "| x | y | 1 | 0 to 2 | confirmed |"):
        assert line in report.splitlines()
    assert "\nverdict: not testable here, because a text is small" in report
    large = replace(text, sizes=text.sizes * 100)
    assert "verdict: confirmed (1 of 1 rows)" in verdicts.report(claim, [large]).splitlines()
    path = tmp_path / "one.txt"
    path.write_text("one\ntwo\n", encoding="utf-8")
    verdicts.run(claim, ["--texts", f"path:{path}?split=line"])
    assert "2 documents; the text is small" in capsys.readouterr().out
    with pytest.raises(SystemExit) as ended:
        verdicts.run(claim, ["--texts", "path:/does/not/exist"])
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith("error: ")

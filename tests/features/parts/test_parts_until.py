"""How much is enough: bets on the ratio of the whole, the order that is drawn, and a run that stops."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import permutations
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from cases.command_line import call, refused
from divided import runs as divided
from layout.thoroughness import examples
from pyharness import store
from pyharness.features.parts import looks, planning, ray_cluster
from pyharness.features.parts.ray_cluster import RayExecutor
from pyharness.types import InputError

Floats = NDArray[np.float64]

FEW = 3  # parts before the first bet, in small texts
WIDTHS = st.sampled_from([0.005, 0.02, 0.3])


def parts_of(tokens: Sequence[tuple[int, int]]) -> tuple[Floats, Floats]:
    row, reference = np.array(tokens, np.float64).T
    return row, reference


@contextlib.contextmanager
def early_bets(first: int = FEW) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(looks, "FIRST", first)
        yield


# Tokens of both rows: no part has more than five times the mean of any others.
ALIKE = st.tuples(st.integers(20, 60), st.integers(20, 60))


# ------------------------------------------------------------------------------------------------ the rule


@pytest.mark.parametrize(("written", "share"), [("0.5%", 0.005), ("2 %", 0.02), ("50%", 0.5)])
def test_widths(written: str, share: float) -> None:
    assert looks.limit_of(written) == pytest.approx(share)


@pytest.mark.parametrize("written", ["", "0.5", "0%", "-1%", "50.1%", "100%", "0.0000001%", "nan%", "1e1%", "0.5%%"])
def test_what_is_no_width(written: str) -> None:
    with pytest.raises(InputError, match="width"):
        looks.limit_of(written)


@given(st.integers(1, 10**6))
def test_looks_are_at_every_32nd_of_the_parts_but_not_of_few(parts: int) -> None:
    sizes = looks.sizes(parts)
    assert sizes == sorted(set(sizes))
    assert all(32 <= size < parts for size in sizes)
    if parts >= 1024:
        assert sizes == [math.ceil(Fraction(parts * look, 32)) for look in range(1, 32)]


def written_out(parts: Sequence[tuple[int, int]], of: int, ratio: Fraction, shares: Floats, above: bool) -> Fraction:
    """The wealth of a bet, part after part, with fractions."""
    wealth = Fraction(1)
    for index in range(FEW, len(parts)):
        before = parts[:index]
        expected = -sum((y - ratio * x for x, y in before), Fraction()) / (of - index)
        of_row, of_reference = (5 * Fraction(sum(one)) / index for one in zip(*before, strict=True))
        off = parts[index][1] - ratio * parts[index][0] - expected
        bound = ratio * of_row + expected if above else of_reference - expected
        wealth *= 1 + Fraction(float(shares[index - FEW])) / bound * (off if above else -off)
    return wealth


@given(st.lists(ALIKE, min_size=FEW + 1, max_size=12), st.integers(0, 5), WIDTHS, st.booleans())
def test_wealth_is_that_of_the_definition(tokens: list[tuple[int, int]], more: int, width: float, above: bool) -> None:
    row, reference = parts_of(tokens)
    of, ratio = len(tokens) + more + 1, Fraction(sum(y for _, y in tokens), sum(x for x, _ in tokens))
    candidate = ratio * (1 - Fraction(width) if above else 1 + Fraction(width))
    with early_bets():
        shares = looks.stakes(row, reference, of, width)
        logarithm = looks.log_wealth(row, reference, of, float(candidate), shares, above=above)[-1]
    if logarithm > -math.inf:
        wealth = written_out(tokens, of, candidate, shares, above)
        assert math.exp(logarithm) == pytest.approx(float(wealth), rel=1e-9)


@given(st.lists(ALIKE, min_size=FEW + 1, max_size=12), WIDTHS)
def test_the_stake_is_the_mean_gain_over_its_mean_square(tokens: list[tuple[int, int]], width: float) -> None:
    of, index = len(tokens) + 2, len(tokens) - 1
    before = tokens[:index]
    row, reference = (Fraction(sum(one), index) for one in zip(*before, strict=True))
    variance = sum((y - reference / row * x) ** 2 for x, y in before) / index
    off = Fraction(width) * reference * of / (of - index)
    expected = min(0.95, float(5 * reference * off / (variance + off**2)))
    with early_bets():
        assert looks.stakes(*parts_of(tokens), of, width)[-1] == pytest.approx(expected, rel=1e-6)


@given(st.lists(ALIKE, min_size=8, max_size=12), ALIKE, st.integers(FEW, 7), WIDTHS)
def test_a_stake_depends_on_the_parts_before_alone(
    tokens: list[tuple[int, int]], other: tuple[int, int], place: int, width: float
) -> None:
    changed = [*tokens[:place], *[other] * (len(tokens) - place)]
    with early_bets():
        one, two = (looks.stakes(*parts_of(parts), 20, width) for parts in (tokens, changed))
    assert one[: place - FEW + 1].tolist() == two[: place - FEW + 1].tolist()


@given(st.lists(ALIKE, min_size=FEW + 1, max_size=12), st.floats(0.3, 3), st.floats(1, 2), st.integers(0, 40))
def test_wealth_is_monotone_in_the_candidate(
    tokens: list[tuple[int, int]], lower: float, times: float, more: int
) -> None:
    """For all candidates that can be the truth: those for which bounds stay above 0."""
    row, reference = parts_of(tokens)
    of = len(tokens) + more
    with early_bets():
        shares = looks.stakes(row, reference, of, 0.02)
        for above in (True, False):
            near, far = (
                looks.log_wealth(row, reference, of, one, shares, above=above)
                for one in sorted((lower, lower * times), reverse=above)
            )
            possible = np.isfinite(far)
            assert np.isfinite(near[possible]).all()
            assert (far[possible] >= near[possible] - 1e-9).all()


@given(st.lists(ALIKE, min_size=6, max_size=6), st.booleans(), WIDTHS)
def test_neither_bet_gains_if_the_candidate_is_the_truth(
    tokens: list[tuple[int, int]], above: bool, width: float
) -> None:
    """Over all orders the wealth is 1 on average, after every part: a martingale."""
    orders = [parts_of(order) for order in permutations(tokens)]
    ratio = float(orders[0][1].sum() / orders[0][0].sum())
    with early_bets():
        ends = [looks.log_wealth(*one, 6, ratio, looks.stakes(*one, 6, width), above=above) for one in orders]
    assert np.exp(ends).mean(axis=0) == pytest.approx([1, 1, 1], abs=1e-9)


def test_a_part_beyond_what_is_assumed_makes_nothing_narrow() -> None:
    usual = np.ones(900)
    assert looks.is_narrow(usual, usual, 1000, 0.02)
    for place in (0, 29, 30, 899):
        large, none = usual.copy(), usual.copy()
        large[place], none[place] = 6.5, math.nan
        for other in (large, none, np.zeros(900)):
            assert not looks.is_narrow(other, usual, 1000, 0.02)
            assert not looks.is_narrow(usual, other, 1000, 0.02)
    # As a bet sees it: its wealth is gone for good.
    reference = usual.copy()
    reference[40] = 1e3
    shares = looks.stakes(usual, usual, 1000, 0.02)
    wealth = looks.log_wealth(usual, reference, 1000, 1.02, shares, above=False)
    assert np.isfinite(wealth[:10]).all()
    assert (wealth[10:] == -math.inf).all()


def test_a_stop_takes_a_wealth_of_two_over_alpha_on_either_side() -> None:
    row, reference = np.tile([1.0, 2, 3], 200), np.tile([1.0, 2.1, 2.9], 200)
    shares, ratio = looks.stakes(row, reference, 1000, 0.02), reference.sum() / row.sum()
    ends = ((0.98 * ratio, True), (1.02 * ratio, False))
    most = [looks.log_wealth(row, reference, 1000, end, shares, above=above).max() for end, above in ends]
    assert most[0] != most[1]
    alpha = 2 / math.exp(min(most))
    assert looks.is_narrow(row, reference, 1000, 0.02, 1.001 * alpha)
    assert not looks.is_narrow(row, reference, 1000, 0.02, 0.999 * alpha)


def test_how_many_parts_a_stop_takes() -> None:
    for width, least in ((0.05, 120), (0.02, 290), (0.005, 1200)):
        assert looks.least_parts(width) == least
        assert looks.can_stop(least, width)
        assert not looks.can_stop(least * 9 // 10, width)
    assert looks.least_parts(0.02, 0.05 / 20) > looks.least_parts(0.02)  # type: ignore[operator]
    assert looks.least_parts(1e-8) is None
    assert not looks.can_stop(192, 0.03)  # though 190 parts can: the last look is of fewer
    assert looks.least_parts(0.03, above=192) == 200
    assert looks.can_stop(200, 0.03)


# Row and reference of the parts of a rare kind, which are 1 and 1 of others; and how many of 1,000 there are. A rule
# that missed them all would err by more than 2 %.
RARE = {"more of the reference": (1, 4.5, 6), "more of the row": (4.5, 1, 6), "a third more": (1, 1.33, 70)}


@pytest.mark.parametrize("kind", RARE)
def test_a_stop_holds_the_whole(kind: str) -> None:
    of_row, of_reference, number = RARE[kind]
    generator, draws = np.random.default_rng(7), examples(1000)
    row, reference = np.ones(1000), generator.normal(1, 0.02, 1000)
    row[:number], reference[:number] = of_row, of_reference
    stops = [_stop(row[order], reference[order]) for order in (generator.permutation(1000) for _ in range(draws))]
    assert sum(share < 1 for share, _ in stops) >= 0.9 * draws
    assert sum(is_near for _, is_near in stops) >= 0.93 * draws


def _stop(row: Floats, reference: Floats, width: float = 0.02) -> tuple[float, bool]:
    for size in looks.sizes(len(row)):
        if looks.is_narrow(row[:size], reference[:size], len(row), width):
            ratio = reference[:size].sum() / row[:size].sum()
            return size / len(row), abs(reference.sum() / row.sum() - ratio) <= width * ratio
    return 1.0, True


# ------------------------------------------------------------------------------------------------ a run


TWO = ("raw_bytes", {"name": "again", "spec": "raw_bytes"})


def write_rows(folder: Path, rows: Sequence[Any] = TWO, count: int = 120) -> Path:
    lines = [json.dumps({"text": f"words of document {number:04}, and 1 or 2 more " * 3}) for number in range(count)]
    (folder / "rows.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return divided.write_suite(folder, rows, ["rows.jsonl"], ["compression"])


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A suite that may stop in few parts."""
    monkeypatch.setattr(looks, "FIRST", 2)
    monkeypatch.setattr(looks, "LOOKS", 4)
    monkeypatch.setattr(looks, "MOST", 2.0)
    return write_rows(tmp_path)


class AlwaysNarrow(looks.Until):
    def is_narrow(self, read: Sequence[int]) -> bool:
        return True


@pytest.mark.parametrize("before", [0, 1, 40, 64])
def test_a_run_that_others_began_goes_on_until_their_parts_are_of_the_first(before: int) -> None:
    folder = SimpleNamespace(digest="0" * 64, plan=SimpleNamespace(parts=64))
    run: Any = SimpleNamespace(folder=folder)
    order = looks.in_drawn_order(run)
    folder.missing = lambda: order[before:]
    assert sorted(order) == list(range(64)) != order
    until = AlwaysNarrow(run, 0.02)
    read = [part for batch in until.batches() for part in batch]
    ends = looks.sizes(64)
    expected = next((end for end in ends if end >= before), None)
    assert until.stopped == expected
    assert read == order[:expected]


def test_the_order_is_that_of_the_plan(small: Path, tmp_path: Path) -> None:
    divided.planned(small, 60, tmp_path / "run")
    orders = [looks.in_drawn_order(planning.opened(tmp_path / "run")) for _ in range(2)]
    assert orders[0] == orders[1] != sorted(orders[0])


@pytest.mark.parametrize("quiet", [False, True])
def test_a_run_stops_where_it_is_enough_and_says_so(small: Path, tmp_path: Path, quiet: bool) -> None:
    output, words = tmp_path / "record.json", ["-q"] if quiet else []
    done = call("run", str(small), "--parts", "16", "--until", "50%", "-o", str(output), *words)
    assert done.returncode == 0, done.stderr
    read = store.read(output).data["corpora"]["rows.jsonl"]["parts"]
    assert read["of"] == 16
    assert read["read"] in (8, 12)
    sentences = [line for line in done.stderr.splitlines() if "50 %" in line]
    assert len(sentences) == (0 if quiet else 1)
    assert all(str(read["read"]) in line and "16" in line for line in sentences)
    assert not (tmp_path / "record.json.parts").exists()


def test_a_run_that_is_never_narrow_reads_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looks, "FIRST", 2)
    monkeypatch.setattr(looks, "LOOKS", 4)
    monkeypatch.setattr(looks, "MOST", 2.0)
    divided.write_texts(tmp_path, 12)  # a part has a file of packed/, or nothing
    suite = divided.write_suite(tmp_path, TWO, ["rows.jsonl", "packed"], ["compression"])
    output = tmp_path / "record.json"
    done = call("run", str(suite), "--parts", "16", "--until", "50%", "-o", str(output))
    assert done.returncode == 0, done.stderr
    assert "50 %" not in done.stderr
    assert not any("parts" in corpus for corpus in store.read(output).data["corpora"].values())
    divided.assert_equal(store.read(output), divided.in_one_process(suite, tmp_path / "whole.json"))


def test_a_part_without_counts_makes_nothing_narrow(small: Path, tmp_path: Path) -> None:
    divided.planned(small, 16, tmp_path / "run")
    divided.worked(tmp_path / "run", *range(12))
    run = planning.opened(tmp_path / "run")
    assert looks.Until(run, 0.5).is_narrow(range(12))
    assert not looks.Until(run, 0.5).is_narrow(range(13))
    next((tmp_path / "run" / "3").glob("*.part.zip")).write_bytes(b"damage")
    assert not looks.Until(run, 0.5).is_narrow(range(12))


def test_a_row_that_is_skipped_has_no_ratio_to_wait_for(small: Path, tmp_path: Path) -> None:
    for name, rows, narrow in (("some", [*TWO, "patches:space"], True), ("all", ["raw_bytes", "patches:space"], False)):
        divided.planned(write_rows(tmp_path, rows), 16, tmp_path / name)
        divided.worked(tmp_path / name, *range(12))
        assert looks.Until(planning.opened(tmp_path / name), 0.5).is_narrow(range(12)) == narrow


def test_a_row_that_fails_lets_no_run_stop(small: Path, tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text("no JSON\n" * 120, encoding="utf-8")
    (tmp_path / "good.jsonl").write_text('{"text": "words"}\n' * 160, encoding="utf-8")
    suite = divided.write_suite(tmp_path, TWO, ["rows.jsonl", "good.jsonl"], ["compression"])
    done = call("run", str(suite), "--parts", "16", "--until", "50%", "-q", "-o", str(output := tmp_path / "r.json"))
    assert done.returncode == 2
    assert store.read(output).data["corpora"]["good.jsonl"].get("parts") is None


def test_a_record_of_a_share_is_finished_for_a_run_that_wants_a_share(small: Path, tmp_path: Path) -> None:
    again = ("run", str(small), "--parts", "16", "-q", "-o", str(tmp_path / "record.json"))
    assert call(*again, "--until", "50%").returncode == 0
    assert call(*again, "--until", "50%", "--resume").returncode == 0
    assert "12 of 16" in refused(*again, "--resume")


def test_a_cluster_has_one_batch_after_the_other(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def answers(self: RayExecutor, folder: Path, parts: list[int], device: str) -> Iterator[dict[str, Any]]:
        asked.append(len(parts))
        assert divided.worked(folder, *parts).returncode == 0
        yield from ({"part": part} for part in parts)

    monkeypatch.setattr(ray_cluster, "require", lambda *_: None)
    monkeypatch.setattr(RayExecutor, "_answers", answers)
    output = tmp_path / "record.json"
    done = call("run", str(small), "--parts", "16", "--until", "50%", "--on", "ray", "-q", "-o", str(output))
    assert done.returncode == 0, done.stderr
    assert store.read(output).data["corpora"]["rows.jsonl"]["parts"] == {"read": sum(asked), "of": 16}
    assert set(asked) == {4}


def test_pairs_are_rows_with_the_reference_on_each_text() -> None:
    entries = [SimpleNamespace(label=label) for label in ("a", "b", "c")]
    texts = [SimpleNamespace(label=label) for label in ("x", "y")]
    chosen = [
        SimpleNamespace(benchmark="compression", tokenizers=None, corpora=("x",)),
        SimpleNamespace(benchmark="compression", tokenizers=("a", "b"), corpora=None),
        SimpleNamespace(benchmark="compression", tokenizers=("b",), corpora=None),
        SimpleNamespace(benchmark="segmentation", tokenizers=None, corpora=None),
    ]
    suite: Any = SimpleNamespace(tokenizers=entries, corpora=texts, selections=chosen, reference=None)
    assert looks.pairs_of(suite) == [("b", "a", "x"), ("c", "a", "x"), ("b", "a", "y")]
    suite.reference = "c"
    assert looks.pairs_of(suite) == [("a", "c", "x"), ("b", "c", "x")]


def test_what_cannot_stop_is_refused(tmp_path: Path) -> None:
    suite, output = write_rows(tmp_path, count=3), str(tmp_path / "record.json")
    three = write_rows_of(tmp_path / "three", [*TWO, "deepseek"])
    alone = write_rows_of(tmp_path / "alone", ["raw_bytes"])
    assert "--parts" in refused("run", str(suite), "--until", "1%", "-o", output)
    assert "width" in refused("run", str(suite), "--parts", "2", "--until", "1", "-o", output)
    assert "290" in refused("run", str(suite), "--parts", "280", "--until", "2%", "-o", output)
    assert "340" in refused("run", str(three), "--parts", "280", "--until", "2%", "-o", output)
    assert "no number" in refused("run", str(suite), "--parts", "280", "--until", "0.000001%", "-o", output)
    assert "1000001" in refused("run", str(suite), "--parts", "1000001", "--until", "2%", "-o", output)
    assert "compression" in refused("run", str(alone), "--parts", "480", "--until", "2%", "-o", output)
    assert not list(tmp_path.glob("record*"))


def write_rows_of(folder: Path, rows: Sequence[Any]) -> Path:
    folder.mkdir()
    return write_rows(folder, rows, 3)

"""The study of the columns that papers print: the whole pool has the numbers of the benchmarks; what holds, and not."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import pyharness
from columns import __main__ as command
from columns import drawing
from columns.aligned import of_words, with_frequencies
from columns.drawing import CoverageLine, MeasuredPool, by_group, lines_of, simulate
from columns.texts import ALPHA, WINDOW, of_code, of_documents, of_kinds, of_noise
from coverage import DrawsByName
from pyharness import tokenizers
from pyharness.features.morphology.formats import GoldWord
from pyharness.features.morphology.gold import read_gold
from pyharness.statistics import jackknife
from pyharness.types import Measurement, digest_of

TEXTS = [f"def f_{number}(a, b_c):\n    return a + {number}\n" for number in range(70)]


def values(measurements: list[Measurement]) -> dict[tuple[str, str | None], float | int | None]:
    return {(one.metric, one.part): one.value for one in measurements}


def measured(benchmark: dict[str, object], text: str) -> dict[tuple[str, str | None], float | int | None]:
    record = pyharness.run(["raw_bytes"], [text], [benchmark]).record
    (result,) = (one for one in record.results if one.case.benchmark == benchmark["name"])
    return values(list(result.measurements))


def whole(pair: tuple[drawing.Measure, int]) -> dict[tuple[str, str | None], float | int | None]:
    of, pool = pair
    return values(list(of(np.arange(pool), [digest_of(str(place)) for place in range(pool)])))


def test_all_words_have_the_numbers_of_the_benchmark(tmp_path: Path) -> None:
    gold = tmp_path / "gold.tsv"
    gold.write_text("".join(f"walk{'a' * place}s\twalk{'a' * place} @@s\n" for place in range(80)))
    pair = of_words(tokenizers.load("raw_bytes"), read_gold(str(gold)).words)
    assert pair[1] == 80
    assert whole(pair) == measured({"name": "morphology", "gold": str(gold)}, "sample:prose")


def test_words_get_their_counts_in_texts() -> None:
    words = [GoldWord("walks", ("walk", "s")), GoldWord("rare", ("rare",))]
    assert [one.frequency for one in with_frequencies(words, ["walks, walks", "he walks"])] == [4.0, 1.0]


def test_all_documents_have_the_numbers_of_the_benchmark(tmp_path: Path) -> None:
    texts = [f"naïve {place} " * (place + 3) for place in range(70)]
    path = tmp_path / "pool.jsonl"
    path.write_text("\n".join(json.dumps({"text": text}) for text in texts))
    row = tokenizers.load("raw_bytes")
    ours = {**whole(of_documents(row, texts)), **whole(of_kinds(row, texts))}
    expected = measured({"name": "distribution", "window": WINDOW, "alpha": ALPHA}, f"path:{path}")
    for key, value in expected.items():
        if key[0] != "successor_entropy":  # of a sample: the study leaves it out
            assert ours[key] == (None if value is None else pytest.approx(value, rel=1e-12)), key


def test_all_leaves_have_the_numbers_of_the_benchmark(tmp_path: Path) -> None:
    path = tmp_path / "pool.jsonl"
    path.write_text("\n".join(json.dumps({"text": text}) for text in TEXTS))
    assert whole(of_code("raw_bytes", "python", TEXTS)) == measured(
        {"name": "code", "language": "python"}, f"path:{path}"
    )


def test_counts_of_drawn_items_add_up() -> None:
    counts, chosen = np.arange(12).reshape(4, 3), np.array([3, 3, 0])
    sums = by_group(counts, chosen, [digest_of(str(place)) for place in range(3)])
    assert (sums.sum(axis=0) == counts[chosen].sum(axis=0)).all()


def test_a_draw_of_equal_documents_has_no_interval() -> None:
    def drawn(texts: list[str]) -> DrawsByName:
        of, pool = of_noise(tokenizers.load("raw_bytes"), texts)
        return simulate(MeasuredPool("noise", pool, (of, of)), 80, 3)

    assert "noise_tokens bidi" in drawn(TEXTS)
    assert not drawn(TEXTS[:1] * len(TEXTS))


def means(**lacks: str) -> MeasuredPool:
    """A pool of numbers, of which both rows measure the mean; ``lacks``: why it has no single, or paired, CIs."""
    numbers = np.random.default_rng(1).normal(5, 1, (2, 3000))

    def row(place: int) -> drawing.Measure:
        def measure(chosen: drawing.Integers, keys: object) -> list[Measurement]:
            groups = drawing.groups_of(keys)  # type: ignore[arg-type]
            sums = np.bincount(groups, numbers[place][chosen], 32)
            counts = np.bincount(groups, minlength=32)

            def mean(kept: jackknife.Groups) -> float:
                return float(sums[kept].sum() / counts[kept].sum())

            one = jackknife.estimate("premium_gini", counts.tolist(), mean)
            return [replace(one, **lacks)]  # type: ignore[arg-type]

        return measure

    return MeasuredPool("numbers", 3000, (row(0), row(1)))


def test_means_hold_and_what_is_too_narrow_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = means()
    (line,) = lines_of("numbers", simulate(pool, 200, 400))
    assert line.shown > 90
    assert all(share is not None and share > 92 for share in (line.single, line.paired))
    monkeypatch.setattr(jackknife, "half_width", lambda _: 1e-4)
    (line,) = lines_of("numbers", simulate(pool, 200, 50))
    assert not line.holds


def test_what_lacks_one_sort_of_ci_is_drawn_for_the_other() -> None:
    (alone,) = lines_of("numbers", simulate(means(no_pair="too wide"), 200, 100))
    assert alone.paired is None
    assert (alone.single or 0) > 88 < alone.shown
    (pair,) = lines_of("numbers", simulate(means(no_interval="too wide"), 200, 100))
    assert pair.single is None
    assert (pair.paired or 0) > 88 < pair.shown
    assert not simulate(means(no_interval="too wide", no_pair="too wide"), 200, 5)


@pytest.mark.parametrize(
    ("single", "paired", "holds"),
    [(95.0, None, True), (None, None, True), (97.4, 92.6, True), (97.6, 95, False), (95, 92.4, False)],
)
def test_what_holds(single: float | None, paired: float | None, holds: bool) -> None:
    assert CoverageLine("a", "b", single, paired, 100.0).holds is holds


def test_the_command_prints_a_line_for_each_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "pool_of", lambda *_: means())
    said: list[str] = []
    command.main(["--draws", "20", "--pools", "noise, books", "--data", "x"], said.append)
    assert "noise, books: 400 of 3,000 | premium_gini" in said[0]

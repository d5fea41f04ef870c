"""How much is enough: the order that is drawn, the interval over parts, and a run that stops."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases.command_line import call, refused
from divided import runs as divided
from layout.thoroughness import examples
from pyharness import store
from pyharness.features.parts import looks, planning
from pyharness.types import InputError


def write_rows(folder: Path, count: int) -> Path:
    lines = [json.dumps({"text": f"words of document {number:04}, and 1 or 2 more " * 3}) for number in range(count)]
    (folder / "rows.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return divided.write_suite(folder, ["raw_bytes", "mistral:tekken"], ["rows.jsonl"], ["compression"])


@pytest.mark.parametrize(("written", "share"), [("0.5%", 0.005), ("2 %", 0.02), ("99%", 0.99)])
def test_widths(written: str, share: float) -> None:
    assert looks.limit_of(written) == pytest.approx(share)


@pytest.mark.parametrize("written", ["", "0.5", "0%", "-1%", "100%", "nan%", "1e1%", "0.5%%"])
def test_what_is_no_width(written: str) -> None:
    with pytest.raises(InputError, match="width"):
        looks.limit_of(written)


@given(st.integers(1, 10**6))
def test_looks_grow_and_are_of_enough_parts(parts: int) -> None:
    sizes = looks.sizes(parts)
    assert sizes == sorted(set(sizes))
    assert all(looks.FEWEST <= size <= -(-parts // 2) for size in sizes)


@given(st.lists(st.tuples(st.integers(1, 10**6), st.integers(1, 10**6)), min_size=120, max_size=200))
def test_the_interval_is_that_of_the_definition(tokens: list[tuple[int, int]]) -> None:
    """Written out with fractions of sums, one part after another."""
    row, reference = (np.array(one, np.float64) for one in zip(*tokens, strict=True))
    count, of = len(tokens), 300
    ratio = sum(b for _, b in tokens) / sum(a for a, _ in tokens)
    squares = sum((b - ratio * a) ** 2 for a, b in tokens)
    mean = sum(a for a, _ in tokens) / count
    error = math.sqrt((1 - count / of) * squares / (count - 1) / count) / mean
    assert looks.half_width(row, reference, of) == pytest.approx(looks.QUANTILE * error / ratio, rel=1e-6, abs=1e-9)


def test_rows_without_tokens_are_never_narrow() -> None:
    none, some = np.zeros(130), np.ones(130)
    assert looks.half_width(none, some, 300) == math.inf
    assert looks.half_width(some, none, 300) == math.inf
    assert looks.half_width(some[:119], some[:119], 300) == math.inf


@pytest.mark.parametrize("rare", [0.0, 0.02, 0.1])
def test_a_stop_holds_the_whole_when_looks_repeat(rare: float) -> None:
    """Of made-up parts, some of which have a third more tokens: the whole rule, not a look."""
    generator, held, draws = np.random.default_rng(7), 0, examples(500)
    row = generator.gamma(20, 50, 1000)
    reference = row * generator.normal(1.1, 0.02, 1000) * np.where(np.arange(1000) < 1000 * rare, 1.3, 1)
    for _ in range(draws):
        held += _holds(row, reference, generator.permutation(1000))
    assert held >= 0.93 * draws


def _holds(row: Any, reference: Any, order: Any) -> bool:
    before = False
    for size in looks.sizes(len(row)):
        at = order[:size]
        half = looks.half_width(row[at], reference[at], len(row))
        if before and half <= 0.02:
            ratio = reference[at].sum() / row[at].sum()
            return abs(reference.sum() / row.sum() - ratio) <= half * ratio
        before = half <= 0.02
    return True


def test_the_order_is_that_of_the_plan(tmp_path: Path) -> None:
    suite = write_rows(tmp_path, 40)
    divided.planned(suite, 60, tmp_path / "run")
    run = planning.opened(tmp_path / "run")
    order = looks.in_drawn_order(run)
    assert order == looks.in_drawn_order(planning.opened(tmp_path / "run"))
    assert sorted(order) == list(range(60))
    assert order != list(range(60))


def test_a_run_stops_where_it_is_enough_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looks, "FEWEST", 2)
    suite, output = write_rows(tmp_path, 40), tmp_path / "record.json"
    done = call("run", str(suite), "--parts", "8", "--until", "5%", "-q", "-o", str(output))
    assert done.returncode == 0, done.stderr
    assert store.read(output).data["corpora"]["rows.jsonl"]["parts"] == {"read": 4, "of": 8}
    assert not (tmp_path / "record.json.parts").exists()


def test_a_run_that_is_never_narrow_reads_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looks, "FEWEST", 2)
    divided.write_texts(tmp_path, 12)
    suite = divided.write_suite(tmp_path, ["raw_bytes", "mistral:tekken"], ["rows.jsonl"], ["compression"])
    output = tmp_path / "record.json"
    done = call("run", str(suite), "--parts", "8", "--until", "0.0001%", "-q", "-o", str(output))
    assert done.returncode == 0, done.stderr
    assert "parts" not in store.read(output).data["corpora"]["rows.jsonl"]


def test_what_compares_nothing_is_refused(tmp_path: Path) -> None:
    suite = write_rows(tmp_path, 10)
    output = str(tmp_path / "record.json")
    assert "--parts" in refused("run", str(suite), "--until", "1%", "-o", output)
    assert "width" in refused("run", str(suite), "--parts", "2", "--until", "1", "-o", output)
    alone = divided.write_suite(tmp_path, ["raw_bytes"], ["rows.jsonl"], ["compression"])
    assert "480" in refused("run", str(suite), "--parts", "9", "--until", "1%", "-o", output)
    assert "two" in refused("run", str(alone), "--parts", "480", "--until", "1%", "-o", output)
    assert not list(tmp_path.glob("record*"))

"""How much is enough: the order that is drawn, the interval over parts, and a run that stops."""

from __future__ import annotations

import json
import math
from pathlib import Path

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


@given(st.lists(st.tuples(st.integers(1, 10**6), st.integers(1, 10**6)), min_size=60, max_size=99))
def test_the_interval_is_that_of_the_definition(tokens: list[tuple[int, int]]) -> None:
    """Written out with fractions of sums, one part after another."""
    row, reference = (np.array(one, np.float64) for one in zip(*tokens, strict=True))
    count, of = len(tokens), 100
    ratio = sum(b for _, b in tokens) / sum(a for a, _ in tokens)
    squares = sum((b - ratio * a) ** 2 for a, b in tokens)
    mean = sum(a for a, _ in tokens) / count
    error = math.sqrt((1 - count / of) * squares / (count - 1) / count) / mean
    assert looks.half_width(row, reference, of) == pytest.approx(looks.QUANTILE * error / ratio, rel=1e-6, abs=1e-9)


def test_rows_without_tokens_are_never_narrow() -> None:
    none, some = np.zeros(70), np.ones(70)
    assert looks.half_width(none, some, 90) == math.inf
    assert looks.half_width(some, none, 90) == math.inf
    assert looks.half_width(some[:59], some[:59], 90) == math.inf


def test_the_interval_holds_the_whole_when_looks_repeat() -> None:
    """Of made-up parts, most of which are alike, and some not: the whole rule, not a look."""
    generator, held, stopped = np.random.default_rng(7), 0, 0
    row = generator.gamma(20, 50, 640)
    reference = row * generator.normal(1.1, 0.02, 640) * np.where(generator.random(640) < 0.1, 1.3, 1)
    true = reference.sum() / row.sum()
    for _ in range(examples(500)):
        order = generator.permutation(640)
        for size in looks.sizes(640):
            at = order[:size]
            half = looks.half_width(row[at], reference[at], 640)
            if half <= 0.02:
                held += abs(reference[at].sum() / row[at].sum() / true - 1) <= half * 1.02
                stopped += 1
                break
    assert stopped > 0
    assert held >= 0.93 * stopped


def test_the_order_is_that_of_the_plan(tmp_path: Path) -> None:
    suite = write_rows(tmp_path, 40)
    divided.planned(suite, 60, tmp_path / "run")
    run = planning.opened(tmp_path / "run")
    order = looks.in_drawn_order(run)
    assert order == looks.in_drawn_order(planning.opened(tmp_path / "run"))
    assert sorted(order) == list(range(60))
    assert order != list(range(60))


def test_a_run_stops_where_it_is_enough_and_says_so(tmp_path: Path) -> None:
    suite, output = write_rows(tmp_path, 400), tmp_path / "record.json"
    done = call("run", str(suite), "--parts", "120", "--until", "5%", "-q", "-o", str(output))
    assert done.returncode == 0, done.stderr
    assert store.read(output).data["corpora"]["rows.jsonl"]["parts"] == {"read": 60, "of": 120}
    assert not (tmp_path / "record.json.parts").exists()


def test_a_run_that_is_never_narrow_reads_all(tmp_path: Path) -> None:
    divided.write_texts(tmp_path, 40)
    suite = divided.write_suite(tmp_path, ["raw_bytes", "mistral:tekken"], ["rows.jsonl"], ["compression"])
    output = tmp_path / "record.json"
    done = call("run", str(suite), "--parts", "20", "--until", "0.0001%", "-q", "-o", str(output))
    assert done.returncode == 0, done.stderr
    assert "parts" not in store.read(output).data["corpora"]["rows.jsonl"]


def test_what_compares_nothing_is_refused(tmp_path: Path) -> None:
    suite = write_rows(tmp_path, 10)
    output = str(tmp_path / "record.json")
    assert "--parts" in refused("run", str(suite), "--until", "1%", "-o", output)
    assert "width" in refused("run", str(suite), "--parts", "2", "--until", "1", "-o", output)
    alone = divided.write_suite(tmp_path, ["raw_bytes"], ["rows.jsonl"], ["compression"])
    assert "two" in refused("run", str(alone), "--parts", "2", "--until", "1%", "-o", output)
    assert not list(tmp_path.glob("record*"))

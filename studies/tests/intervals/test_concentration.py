"""The study of which intervals are shown: its intervals of many samples at once are the library's, one by one."""

from __future__ import annotations

import json
import lzma
from pathlib import Path

import numpy as np
import pytest

import concentration
import pools_of_text
from concentration import Cell, Counts, Estimates, Samples, alike, widths
from pyharness.statistics import jackknife
from pyharness.statistics.jackknife import GROUPS, MIN_GROUPS, lack


@pytest.fixture
def samples() -> Samples:
    """Samples of documents of very unequal size, of which some are carried by a few groups."""
    random = np.random.default_rng(3)
    sizes = np.exp(random.normal(7, 1, 300))
    tokens = {name: sizes / 4 * np.exp(random.normal(0, 0.2, 300)) for name in ("a", "b")}
    return Samples.drawn(Counts(sizes, tokens, np.ones(300)), 80, 50, random)


def test_intervals_of_many_samples_are_those_of_the_library(samples: Samples) -> None:
    rates = {name: Estimates.ratio(samples.bytes, tokens) for name, tokens in samples.tokens.items()}
    for estimates in (rates["a"], rates["b"], rates["b"].minus(rates["a"])):
        half, shown = widths(estimates, samples.held)
        for place in range(len(half)):
            held = samples.held[place]
            found = [
                float(one) if there else None for one, there in zip(estimates.replicates[place], held, strict=True)
            ]
            bounds = jackknife.interval(float(estimates.values[place]), found)
            assert (bounds is not None) == shown[place] == (lack(found) is None)
            if bounds is not None:
                assert (bounds[1] - bounds[0]) / 2 == pytest.approx(half[place], rel=1e-9)
    assert 0 < shown.sum() < len(shown)
    assert samples.held.sum(axis=1).min() >= MIN_GROUPS


def test_documents_of_a_work_are_added_up() -> None:
    counts = Counts(np.array([1.0, 2, 4]), {"a": np.array([3.0, 5, 7])}, np.ones(3))
    works = counts.of_works(np.array([1, 0, 1]))
    assert (works.bytes.tolist(), works.tokens["a"].tolist(), works.documents.tolist()) == ([2, 5], [5, 10], [1, 2])


def test_samples_whose_documents_are_too_unequal_are_those_of_the_library() -> None:
    random = np.random.default_rng(4)
    documents = random.integers(0, 5, (60, GROUPS))
    sizes = documents * np.exp(random.normal(0, 1, (60, 1)) * random.normal(0, 1, (60, GROUPS)))
    fit = alike(documents.astype(np.float64), sizes)
    assert fit.tolist() == [jackknife.unequal(*one) is None for one in zip(documents.tolist(), sizes, strict=True)]
    assert 0 < fit.sum() < len(fit)


def test_a_work_is_what_stands_before_the_last_number_sign(tmp_path: Path) -> None:
    (tmp_path / "corpora").mkdir()
    with lzma.open(tmp_path / "corpora/books.jsonl.xz", "wt", encoding="utf-8") as file:
        for name in ("C# in a nutshell#0", "C# in a nutshell#1", "plain"):
            file.write(json.dumps({"id": name, "text": name}) + "\n")
    found = list(pools_of_text.lines("books.jsonl.xz", "id")(tmp_path))
    assert [work for _, work in found] == ["C# in a nutshell", "C# in a nutshell", "plain"]


def test_text_is_cut_at_lines_and_nothing_is_lost() -> None:
    text = "".join(f"line {number}\n" for number in range(100)) + "end"
    pieces = concentration.cut_up(text, 50)
    assert "".join(pieces) == text
    assert all(50 <= len(piece) < 60 for piece in pieces[:-1])
    assert concentration.cut_up(text, None) == [text]


def test_the_table_says_how_many_are_shown_and_how_many_of_these_hold() -> None:
    cells = [
        Cell("books", "documents", 64, what, samples=100, shown=80, holding=76, all_holding=90)
        for what in ("gpt2", "gpt2 -> o200k")
    ]
    table = concentration.table(cells)
    assert table.splitlines()[0] == "| pool | unit | rows, 64 | pairs, 64 |"
    assert table.splitlines()[2] == "| books (chosen on) | documents | 80: 95.0 ±2.4 | 80: 95.0 ±2.4 |"
    said = concentration.summary([*cells, Cell("C headers", "works", 64, "gpt2", 100, 50, 40, 90)])
    assert "others: 1 figures, 1 shown in at least half of the samples" in said
    assert "1 below 93" in said


def test_pools_are_chosen_by_name_and_counts_are_kept(tmp_path: Path) -> None:
    """Counts that lie in the folder are those of the pool: no text and no tokenizer is opened."""
    random = np.random.default_rng(5)
    sizes = random.integers(500, 1500, 300)
    for name, works in (("books", np.arange(300) % 30), ("news, Thai", np.full(300, -1))):
        rows = {row: np.ceil(sizes / random.uniform(3, 5, 300)).astype(np.int64) for row in concentration.ROWS}
        np.savez(tmp_path / f"{name}.npz", works=works, bytes=sizes, **rows)  # type: ignore[arg-type]  # as the study says
    said: list[str] = []
    given = ["--samples", "20", "--sizes", "64", "--counts", str(tmp_path), "--data", str(tmp_path)]
    concentration.main([*given, "--pools", "books", "news, Thai"], said.append)
    table = [line.split(" | ")[:2] for line in said[0].splitlines() if line.startswith("| ")]
    assert table[1:] == [["| :--", ":--"], ["| books (chosen on)", "documents"], ["| books (chosen on)", "works"],
                         ["| news, Thai", "documents"]]  # fmt: skip
    with pytest.raises(SystemExit) as ended:
        concentration.main([*given, "--pools", "a pool of ours"])
    assert ended.value.code == 2

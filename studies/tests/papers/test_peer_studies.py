"""Columns of peers: sums by group, what is equal, and a tiny coverage."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import peer_columns
import peer_intervals
from document_states import Documents
from pyharness import tokenizers
from pyharness.tokenizers.segmenting import segmenter_of

TEXTS = [f"def f_{number}(a, b_c):\n    return a + {number}\n" for number in range(70)]


def test_counts_of_documents_add_up_to_those_of_the_text() -> None:
    counts = peer_intervals.code_counts("raw_bytes", "python", TEXTS)
    documents = Documents.read(peer_intervals.corpus_of(TEXTS))
    sums = peer_intervals.by_group(counts, documents.whole())
    assert (sums.sum(axis=0) == counts.sum(axis=0)).all()
    measured = {(one.metric, one.part): one.value for one in peer_intervals.of_code(sums)}
    assert measured["leaves_aligned", None] == 1


def test_a_draw_of_equal_documents_has_no_interval() -> None:
    documents = Documents.read(peer_intervals.corpus_of(TEXTS))
    counts = peer_intervals.noise_counts("raw_bytes", TEXTS)
    assert counts[:, 0].tolist() == [1] * len(TEXTS)
    draws = peer_intervals.simulate(documents, (counts, counts), peer_intervals.of_noise, 80, 3)
    assert "noise_round_trips case" not in draws


def test_numbers_of_tokeval_are_compared() -> None:
    cutter = segmenter_of(tokenizers.load("raw_bytes"))
    rows = list(peer_columns.compare_numbers("gpt2", cutter, ["12 and 1234567"]))
    assert [one.ours for one in rows] == [(0 + 2 / 6) / 2, 1.0, (0 + 0.5) / 2]
    assert not any(one.equal for one in rows)
    counts = peer_columns.leaf_counts("python", cutter, ["a **= b + c\n"])
    assert (counts["operator"], counts["operator both"], counts["identifier"]) == (2, 2, 3)
    assert np.isclose(peer_columns.Compared("x", 0.1 + 0.2, 0.3).ours, 0.3)
    assert peer_columns.Compared("x", 0.1 + 0.2, 0.3).equal


def test_each_number_of_the_file_is_compared(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    leaves = tmp_path / "leaves.csv"
    leaves.write_text("language,kind,leaves,starts,ends,both\npython,operator,2,2,1,2\n")
    monkeypatch.setattr(peer_columns, "CODE", leaves)
    cutter = segmenter_of(tokenizers.load("raw_bytes"))
    rows = list(peer_columns.compare_code(cutter, {"python": ["a **= b + c\n"]}))
    assert [(one.name, one.equal) for one in rows] == [
        ("python, operator", True), ("python, operator starts", True), ("python, operator ends", False),
        ("python, operator both", True),
    ]  # fmt: skip

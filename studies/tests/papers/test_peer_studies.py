"""Columns of peers: what is equal, and what differs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import peer_columns
from pyharness import tokenizers
from pyharness.tokenizers.segmenting import segmenter_of


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

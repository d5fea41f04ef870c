"""The arithmetic of the study of runs in parts that stop early."""

from __future__ import annotations

import numpy as np
import pytest

import parts_until
from pyharness.features.parts import looks


def test_parts_are_ranges_of_bytes() -> None:
    pieces = np.array([[10, 10, 20, 5, 5, 30], [1, 2, 3, 4, 5, 6], [6, 5, 4, 3, 2, 1]])
    assert parts_until.divided(pieces, 4).tolist() == [[1 + 2, 3, 4 + 5 + 6, 0], [6 + 5, 4, 3 + 2 + 1, 0]]


def test_pieces_are_drawn_in_runs() -> None:
    pieces = np.array([np.full(100, 10), np.arange(100)])
    few = parts_until.drawn(pieces, 2_000, np.random.default_rng(1))
    assert few[0].sum() == 2_000
    steps = np.diff(few[1])
    assert (steps == 1).sum() + (steps == -99).sum() >= len(steps) - len(steps) // parts_until.RUN


@pytest.mark.parametrize("mixed", [False, True])
def test_a_text_has_the_shares_of_its_kinds(mixed: bool) -> None:
    kinds = {kind: np.array([np.full(50, 1000), np.full(50, number)]) for number, kind in enumerate(("books", "code"))}
    text = parts_until.MadeText("some code", {"books": 0.9, "code": 0.1}, mixed)
    (tokens,) = parts_until.made(text, kinds, 100)
    assert tokens.sum() == pytest.approx(0.1 * 100 * parts_until.PART_BYTES / 1000, abs=2)
    assert ((tokens > 0).sum() > 12) == mixed


def test_equal_rows_stop_early_and_hold() -> None:
    row = np.linspace(90, 110, 1000)
    share, held = parts_until.stop(row, 2 * row, 0.02)
    assert share in [size / 1000 for size in looks.sizes(1000)]
    assert held


def test_what_is_never_narrow_is_read_whole() -> None:
    row = np.ones(1000)
    reference = np.where(np.arange(1000) == 500, 9.0, 1.0)  # more than any part is assumed to have
    assert parts_until.stop(row[::-1], reference, 0.001) == (1.0, True)


def test_a_line_of_the_table() -> None:
    row = np.ones(400)
    cells = parts_until._results(row, row, 0.02, 3).split(" | ")
    assert cells[:3] == ["| 3 of 3", "100.0%", "100.0%"]

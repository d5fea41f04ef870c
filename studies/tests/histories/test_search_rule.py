"""The searches that are played are those of ``find``: a clear step is found, and none is made up."""

from __future__ import annotations

from search_rule import counted


def test_a_clear_step_is_found_and_nothing_is_no_commit() -> None:
    clear = counted(0.2, 6, commits=32)
    assert (clear.hits, clear.wrong, clear.ranges) == (6, 0, 0)
    assert clear.launches >= 6 * 10 * 6
    nothing = counted(0.0, 3, commits=8)
    assert nothing.hits + nothing.wrong <= 1

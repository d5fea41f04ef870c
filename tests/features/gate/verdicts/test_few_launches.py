"""Verdicts where time left few launches: two or three that drew alike are no proof."""

from __future__ import annotations

import re

import pytest

from gating.launches import benchmark, launches
from pyharness.features.gate.types import GateRules, GateVerdict
from pyharness.features.gate.verdicts.judgements import judge

RULES = GateRules(budget=0.02, screen=0.02)  # ten launches
REGRESSION, IMPROVEMENT, INCONCLUSIVE = GateVerdict.REGRESSION, GateVerdict.IMPROVEMENT, GateVerdict.INCONCLUSIVE


@pytest.mark.parametrize(
    ("log", "spread", "verdict", "words"),
    [
        (0.05, 0.001, REGRESSION, "in 5 launches, budget 2 %"),
        (-0.05, 0.001, IMPROVEMENT, "in 5 launches, budget 2 %"),
        (0.05, 0.08, INCONCLUSIVE, r"\b0\.043\b.*; .*time ran out .*\b10 launches"),
        (0.014, 0.001, INCONCLUSIVE, r"; .*time ran out .*\b10 launches"),
    ],
)
def test_five_launches_of_ten_are_enough_for_a_rejection(
    log: float, spread: float, verdict: GateVerdict, words: str
) -> None:
    rounds = launches("encode", 0.05, [log + place * spread for place in range(-2, 3)])
    (found,) = judge([benchmark()], rounds, RULES)
    assert (found.verdict, found.launches) == (verdict, 5)
    assert re.search(words, found.reason)


@pytest.mark.parametrize(("screen", "asked"), [(0.05, True), (0.0, False)])
def test_few_launches_that_the_screen_did_not_ask_for_are_said_so(screen: float, asked: bool) -> None:
    """They were made for the memory, and no time ran out."""
    (found,) = judge([benchmark()], launches("encode", screen, [0.05, 0.06, 0.07]), RULES)
    assert (found.verdict, found.launches) == (INCONCLUSIVE, 3)
    assert ("the screen" in found.reason, "time ran out" in found.reason) == (asked, asked)
    assert "fewer than 5 launches" in found.reason

"""Figures in words, for the reasons of judgements."""

from __future__ import annotations

import math
from collections.abc import Mapping

from pyharness.features.gate.types import Figure, Side

WORSE: Mapping[Figure, str] = {"time": "slower", "memory": "more memory", "instructions": "more instructions"}
BETTER: Mapping[Figure, str] = {"time": "faster", "memory": "less memory", "instructions": "fewer instructions"}


def percent(share: float) -> str:
    """Format per cent, with one decimal place unless it is 0.

    >>> percent(0.02), percent(0.0343), percent(1e-6)
    ('2 %', '3.4 %', '0 %')
    """
    digits = f"{100 * share:.1f}"
    return ("0" if digits in ("0.0", "-0.0") else digits.removesuffix(".0")) + " %"


def change(effect: float, figure: Figure) -> str:
    """Describe the head relative to the base: ``effect`` is head / base - 1.

    >>> change(0.034, "time"), change(-0.02, "memory"), change(0.0, "time")
    ('3.4 % slower', '2 % less memory', 'as fast')
    """
    if percent(effect) == "0 %":
        return "as fast" if figure == "time" else f"no {WORSE[figure]}"
    return f"{percent(abs(effect))} {WORSE[figure] if effect > 0 else BETTER[figure]}"


def between(effect: float, interval: tuple[float, float] | None) -> str:
    """Return the 95 % CI of an effect in per cent, to follow ``change``: both ends have its direction.

    >>> between(0.085, (0.079, 0.091)), between(-0.2, (-0.21, -0.19))
    (' (7.9 to 9.1)', ' (19.0 to 21.0)')
    """
    if interval is None:
        return ""
    low, high = interval if effect >= 0 or percent(effect) == "0 %" else (-interval[1], -interval[0])
    return f" ({100 * low:.1f} to {100 * high:.1f})"


def megabytes(values: Mapping[Side, float]) -> str:
    """Return the memory of both sides."""
    return f"base {values['base'] / 1e6:.1f} MB, head {values['head'] / 1e6:.1f} MB"


def relative(log: float) -> float:
    """Return head / base - 1 from the logarithm of head / base; infinite beyond the range of floats."""
    try:
        return math.expm1(log)
    except OverflowError:
        return math.inf

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


def between(interval: tuple[float, float] | None) -> str:
    """Return an interval of effects, to follow a change; above 0 is slower."""
    if interval is None:
        return ""
    return f" [{100 * interval[0]:.1f}, {100 * interval[1]:.1f}]"


def several(count: int, noun: str) -> str:
    """Return count and noun.

    >>> several(1, "launch"), several(5, "launch"), several(2, "round")
    ('1 launch', '5 launches', '2 rounds')
    """
    return f"{count} {noun}" + ("" if count == 1 else "es" if noun.endswith("ch") else "s")


def megabytes(values: Mapping[Side, float]) -> str:
    """Return the memory of both sides."""
    return f"{values['base'] / 1e6:.1f} MB before, {values['head'] / 1e6:.1f} MB now"


def relative(log: float) -> float:
    """Return head / base - 1 from the logarithm of head / base; infinite beyond the range of floats."""
    try:
        return math.expm1(log)
    except OverflowError:
        return math.inf

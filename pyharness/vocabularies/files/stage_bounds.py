"""Bounds on the work that a vocabulary file may ask of a library: sizes of split patterns, and growth of text.

A hundred bytes of JSON can make a text 100,000 times longer, or a regular expression of a gigabyte. The library that
runs the file would do it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from pyharness.types import InputError

LONGEST_PATTERN = 1 << 16  # characters; the longest published one has 1,300
MOST_REPEATED = 10_000  # elements of a pattern, those under {n} counted n times; published patterns have some hundred
MOST_GROWTH = 100  # of a text, in bytes; NFKC turns one character into 18, published replacements one byte into 3
LONGEST_PREPENDED = 1000  # characters

_REPEAT = re.compile(r"\{([0-9]*)(,?)([0-9]*)\}")
_GROUP = re.compile(r"(?:\?[^:=!>)]*[:=!>]?)?")  # after the parenthesis: "?:", "?i:", "?<="
_ESCAPE = re.compile(r"\\(?:[pPxuUNkgo]\{[^}]*\}|.)", re.DOTALL)


def check_pattern(expression: str, label: str) -> None:
    """Refuse a regular expression that is longer, or has more repetition, than any tokenizer needs.

    Raises:
        InputError: the expression is refused.
    """
    if len(expression) > LONGEST_PATTERN:
        raise InputError(
            f"{label}: a regular expression of {len(expression):,} characters; at most {LONGEST_PATTERN:,} are tried"
        )
    if (elements := elements_of(expression)) > MOST_REPEATED:
        shown = f"{elements:,}" if elements < 10**15 else "more than 10^15"
        raise InputError(
            f"{label}: a regular expression of {shown} elements, with {{n}} written out; {MOST_REPEATED:,} are allowed"
        )


def elements_of(expression: str) -> int:
    """Count the characters, classes and escapes of an expression; those under ``{n}`` or ``{m,n}`` count n times.

    >>> elements_of("(ab[cd]){3}e+")
    10
    """
    sums, last, position = [0], 0, 0
    while position < len(expression):
        character = expression[position]
        if repeat := _REPEAT.match(expression, position):
            sums[-1] += last * (max(_count(repeat[1]), _count(repeat[3]), 1) - 1)
            last *= max(_count(repeat[1]), _count(repeat[3]), 1)
            position = repeat.end()
            continue
        if character == "(":
            sums.append(0)
            group = _GROUP.match(expression, position + 1)
            position += len(group[0]) if group else 0
        elif character == ")" and len(sums) > 1:
            last = sums.pop()
            sums[-1] += last
        elif character not in "*+?|^$":
            position = _end_of_element(expression, position) - 1
            last = 1
            sums[-1] += 1
        position += 1
    return sum(sums)


def _count(digits: str) -> int:
    return int(digits[:18] or 0)


def _end_of_element(expression: str, start: int) -> int:
    """Return the position after the character, escape or class at ``start``."""
    if expression[start] == "\\":
        escape = _ESCAPE.match(expression, start)
        return escape.end() if escape else start + 1
    if expression[start] != "[":
        return start + 1
    depth, position = 0, start
    while position < len(expression):
        if expression[position] == "\\":
            position += 1
        elif expression[position] == "[":
            depth += 1
            position += expression[position + 1 : position + 2] == "]"  # a bracket in first position is a member
        elif expression[position] == "]":
            depth -= 1
            if depth == 0:
                return position + 1
        position += 1
    return len(expression)


def check_steps(steps: Iterable[Mapping[str, Any]], label: str) -> None:
    """Check the steps of a stage (sequences flattened): their expressions, and how much they lengthen a text.

    Raises:
        InputError: an expression is refused, or the steps make a text too long.
    """
    growth = 1.0
    for step in steps:
        pattern = step.get("pattern")
        expression = pattern.get("Regex") if isinstance(pattern, dict) else None
        if isinstance(expression, str):
            check_pattern(expression, label)
        if isinstance(prepended := step.get("prepend"), str) and len(prepended) > LONGEST_PREPENDED:
            raise InputError(f"{label}: {len(prepended):,} characters are put before every text; at most 1,000 may be")
        growth *= _growth(step, pattern)
        if growth > MOST_GROWTH:
            raise InputError(f"{label} can make a text {growth:,.0f} times longer; at most {MOST_GROWTH} are tried")


def _growth(step: Mapping[str, Any], pattern: Any) -> float:
    content = step.get("content")
    if step.get("type") != "Replace" or not isinstance(content, str) or not isinstance(pattern, dict):
        return 1.0
    size = len(content.encode(errors="replace"))
    if isinstance(replaced := pattern.get("String"), str):
        return max(1.0, size / max(1, len(replaced.encode(errors="replace"))))
    return max(1.0, float(size))  # an expression may match a single byte

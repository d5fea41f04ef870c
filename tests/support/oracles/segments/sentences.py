"""Slow reference of sentences by rule: one character at a time.

A unit ends after a run of enders (with quotes and brackets that close) where white space or the end follows, or after a
run of new lines; the white space behind stays with it. Enders of Chinese and Japanese need none. Units longer than
``cap`` characters are cut at the last separator (the first kind that there is) before the cap, or at it.
"""

from __future__ import annotations

CLOSE, SPACES = "\"')]}»”’", " \t\n\r"
SEPARATORS = ("\n", ";", ":", ",", " ")


def units(text: str, cap: int = 256, ends: str = ".!?", cjk_ends: str = "。！？") -> list[str]:
    out, start, i = [], 0, 0
    while i < len(text):
        j = i
        if text[i] in ends + cjk_ends:
            cjk = False
            while j < len(text) and text[j] in ends + cjk_ends:
                cjk |= text[j] in cjk_ends
                j += 1
            while j < len(text) and text[j] in CLOSE:
                j += 1
            if cjk or j == len(text) or text[j] in SPACES:
                while j < len(text) and text[j] in SPACES:
                    j += 1
                out.append(text[start:j])
                start = j
            i = max(j, i + 1)
        elif text[i] == "\n":
            while j < len(text) and text[j] in SPACES:
                j += 1
            out.append(text[start:j])
            start = i = j
        else:
            i += 1
    return [part for unit in [*out, text[start:]] if unit for part in _capped(unit, cap)]


def _capped(unit: str, cap: int) -> list[str]:
    parts = []
    while len(unit) > cap:
        places = (unit.rfind(separator, 0, cap) + 1 for separator in SEPARATORS)
        k = next((k for k in places if k > 0), cap)
        parts.append(unit[:k])
        unit = unit[k:]
    return [*parts, unit]

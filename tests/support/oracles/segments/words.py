"""Words, as the package regex finds their boundaries."""

from __future__ import annotations

import regex

BOUNDARY = regex.compile(r"(?V1w)\b")


def units(text: str) -> list[str]:
    """Segments of UAX #29; the empty strings that split gives at both ends are none."""
    return [segment for segment in BOUNDARY.split(text) if segment]

"""A time limit for a whole run: no case begins after it."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass

from pyharness.types import InputError

_TIME = re.compile(r"(\d{1,9}(?:\.\d{1,6})?) ?(s|min|m|h)", re.ASCII)
_UNITS = {"s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


class OutOfTime(Exception):
    """The time limit is over, and what would begin now does not."""


@dataclass(frozen=True, slots=True)
class Deadline:
    """When the last case of a run may begin."""

    at: float  # of time.monotonic()
    limit: str  # as it was given

    @classmethod
    def after(cls, limit: str) -> Deadline:
        """Set a limit that begins now, such as ``90s``, ``10m`` or ``1.5h``; raises ``InputError`` for no time."""
        match = _TIME.fullmatch(limit)
        seconds = float(match[1]) * _UNITS[match[2]] if match else 0.0
        if not seconds:
            raise InputError(f"time limit {limit!r} is no time: write a number above 0 with s, m or h, such as 10m")
        return cls(time.monotonic() + seconds, limit)

    @property
    def over(self) -> bool:
        """Whether nothing more begins."""
        return time.monotonic() >= self.at

"""What an axis spans, and where a value stands on it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

_MARGIN = 0.04  # of the span, on both sides
_MOST_TICKS, _FEW_TICKS = 6, 2
_LONG = 10_000.0  # from here on, labels are short
_LARGEST = 300  # a power of ten that is a number


@dataclass(frozen=True, slots=True)
class Scale:
    """A linear or logarithmic axis."""

    low: float
    high: float
    log: bool = False

    @classmethod
    def of(cls, values: Iterable[float | None], log: bool = False) -> Scale:
        """Span values; of a logarithmic axis those above zero."""
        known = [one for one in values if one is not None and math.isfinite(one) and (one > 0 or not log)]
        if not known:
            return cls(1, 10, log) if log else cls(0, 1)
        low, high = (math.log10(min(known)), math.log10(max(known))) if log else (min(known), max(known))
        margin = _MARGIN * (high - low) or (0.1 if log else abs(low) * 0.05 or 1)
        low, high = low - margin, high + margin
        return cls(10 ** max(low, -_LARGEST), 10 ** min(high, _LARGEST), log) if log else cls(low, high)

    def place(self, value: float | None) -> float | None:
        """Where a value is drawn; None where it has no place: a logarithmic axis has none for zero and below."""
        if value is None or not math.isfinite(value) or (self.log and value <= 0):
            return None
        return min(max(value, self.low), self.high)

    def share(self, value: float) -> float:
        """How far along the axis a value that has a place stands, from 0 to 1."""
        if self.log:
            low, high = math.log(self.low), math.log(self.high)
            return (math.log(value) - low) / (high - low)
        return (value - self.low) / (self.high - self.low)

    def encoded(self) -> dict[str, Any]:
        """As Vega-Lite has it."""
        kind = {"type": "log"} if self.log else {"zero": False}
        return {"domain": [self.low, self.high], "nice": False, **kind}

    def axis(self) -> dict[str, Any]:
        """Ticks of the axis, and their labels: 1k and 2M where numbers are large, as they are where not."""
        large = max(abs(self.low), abs(self.high)) >= _LONG
        ticks = {"values": self._powers()} if self.log else {"tickCount": 5}
        plain = {"format": "~g"} if self.log else {}  # with it, ticks of a linear axis have one digit: 1e+2
        return {**ticks, "labelFlush": True, "labelOverlap": "greedy", **({"format": "~s"} if large else plain)}

    def _powers(self) -> list[float]:
        """Powers of ten within the axis, with their double and fivefold where there are few."""
        low, high = math.ceil(math.log10(self.low)), math.floor(math.log10(self.high))
        step = max(1, (high - low) // _MOST_TICKS + 1)
        factors = (1, 2, 5) if high - low < _FEW_TICKS else (1,)
        powers = [factor * 10.0**power for power in range(low - 1, high + 1, step) for factor in factors]
        return [one for one in powers if self.low <= one <= self.high]

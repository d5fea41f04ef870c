"""Does the rule of the benchmark ``hostile`` find a quadratic engine, and does it spare linear ones?

    python studies/ranks/hostile_growth.py 200

Each repetition measures engines made of a few lines by the benchmark's own rule, by the clock of this machine. The
quadratic one looks at all of its text for every 512 bytes. It must be found each time, the linear ones never.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from pyharness.features.serving.hostile import KindTrial, trial_of
from pyharness.features.serving.hostile_texts import FIXED

SIZES = [2**power for power in range(12, 17)]
STRIDE = 512  # bytes between two looks at the whole text
LIMIT = 10.0  # seconds of a call


def quadratic(data: bytes) -> int:
    """Look at the whole text again and again, as a merge loop without a queue does."""
    found = 0
    for start in range(0, len(data), STRIDE):
        found += data.count(b"\0", 0, len(data) - start % 2)
    return found


def linear(data: bytes) -> int:
    """Look at every byte once, in Python."""
    return sum(byte & 1 for byte in data)


def pieces(data: bytes) -> int:
    """Cut and count, in native code."""
    return len(Counter(data.split()))


def ordered(data: bytes) -> int:
    """Sort: n log n."""
    return len(sorted(data))


ENGINES: Mapping[str, Callable[[bytes], int]] = {
    "quadratic": quadratic, "linear": linear, "pieces": pieces, "sorted": ordered,
}  # fmt: skip


def timed(engine: Callable[[bytes], int]) -> Callable[[str], Mapping[str, Any]]:
    """Return an engine that answers as the process of a row does."""

    def encode(text: str) -> Mapping[str, Any]:
        data = text.encode()
        start = time.perf_counter()
        engine(data)
        return {"seconds": time.perf_counter() - start, "bytes": 0}

    return encode


def trial(engine: Callable[[bytes], int], number: int) -> KindTrial:
    """Measure one kind of text."""
    return trial_of(timed(engine), FIXED[number % len(FIXED)], SIZES, LIMIT, float("inf"))


def main(repetitions: int) -> None:
    """Print how often each engine was called superlinear, and its exponents."""
    for name, engine in ENGINES.items():
        results = [trial(engine, number) for number in range(repetitions)]
        exponents = sorted(fit.exponent for one in results if (fit := one.fit()) is not None)
        alarms = sum(one.confirmed for one in results)
        print(f"{name:10} {alarms:4} of {repetitions}; exponents {exponents[0]:.2f} to {exponents[-1]:.2f}")  # noqa: T201


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)

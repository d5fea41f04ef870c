"""How many examples a test draws: few in a run of some tiers, all of them in a run of every tier (``-m ''``).

Hypothesis' profile says which: ``quick``, or ``thorough``, which ``--hypothesis-profile`` chooses for any run.
"""

from __future__ import annotations

from hypothesis import settings

ALL, FEW = 100, 25  # examples of a property that names no number of its own; the first is Hypothesis' own


def register() -> None:
    """Make both profiles known, and draw few examples until a run says otherwise."""
    # A slow example is no fault: shared machines and sanitizers pass Hypothesis' limit of 200 ms now and then.
    settings.register_profile("thorough", deadline=None, max_examples=ALL)
    settings.register_profile("quick", deadline=None, max_examples=FEW)
    settings.load_profile("quick")


def examples(count: int) -> int:
    """How many of ``count`` examples, or seeds, this run draws: all, or a tenth and at least 25 of them."""
    return count if settings().max_examples >= ALL else min(count, max(FEW, count // 10))

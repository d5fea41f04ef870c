"""Profiles of the kernels: what a call takes against what the machine's own memory and arithmetic allow.

One module of ``kernels/`` per kernel, ending in ``PROFILES = (Profile(...),)``. A profile says what the least work of a
problem is, makes its data, and names the contenders: our kernel first, then the peers that do the same work on the same
data. Every result is verified before anything is timed. ``machines/`` times; ``session`` is the loop.
"""

from __future__ import annotations

PLUGINS = {
    "pyharness.cli": ("cli:COMMANDS", "cli:EXAMPLES"),
    "pyharness.metrics": ("metrics:REPORTED",),
    "pyharness.profiling": (
        "kernels.entropy:PROFILES",
        "kernels.linear_entropy:PROFILES",
        "kernels.pair_histogram:PROFILES",
    ),
    "pyharness.records": ("report:CASE_RECORDS",),
}

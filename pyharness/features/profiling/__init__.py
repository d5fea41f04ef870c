"""Profiles of the kernels: the time of a call against the limits of the machine's memory and arithmetic.

Each kernel has a module in ``kernels/`` that ends in ``PROFILES = (Profile(...),)``. A profile states the least work of
a problem, makes its data, and names the contenders: our kernel first, then peers on the same data. Each of them is
timed only after its result was verified. ``cpu`` and ``cuda`` do the timing; ``session`` is the loop.
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

"""What tokens cost: prices by language, what a window holds, and what chat templates add.

``prices`` reads the user's prices, ``cost`` and ``cost_metrics`` are the benchmark ``cost``.
"""

from __future__ import annotations

PLUGINS = {
    "pyharness.benchmarks": ("cost:BENCHMARKS",),
    "pyharness.metrics": ("cost_metrics:REPORTED",),
}

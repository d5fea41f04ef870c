"""What tokens cost: prices by language, what a window holds, and what chat templates add.

``prices`` reads the user's prices, ``cost`` and ``cost_metrics`` are the benchmark ``cost``.

``templates`` finds the chat template of a row, and renders conversations with it. ``conversations`` has what is
rendered, ``chat`` is the benchmark ``chat``. ``words`` is the benchmark ``words``.
"""

from __future__ import annotations

PLUGINS = {
    "pyharness.benchmarks": ("chat:BENCHMARKS", "cost:BENCHMARKS", "words:BENCHMARKS"),
    "pyharness.metrics": ("chat:REPORTED", "cost_metrics:REPORTED", "words:REPORTED"),
}

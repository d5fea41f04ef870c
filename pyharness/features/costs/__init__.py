"""What tokens cost: prices by language, what a window holds, and what chat templates add.

``cost`` is the benchmark ``cost``, by the user's prices. ``templates`` finds the chat template of a row, and has the
conversations that are rendered with it. ``chat`` is the benchmark ``chat``, ``words`` the benchmark ``words``.
"""

from __future__ import annotations

PLUGINS = {
    "pyharness.benchmarks": ("chat:BENCHMARKS", "cost:BENCHMARKS", "words:BENCHMARKS"),
    "pyharness.metrics": ("chat:REPORTED", "cost:REPORTED", "words:REPORTED"),
}

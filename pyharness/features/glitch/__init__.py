"""Glitch tokens: ids that a checkpoint has hardly trained, by their rows of its matrices (arXiv 2405.05417).

``matrices`` streams the rows, ``indicators`` computes numbers and a threshold of them, ``verification`` asks the model
itself. ``benchmark`` is the benchmark ``glitch``.
"""

from __future__ import annotations

PLUGINS = {
    "pyharness.benchmarks": ("benchmark:BENCHMARKS",),
    "pyharness.metrics": ("benchmark:REPORTED",),
}

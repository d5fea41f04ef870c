"""Robustness: how tokens change where a text changes little, and whether they cut numbers by a rule.

``drawn_numbers`` draws numbers and compares cuts with groups of three, ``numbers`` is the benchmark ``numbers``.
``noises`` spoils texts, ``noise`` is the benchmark ``noise``.
"""

from __future__ import annotations

PLUGINS = {
    "pyharness.benchmarks": ("noise:BENCHMARKS", "numbers:BENCHMARKS"),
    "pyharness.metrics": ("noise:REPORTED", "numbers:REPORTED"),
}

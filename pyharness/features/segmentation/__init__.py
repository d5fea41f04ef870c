"""Segmentation: units that are no tokens (patches, sentences, words, characters), and what they make of a text.

``units`` and ``patches`` cut, ``metrics/`` measure where units end.
"""

from __future__ import annotations

PLUGINS = {
    "pyharness.benchmarks": ("benchmark:BENCHMARKS",),
    "pyharness.metrics": (
        "metrics.extracts:REPORTED",
        "metrics.numbers:REPORTED",
        "metrics.units:REPORTED",
        "metrics.words:REPORTED",
    ),
    "pyharness.tokenizers": ("patches:FAMILIES", "units:FAMILIES"),
}

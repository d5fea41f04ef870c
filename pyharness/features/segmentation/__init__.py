"""Segmentation: units that are no tokens (patches, sentences, words, characters), and what they make of a text.

``units`` and ``patches`` cut, ``metrics/`` measure where units end.
"""

from __future__ import annotations

PLUGINS = {
    "pyharness.benchmarks": ("benchmark",),
    "pyharness.metrics": (
        "metrics.extracts",
        "metrics.numbers",
        "metrics.units",
        "metrics.words",
    ),
    "pyharness.tokenizers": (
        "patches",
        "units",
    ),
}

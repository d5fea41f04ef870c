"""Segmentation: units other than tokens (patches, sentences, words, characters), and their metrics on a text.

``units`` and ``patches`` cut text, ``metrics/`` measure the ends of units. ``symbol_training`` and ``symbols_cli`` are
the command ``symbols``, whose models (``symbol_models``) cut patches.
"""

from __future__ import annotations

PLUGINS = {
    "pyharness.benchmarks": ("benchmark:BENCHMARKS",),
    "pyharness.cli": ("symbols_cli:COMMANDS", "symbols_cli:EXAMPLES"),
    "pyharness.kernels.symbol_models": ("symbol_models:*",),
    "pyharness.metrics": (
        "metrics.extracts:REPORTED",
        "metrics.numbers:REPORTED",
        "metrics.units:REPORTED",
        "metrics.words:REPORTED",
    ),
    "pyharness.tokenizers": ("patches:FAMILIES", "units:FAMILIES"),
}

"""Adaptation: a tokenizer gains tokens, loses some or exchanges them, and a model is fitted to it.

``bpe/`` decides what is learnt and dropped, ``editing/`` edits the original file, ``trainers/`` are the faces of both;
``surgery/`` writes a checkpoint of a model whose vocabulary has changed.
"""

from __future__ import annotations

PLUGINS = {
    "pyharness.benchmarks": ("benchmark:BENCHMARKS",),
    "pyharness.cli": ("cli:COMMANDS", "cli:EXAMPLES"),
    "pyharness.metrics": ("metrics:REPORTED",),
    "pyharness.trainers": ("trainers.extension:TRAINERS", "trainers.pruning:TRAINERS"),
}

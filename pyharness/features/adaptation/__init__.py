"""Adaptation: adds, removes or replaces tokens of a tokenizer, and fits a model to it.

``bpe/`` chooses the tokens to learn and to drop, ``editing/`` edits the original file, ``trainers/`` expose both as
trainers; ``surgery/`` writes the checkpoint of a model with the new vocabulary.
"""

from __future__ import annotations

PLUGINS = {
    "pyharness.benchmarks": ("benchmark:BENCHMARKS",),
    "pyharness.cli": ("cli:COMMANDS", "cli:EXAMPLES"),
    "pyharness.metrics": ("metrics:REPORTED",),
    "pyharness.trainers": ("trainers.declarations:TRAINERS",),
}

"""Training: from text to the files of a tokenizer, and to rows ``trained:...``.

``trainers/`` lists the trainers with their options, and trains. ``commands`` writes a folder, ``cli`` is the command
``train``. ``rows`` trains what a suite names, before anything is measured: ``recipe`` reads the name,
``training_process`` trains, ``trained_cache`` keeps the result. ``benchmark`` times trainings, and ``replaced_tokens``
compares vocabularies of one size.
"""

from __future__ import annotations

PLUGINS = {
    "pyharness.benchmarks": ("benchmark:BENCHMARKS", "replaced_tokens:BENCHMARKS"),
    "pyharness.cli": ("cli:COMMANDS", "cli:EXAMPLES"),
    "pyharness.metrics": ("replaced_tokens:REPORTED",),
    "pyharness.report.tables": ("replaced_tokens:BENCHMARKS",),
    "pyharness.tokenizers": ("rows:FAMILIES",),
    "pyharness.trainers": ("trainers:*", "trainers.declarations:TRAINERS"),
}

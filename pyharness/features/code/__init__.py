"""Code: how tokens meet the leaves of a lexer, cut identifiers and indentation, and what other spellings cost.

``lexing`` knows languages by their names and file suffixes, and takes a document apart. ``alignment`` counts where
tokens end, ``rewrites`` spells a document in another style. ``metrics`` and ``benchmark`` are the benchmark ``code``.
"""

from __future__ import annotations

PLUGINS = {
    "pyharness.benchmarks": ("benchmark:BENCHMARKS",),
    "pyharness.metrics": ("metrics:REPORTED",),
}

"""Morphology: the boundaries of tokens against gold boundaries of morphemes, from a file of the user.

``gold`` reads the file, ``formats`` knows what such files look like. ``scores`` counts, ``benchmark`` is the benchmark
``morphology``.
"""

from __future__ import annotations

PLUGINS = {
    "pyharness.benchmarks": ("benchmark:BENCHMARKS",),
    "pyharness.metrics": ("scores:REPORTED",),
}

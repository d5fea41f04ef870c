"""The gate: two arms are measured against each other, in turns, and judged; it fails on a real regression.

``arms/`` makes two environments that differ in what is under test alone. ``driving/`` is the process of an arm: a file
of its own, which the interpreter of the arm runs, and the parent's side of it. ``benchmarking/`` is the same for tests
of pytest-benchmark. ``measuring/`` starts launches and rounds; ``judging/`` makes verdicts of them; ``calibrating/``
asks what this machine can tell apart. docs/gate.md has the method and the trials.
"""

from __future__ import annotations

PLUGINS = {
    "pyharness.cli": ("cli",),
    "pyharness.records": ("report.kinds",),
}

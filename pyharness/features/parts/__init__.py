"""A run in parts is a folder: whoever can call a command N times runs a suite over text that no machine holds.

``planning`` writes the plan, ``working`` reads one part of every text and leaves its passes, ``merging`` adds them up
and writes an ordinary record. What is finished is a file, so the folder is all that a loss must spare. ``executors``
does all three on this machine, or writes a script that asks a cluster for the parts that are missing.
"""

from __future__ import annotations

PLUGINS = {
    "pyharness.cli": ("cli:COMMANDS", "cli:EXAMPLES"),
    "pyharness.running": ("executors:EXECUTORS", "ray_cluster:EXECUTORS", "passes:PARTS"),
}

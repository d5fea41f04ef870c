"""Pipes: ``encode`` and ``decode`` between text and ids, and ``show``, the tokens of a text next to each other.

``documents`` reads the input, ``ids`` writes and reads the ids, ``streams`` is for data other than text, such as
motions. ``units`` lays out what ``show`` prints.
"""

from __future__ import annotations

PLUGINS = {"pyharness.cli": ("cli:COMMANDS", "cli:EXAMPLES")}

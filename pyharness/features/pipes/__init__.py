"""Pipes: ``encode`` and ``decode`` between text and ids, and ``show``, the tokens of a text next to each other.

``documents`` reads the input, and finds what other features offer for data that is no text, such as motions. ``ids``
writes and reads the ids, ``units`` lays out what ``show`` prints.
"""

from __future__ import annotations

PLUGINS = {"pyharness.cli": ("cli:COMMANDS", "cli:EXAMPLES")}

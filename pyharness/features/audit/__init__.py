"""Audits: what goes wrong with tokenizers in production, verified before it is printed.

``byte_lengths`` and ``length_tables`` are ``pyharness bytes``: how many bytes of a text each id stands for.
"""

from __future__ import annotations

PLUGINS = {
    "pyharness.cli": ("cli:COMMANDS", "cli:EXAMPLES"),
}

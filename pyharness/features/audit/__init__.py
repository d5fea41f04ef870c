"""Audits: what goes wrong with tokenizers in production, verified before it is printed.

``byte_lengths`` and ``length_tables`` are ``pyharness bytes``: how many bytes of a text each id stands for.

``definitions``, ``changes``, ``sides`` and ``witnesses`` are ``pyharness diff``: what differs between two tokenizers.
``sources`` unpacks files and reads revisions. ``comparison`` puts them together.

``checks/`` and ``auditing`` are ``pyharness audit``: all checks of one tokenizer or model folder.
"""

from __future__ import annotations

PLUGINS = {
    "pyharness.cli": ("cli:COMMANDS", "cli:EXAMPLES"),
}

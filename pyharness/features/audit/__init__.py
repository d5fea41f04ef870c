"""Audits: what goes wrong with tokenizers in production, verified before it is printed.

``byte_lengths`` and ``length_tables`` are ``pyharness bytes``: how many bytes of a text each id stands for.

``differences/`` is ``pyharness diff`` and ``pyharness overlap``: what differs between tokenizers, and what they share.

``checks/`` and ``auditing`` are ``pyharness audit``: all checks of one tokenizer or model folder.
"""

from __future__ import annotations

PLUGINS = {
    "pyharness.cli": ("cli:COMMANDS", "cli:EXAMPLES"),
}

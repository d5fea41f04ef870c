"""Logs of ids: rollouts, and counts of a provider, against the ids that a tokenizer gives for the same text.

``entries`` reads a log, ``corpus`` is the kind of corpus ``ids:FILE``. ``canonical`` compares an entry with a
tokenizer, ``benchmark`` and ``metrics`` count. ``rows`` is the row ``ids:FILE``, of which only counts are known.
"""

from __future__ import annotations

PLUGINS = {
    "pyharness.benchmarks": ("benchmark:BENCHMARKS",),
    "pyharness.corpora": ("entries:CORPORA",),
    "pyharness.metrics": ("metrics:REPORTED",),
    "pyharness.tokenizers": ("rows:FAMILIES",),
}

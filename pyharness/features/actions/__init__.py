"""Actions: chunks of motion as ids. An action is no text: a codec has a protocol of its own.

``codecs/`` are FAST, bins, their files and streams; ``motions`` is the kind of corpus.
"""

from __future__ import annotations

PLUGINS = {
    "pyharness.benchmarks": ("benchmark",),
    "pyharness.corpora": ("motions",),
    "pyharness.metrics": ("metrics",),
    "pyharness.streams": ("commands",),
    "pyharness.tokenizers": ("rows",),
}

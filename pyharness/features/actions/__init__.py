"""Actions: chunks of motion as ids. An action is not text, so codecs have their own protocol.

``codecs/`` has FAST, bins, their files and streams; ``motions`` is the kind of corpus.
"""

from __future__ import annotations

PLUGINS = {
    "pyharness.benchmarks": ("benchmark:BENCHMARKS",),
    "pyharness.corpora": ("motions:CORPORA",),
    "pyharness.metrics": ("metrics:REPORTED",),
    "pyharness.streams": ("commands:STREAMS", "declarations:TRAININGS"),
    "pyharness.tokenizers": ("rows:FAMILIES",),
}

"""Serving: what goes wrong when a tokenizer reads a stranger's text and writes a stream.

``markers`` and ``calls`` are ``control``: does text of a user become a control token?

``streams`` are ``streaming``: does decoding id by id give the text of the whole? ``growth`` is of times.

``hostile_texts`` and ``probe`` are ``hostile``: which text makes a tokenizer slow, or breaks it?
"""

from __future__ import annotations

PLUGINS = {
    "pyharness.benchmarks": ("control:BENCHMARKS", "hostile:BENCHMARKS", "streaming:BENCHMARKS"),
    "pyharness.metrics": ("metrics:REPORTED",),
}

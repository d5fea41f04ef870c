"""Distribution: what papers print of the tokens of a text, of its documents, and of the languages of aligned text.

``sequences`` counts windows, successors and cut characters; ``benchmark`` is the benchmark ``distribution``.
``documents`` keeps a row for each document, which ``cli`` writes: the command ``documents``. ``languages`` is the
benchmark ``languages``, with the user's table of resource levels.
"""

from __future__ import annotations

PLUGINS = {
    "pyharness.benchmarks": ("benchmark:BENCHMARKS", "languages:BENCHMARKS"),
    "pyharness.cli": ("cli:COMMANDS", "cli:EXAMPLES"),
    "pyharness.metrics": ("benchmark:REPORTED", "languages:REPORTED"),
}

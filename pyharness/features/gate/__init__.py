"""The gate: measures two arms in turns and judges the difference; it fails on a real regression.

``commands.py`` is the entry point; ``session.py`` runs a whole gate. ``builds/`` makes the environments of both arms,
which should differ only in the library under test. ``drivers/`` has the processes of an arm and their parent's side.
``measurement/`` starts launches and rounds, ``verdicts/`` judges them, ``report/`` shows the result. ``suites.py`` and
``texts.py`` say what is measured; ``calibration.py`` computes the smallest slowdown that this machine can detect.
docs/gate.md has the method and the trials.
"""

from __future__ import annotations

PLUGINS = {
    "pyharness.cli": ("cli:COMMANDS", "cli:EXAMPLES"),
    "pyharness.records": ("report.kinds:RECORDS",),
}

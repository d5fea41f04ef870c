"""The gate: two arms are measured against each other, in turns, and judged; it fails on a real regression.

``commands.py`` is the way in, and ``session.py`` the whole walk: ``builds/`` makes two environments that differ in what
is under test alone, ``drivers/`` has the processes of an arm and those who ask them, ``measurement/`` starts launches
and rounds, ``verdicts/`` judges them, ``report/`` shows it. ``suites.py`` and ``texts.py`` say what is measured;
``calibration.py``, what this machine can tell apart. docs/gate.md has the method and the trials.
"""

from __future__ import annotations

PLUGINS = {
    "pyharness.cli": ("cli:COMMANDS", "cli:EXAMPLES"),
    "pyharness.records": ("report.kinds:RECORDS",),
}

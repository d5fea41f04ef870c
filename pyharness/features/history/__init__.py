"""The history: what became slower over months, and since which revision.

``collecting.py`` makes points of records, ``places.py`` asks git for the order of revisions, ``database.py`` keeps both
(``schema.sql``). ``lines.py`` makes lines of the points and finds their steps, ``report.py`` shows them. It reads the
records of ``pyharness/features/gate``. docs/history.md has the method and how often it errs.
"""

from __future__ import annotations

PLUGINS = {"pyharness.cli": ("cli:COMMANDS", "cli:EXAMPLES")}

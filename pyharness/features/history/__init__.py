"""The history: what became slower over months, and since which revision.

``collecting.py`` makes points of records, ``places.py`` asks git for the order of revisions, ``database.py`` keeps both
(``schema.sql``), in a file (``connections.py``) or on a server (``servers.py``). ``lines.py`` makes lines of the points
and finds their steps, ``report.py`` shows them. ``measuring/`` runs gates: of revisions that are missing, of what is
suspected, of halves of a range. It builds on ``pyharness/features/gate``. docs/history.md has the method and how often
it errs.
"""

from __future__ import annotations

PLUGINS = {"pyharness.cli": ("cli:COMMANDS", "cli:EXAMPLES")}

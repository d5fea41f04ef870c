"""Boards of peers reproduced: published numbers next to ours, one module a board.

``results/`` has the published figures as data, each file with its source and commit.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parents[1] / "results"


def published(name: str) -> Any:
    """Read a file of published figures: JSON with ``source`` and ``commit``."""
    return json.loads(gzip.decompress((RESULTS / f"{name}.json.gz").read_bytes()))


def table(head: list[str], rows: list[list[str]]) -> str:
    """Lay out a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)

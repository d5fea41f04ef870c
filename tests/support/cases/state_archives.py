"""Archives of states, as records and strangers write them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyharness.store.states import StateWriter


def written(path: Path, cases: dict[str, dict[str, Any]]) -> Path:
    with StateWriter(path) as writer:
        for case, state in cases.items():
            writer.add(case, state)
    return path

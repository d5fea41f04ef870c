"""Recorded JSON values against those that are due."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

MISSING: Any = object()


@dataclass(slots=True)
class Comparison:
    """Counts values that are equal, and names those that are not."""

    due: str = "from the state"  # where the other values are from
    values: int = 0
    differences: list[str] = field(default_factory=list)

    def compare(self, name: str, recorded: Any, derived: Any) -> None:
        """Compare two values, leaf by leaf."""
        if isinstance(recorded, dict) and isinstance(derived, dict):
            for key in recorded | derived:
                self.compare(f"{name}.{key}", recorded.get(key, MISSING), derived.get(key, MISSING))
        elif isinstance(recorded, list) and isinstance(derived, list) and len(recorded) == len(derived):
            for index, pair in enumerate(zip(recorded, derived, strict=True)):
                self.compare(f"{name}[{index}]", *pair)
        else:
            self.values += 1
            if recorded is MISSING or derived is MISSING or recorded != derived:
                self.differences.append(f"{name}: {shown(recorded)} in the record, {shown(derived)} {self.due}")


def plain(value: Any) -> Any:
    """Return a value as it is once it has been written as JSON and read again."""
    return value if value is MISSING else json.loads(json.dumps(value, default=float))


def shown(value: Any) -> str:
    """Return a value as a line has it."""
    text = "nothing" if value is MISSING else json.dumps(value)
    return text if len(text) <= 80 else text[:77] + "..."

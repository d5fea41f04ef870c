"""One case as a worker is asked for it: the message from the parent, declared once for both sides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from pyharness.types import Case


@dataclass(frozen=True, slots=True)
class Request:
    """A case, the specifications behind its labels, and the paths of what it reads and leaves."""

    case: Case
    tokenizer: str
    corpus: str | None
    threads: int
    device: str = "cpu"
    expected: str | None = None  # ids of the row this vocabulary is compared with
    keep_ids: str | None = None  # where to leave ids for other rows to be compared with
    keep_state: str | None = None  # where to leave the integers that the numbers are computed from
    traceback: bool = False  # whether a failure keeps its traceback

    def as_json(self) -> dict[str, Any]:
        """JSON values."""
        return asdict(replace(self, case=replace(self.case, parameters=dict(self.case.parameters))))

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Request:
        """Inverse of ``as_json``."""
        return cls(**{**data, "case": Case(**data["case"])})

"""What a run must have in common with the one it goes on from: declaration, machine, files and text."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from pyharness.running.schedule import Schedule
from pyharness.running.texts_read import TextsRead
from pyharness.suite import Plan
from pyharness.system.environment import fingerprint, version_of
from pyharness.types import InputError


def header(plan: Plan, schedule: Schedule) -> dict[str, Any]:
    """First line of the journal: a run is resumed under the same one only."""
    rows = schedule.rows
    return {
        "suite": plan.suite.digest,
        "environment": fingerprint(),
        "versions": {label: version_of(spec.library) for label, spec in rows.items()},
        "files": {label: _sha256(spec.path) for label, spec in rows.items() if spec.path is not None},
    }


def _sha256(path: str) -> str:
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_texts(plan: Plan, texts: TextsRead) -> None:
    """Refuse to go on with text that is no longer what the finished cases have read."""
    for label, part in texts.parts.items():
        if part.read_again(plan.corpora[label]) != part.tally.digest:
            raise InputError(
                f"cannot resume: corpus {label!r} is no longer the text that was measured (digests differ)"
            )

"""Calibrations are kept for one machine and suite, in the user's cache: of another machine they say nothing."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyharness.features.gate.records import calibration_as_json, calibration_from_json
from pyharness.features.gate.types import Calibration
from pyharness.store.json_lines import load
from pyharness.system import atomic_file, environment, folders
from pyharness.types import InputError


def machine() -> dict[str, Any]:
    """What identifies a machine for as long as its times mean the same: nothing that changes from day to day."""
    facts = environment.fingerprint()
    stable = {name: facts[name] for name in ("machine", "cpu", "cores", "memory_bytes")}
    return {**stable, "gpus": gpus} if (gpus := environment.gpus()) else stable


def place(of: Mapping[str, Any], suite_digest: str) -> Path:
    """File of the calibration of a machine and suite."""
    key = json.dumps([dict(of), suite_digest], sort_keys=True)
    return folders.cache() / "gate" / "calibrations" / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.json"


def keep(calibration: Calibration) -> Path:
    """Write a calibration in the place of an older one, whole or not at all; returns the file.

    Raises:
        InputError: it cannot be written.
    """
    path = place(calibration.machine, calibration.suite_digest)
    data = calibration_as_json(calibration)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic_file.keep(path, json.dumps(data, indent=1) + "\n")
    except OSError as error:
        raise InputError(
            f"cannot keep the calibration in {str(path)!r}: {error.strerror or error}; name a folder in PYHARNESS_CACHE"
        ) from None
    return path


def kept(of: Mapping[str, Any], suite_digest: str) -> Calibration | None:
    """Calibration of a machine and suite, or None where none was made.

    Raises:
        InputError: there is a file, and it is none of ours, or of a newer version.
    """
    path = place(of, suite_digest)
    if not path.exists():
        return None
    found = calibration_from_json(load(path), repr(str(path)))
    if dict(found.machine) != dict(of) or found.suite_digest != suite_digest:
        raise InputError(f"{str(path)!r} is the calibration of another machine or suite: remove it, or calibrate anew")
    return found

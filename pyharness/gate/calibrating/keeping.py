"""Calibrations are kept for one machine and suite, in the user's cache: of another machine they say nothing."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyharness.gate.calibrating.calibration import Calibration
from pyharness.store.json_lines import load
from pyharness.store.nouns import as_json, from_json
from pyharness.store.shape import Misshapen, check_values
from pyharness.system import atomic_file, cache_folder, environment
from pyharness.types import InputError

SCHEMA = 1
KIND = "calibration of a gate"


def machine() -> dict[str, Any]:
    """What identifies a machine for as long as its times mean the same: nothing that changes from day to day."""
    facts = environment.fingerprint()
    return {name: facts[name] for name in ("machine", "cpu", "cores", "memory_bytes")}


def place(of: Mapping[str, Any], suite_digest: str) -> Path:
    """File of the calibration of a machine and suite."""
    key = json.dumps([dict(of), suite_digest], sort_keys=True)
    return cache_folder.ours() / "gate" / "calibrations" / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.json"


def keep(calibration: Calibration) -> Path:
    """Write a calibration in the place of an older one, whole or not at all; returns the file.

    Raises:
        InputError: it cannot be written.
    """
    path = place(calibration.machine, calibration.suite_digest)
    data = {"kind": KIND, "schema": SCHEMA, **as_json(Calibration, calibration)}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic_file.replace(path, json.dumps(data, indent=1) + "\n")
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
    data = load(path)
    advice = "remove it, or calibrate anew"
    if not isinstance(data, dict) or data.get("kind") != KIND or data.get("schema") != SCHEMA:
        raise InputError(f"{str(path)!r} is no calibration that this version reads: {advice}")
    try:
        check_values(data)
        found = from_json(Calibration, data, "calibration")
    except Misshapen as error:
        raise InputError(f"{str(path)!r} is no complete calibration: {error}; {advice}") from None
    if dict(found.machine) != dict(of) or found.suite_digest != suite_digest:
        raise InputError(f"{str(path)!r} is the calibration of another machine or suite: {advice}")
    return found

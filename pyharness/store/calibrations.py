"""Calibrations of gates as JSON values, and back."""

from __future__ import annotations

from typing import Any

from pyharness.store.nouns import as_json, from_json
from pyharness.store.shape import Misshapen, check_values
from pyharness.types import Calibration, InputError

CALIBRATION_KIND = "calibration of a gate"
CALIBRATION_SCHEMA = 1


def calibration_as_json(calibration: Calibration) -> dict[str, Any]:
    """Return a calibration as JSON values."""
    return {"kind": CALIBRATION_KIND, "schema": CALIBRATION_SCHEMA, **as_json(Calibration, calibration)}


def calibration_from_json(data: Any, name: str) -> Calibration:
    """Inverse of ``calibration_as_json``; ``name`` is what messages call it.

    Raises:
        InputError: it is none, of a newer version, or incomplete.
    """
    advice = "remove it, or calibrate anew"
    known = isinstance(data, dict) and data.get("kind") == CALIBRATION_KIND
    if not known or data.get("schema") != CALIBRATION_SCHEMA:
        raise InputError(f"{name} is no calibration that this version reads: {advice}")
    try:
        check_values(data)
        return from_json(Calibration, data, "calibration")
    except Misshapen as error:
        raise InputError(f"{name} is no complete calibration: {error}; {advice}") from None

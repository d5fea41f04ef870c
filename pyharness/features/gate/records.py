"""Records of gates: versioned JSON files with all raw samples; and of calibrations, without raw samples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyharness.features.gate.types import Calibration, Gate, Timing
from pyharness.store.json_values import Misshapen, as_json, check_schema, check_values, dump, from_json, short
from pyharness.types import InputError

GATE_KIND = "pyharness-gate"
GATE_SCHEMA = 1
GATE_SCHEMA_FILE = Path(__file__).with_name("gate.schema.json")
_COLUMNAR = (Timing,)
CALIBRATION_KIND = "calibration of a gate"
CALIBRATION_SCHEMA = 1


def gate_as_json(gate: Gate) -> dict[str, Any]:
    """Return a gate as JSON values: timings by columns, so that wall and CPU time are lists of numbers.

    Raises:
        InputError: a number is not finite, or beyond what a record may hold; or values are nested too deeply.
    """
    data = {"kind": GATE_KIND, "schema": GATE_SCHEMA, **as_json(Gate, gate, _COLUMNAR)}
    try:
        check_values(data)
    except Misshapen as error:
        raise InputError(f"a record cannot hold this: {error}") from None
    return data


def gate_from_json(data: Any, name: str) -> Gate:
    """Inverse of ``gate_as_json``; ``name`` is what messages call the record.

    Raises:
        InputError: it is no such record, of a newer version, or incomplete.
    """
    if not isinstance(data, dict) or data.get("kind") != GATE_KIND:
        raise InputError(f"{name} is not the record of a gate")
    check_schema(data, GATE_SCHEMA, name, "the record of a gate")
    try:
        check_values(data)
        gate = from_json(Gate, data, "gate", _COLUMNAR)
        for rounds in gate.rounds:
            if not len(rounds.base) == len(rounds.head) == len(rounds.head_first):
                raise Misshapen(f"'rounds' of {short(rounds.benchmark)}: base, head and order are not equally long")
    except Misshapen as error:
        raise InputError(f"{name} is not a complete record of a gate: {error}") from None
    return gate


def dump_gate(gate: Gate) -> str:
    """Return the JSON text of a record, with a line for each benchmark of a launch.

    Raises:
        InputError: a record cannot hold a value of the gate.
    """
    return dump(gate_as_json(gate), "rounds")


def calibration_as_json(calibration: Calibration) -> dict[str, Any]:
    """Return a calibration as JSON values."""
    return {"kind": CALIBRATION_KIND, "schema": CALIBRATION_SCHEMA, **as_json(Calibration, calibration)}


def calibration_from_json(data: Any, name: str) -> Calibration:
    """Inverse of ``calibration_as_json``; ``name`` is what messages call it.

    Raises:
        InputError: it is no such record, of another version, or incomplete.
    """
    advice = "remove it, or calibrate again"
    is_kind = isinstance(data, dict) and data.get("kind") == CALIBRATION_KIND
    if not is_kind or data.get("schema") != CALIBRATION_SCHEMA:
        raise InputError(f"{name} is not a calibration that this version reads: {advice}")
    try:
        check_values(data)
        return from_json(Calibration, data, "calibration")
    except Misshapen as error:
        raise InputError(f"{name} is not a complete calibration: {error}; {advice}") from None

"""What this machine can tell apart: false alarms, noise and detectable slowdowns, from gates of identical code."""

from __future__ import annotations

from pyharness.features.gate.calibrating.calibration import calibrated, check_budget
from pyharness.features.gate.calibrating.keeping import keep, kept, machine, place

__all__ = ["calibrated", "check_budget", "keep", "kept", "machine", "place"]

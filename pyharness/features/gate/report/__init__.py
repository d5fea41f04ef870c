"""Reports of gates for people and programs: sheets, a comment on a pull request, JUnit, the summary of a CI step."""

from pyharness.features.gate.report.calibration import calibration_sheet, flat_calibration
from pyharness.features.gate.report.junit import to_junit
from pyharness.features.gate.report.sheets import flat_gate, gate_comment, gate_sheets, verdict_line

__all__ = [
    "calibration_sheet", "flat_calibration", "flat_gate", "gate_comment", "gate_sheets", "to_junit", "verdict_line",
]  # fmt: skip

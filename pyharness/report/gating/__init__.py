"""Gates for people and for other programs: sheets, a comment on a pull request, JUnit, the summary of a step."""

from pyharness.report.gating.calibration import calibration_sheet, flat_calibration
from pyharness.report.gating.junit import to_junit
from pyharness.report.gating.pull_request import gate_comment
from pyharness.report.gating.sheets import flat_gate, gate_sheets
from pyharness.report.gating.step_summary import append_step_summary
from pyharness.report.gating.verdicts import verdict_line

__all__ = [
    "append_step_summary",
    "calibration_sheet",
    "flat_calibration",
    "flat_gate",
    "gate_comment",
    "gate_sheets",
    "to_junit",
    "verdict_line",
]

"""What ``pyharness report`` shows of gates and of calibrations."""

from __future__ import annotations

from pyharness.features.gate.records import CALIBRATION_KIND, GATE_KIND, calibration_from_json, gate_from_json
from pyharness.features.gate.report.calibration import calibration_sheet, flat_calibration
from pyharness.features.gate.report.junit import to_junit
from pyharness.features.gate.report.page_sections import page_of_calibration, page_of_gate
from pyharness.features.gate.report.pull_request import gate_comment
from pyharness.features.gate.report.sheets import flat_gate, gate_sheets
from pyharness.report.page.kinds import RecordKind

RECORDS = (
    RecordKind(
        name=GATE_KIND,
        noun="the record of a gate",
        read=gate_from_json,
        sheets=gate_sheets,
        rows=flat_gate,
        page=page_of_gate,
        comment=gate_comment,
        texts={"junit": to_junit},
    ),
    RecordKind(
        name=CALIBRATION_KIND,
        noun="a calibration",
        read=calibration_from_json,
        sheets=lambda calibration: [calibration_sheet(calibration)],
        rows=flat_calibration,
        page=page_of_calibration,
    ),
)

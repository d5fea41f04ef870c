"""One sheet of raw values as JSON."""

from __future__ import annotations

import json

from pyharness.report.sheet import Sheet


def to_json(sheet: Sheet) -> str:
    """Return a JSON array with one object per row."""
    rows = [{title: cell.value for title, cell in zip(sheet.columns, row, strict=True)} for row in sheet.rows]
    return json.dumps(rows, ensure_ascii=False, allow_nan=False, indent=1) + "\n"

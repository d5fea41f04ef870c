"""One sheet of raw values as CSV."""

from __future__ import annotations

import csv
import io

from pyharness.report.sheet import Heading, Sheet

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\0")  # OWASP ASVS 5.0, 1.2.10, and the ends of lines
_BOTH = "\r\n"  # as the end of a line, it makes the writer put quotes around either


def to_csv(sheet: Sheet) -> str:
    """Return CSV that a spreadsheet does not run: text that looks like a formula gets an apostrophe.

    Numbers are written as floats, in full; what is missing is empty.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator=_BOTH)
    lines = []
    for values in (sheet.columns, *([cell.value for cell in row] for row in sheet.rows)):
        out.seek(0)
        out.truncate()
        writer.writerow(_writable(heading, value) for heading, value in zip(sheet.headings, values, strict=True))
        lines.append(out.getvalue().removesuffix(_BOTH) + "\n")
    return "".join(lines)


def _writable(heading: Heading, value: object) -> object:
    if value is None:
        return ""
    if isinstance(value, str):
        return f"'{value}" if value.startswith(_FORMULA) else value
    return float(value) if heading.kind == "number" and isinstance(value, int) else value

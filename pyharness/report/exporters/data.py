"""One sheet of raw values as CSV, JSON, a pandas DataFrame or a Parquet file."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING

from pyharness.plugins.libraries import require
from pyharness.report.sheet import Heading, Sheet
from pyharness.system import atomic_file

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\0")  # OWASP ASVS 5.0, 1.2.10, and the ends of lines
_BOTH = "\r\n"  # as the end of a line, it makes the writer quote cells that have either character


def to_csv(sheet: Sheet) -> str:
    """Return CSV that a spreadsheet does not run: text that looks like a formula gets an apostrophe.

    Numbers of number columns are written as floats, in full; missing values are empty.
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


def to_json(sheet: Sheet) -> str:
    """Return a JSON array with one object per row."""
    rows = [{title: cell.value for title, cell in zip(sheet.columns, row, strict=True)} for row in sheet.rows]
    return json.dumps(rows, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


if TYPE_CHECKING:
    import pandas as pd


def to_frame(sheet: Sheet) -> pd.DataFrame:
    """Return a DataFrame; columns of numbers are float64."""
    import pandas as pd

    frame = pd.DataFrame([[cell.value for cell in row] for row in sheet.rows], columns=list(sheet.columns))
    return frame.astype({heading.title: "float64" for heading in sheet.headings if heading.kind == "number"})


def to_parquet(sheet: Sheet, path: Path, *, overwrite: bool = False) -> None:
    """Write a Parquet file; refuse an existing one, or replace it with ``overwrite``.

    Raises:
        InputError: pyarrow is not installed, the file exists, or it cannot be written.
    """
    require("Parquet", "pyarrow", "files")
    atomic_file.check(path, overwrite=overwrite)
    atomic_file.write(path, to_frame(sheet).to_parquet(None, index=False), overwrite=overwrite)

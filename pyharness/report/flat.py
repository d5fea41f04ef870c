"""A record as flat rows, one per number: for pandas, spreadsheets and other programs."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyharness.statistics.intervals import interval_of
from pyharness.store import Record
from pyharness.system import atomic_file
from pyharness.types import InputError

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = (
    "benchmark", "tokenizer", "corpus", "parameters", "metric", "part", "value", "low", "high", "unit", "direction",
    "status", "reason",
)  # fmt: skip
_BOTH = "\r\n"  # as the end of a line, it makes the writer put quotes around either


def rows(record: Record) -> list[dict[str, Any]]:
    """One row per measurement, and one per case without any, so that nothing is silently dropped."""
    found: list[dict[str, Any]] = []
    for result in record.results:
        case = result.case
        common = {
            "benchmark": case.benchmark,
            "tokenizer": case.tokenizer,
            "corpus": case.corpus,
            "parameters": json.dumps(dict(case.parameters), sort_keys=True),
            "status": result.status,
        }
        for measurement in result.measurements:
            about = record.data["metrics"].get(measurement.metric, {})
            low, high = interval_of(measurement) or (None, None)
            found.append(
                dict.fromkeys(COLUMNS)
                | common
                | {"metric": measurement.metric, "part": measurement.part, "value": measurement.value}
                | {"low": low, "high": high, "reason": measurement.reason or measurement.no_interval}
                | {"unit": about.get("unit"), "direction": about.get("direction")}
            )
        if not result.measurements:
            found.append(dict.fromkeys(COLUMNS) | common | {"reason": result.reason})
    return [{column: _writable(cell) for column, cell in row.items()} for row in found]


def _writable(cell: object) -> object:
    """Escape lone surrogates, which come from file names: no UTF-8 file can hold them."""
    return cell.encode("utf-8", "backslashreplace").decode() if isinstance(cell, str) else cell


def to_frame(record: Record) -> pd.DataFrame:
    """Rows as a pandas DataFrame; ``value``, ``low`` and ``high`` are float64."""
    import pandas as pd

    frame = pd.DataFrame(rows(record), columns=list(COLUMNS))
    return frame.astype({"value": "float64", "low": "float64", "high": "float64"})


def to_json(record: Record) -> str:
    """Rows as a JSON array."""
    return json.dumps(rows(record), ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def to_csv(record: Record) -> str:
    """Rows as CSV that a spreadsheet does not run: text that looks like a formula gets an apostrophe."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator=_BOTH)
    lines = [",".join(COLUMNS) + "\n"]
    for row in to_frame(record).itertuples(index=False):
        out.seek(0)
        out.truncate()
        writer.writerow("" if cell is None or cell != cell else _no_formula(cell) for cell in row)
        lines.append(out.getvalue().removesuffix(_BOTH) + "\n")
    return "".join(lines)


def _no_formula(cell: object) -> object:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(("=", "+", "-", "@", "\t", "\r")) else cell


def to_parquet(record: Record, path: Path, *, overwrite: bool = False) -> None:
    """Rows as a Parquet file; one that is there already is refused, or replaced with ``overwrite``."""
    try:
        import pyarrow as pa  # noqa: F401
    except ImportError:
        raise InputError("Parquet needs an extra: pip install 'pyharness[files]'") from None
    atomic_file.check(path, overwrite=overwrite)
    atomic_file.write(path, to_frame(record).to_parquet(None, index=False), overwrite=overwrite)

"""One sheet of raw values as a pandas DataFrame or a Parquet file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pyharness.plugins.libraries import require
from pyharness.report.sheet import Sheet
from pyharness.system import atomic_file

if TYPE_CHECKING:
    import pandas as pd


def to_frame(sheet: Sheet) -> pd.DataFrame:
    """Return a DataFrame; columns of numbers are float64."""
    import pandas as pd

    frame = pd.DataFrame([[cell.value for cell in row] for row in sheet.rows], columns=list(sheet.columns))
    return frame.astype({heading.title: "float64" for heading in sheet.headings if heading.kind == "number"})


def to_parquet(sheet: Sheet, path: Path, *, overwrite: bool = False) -> None:
    """Write a Parquet file; one that is there already is refused, or replaced with ``overwrite``."""
    require("Parquet", "pyarrow", "files")
    atomic_file.check(path, overwrite=overwrite)
    atomic_file.write(path, to_frame(sheet).to_parquet(None, index=False), overwrite=overwrite)

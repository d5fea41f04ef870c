"""``pyharness documents``."""

from __future__ import annotations

import io
from functools import partial
from pathlib import Path

import click

from pyharness.cli.console import check_target, show_in_pager
from pyharness.cli.usage import Example
from pyharness.types import InputError

_FORMATS = ("csv", "json", "parquet")


@click.command()
@click.argument("record", type=click.Path(path_type=Path))
@click.option("--format", "form", type=click.Choice(_FORMATS),
              help="How to write the rows [default: by the suffix of --output, or csv].")  # fmt: skip
@click.option("-o", "--output", type=click.Path(path_type=Path), help="File to write instead of standard output.")
@click.option("--force", is_flag=True, help="Replace the file that --output names, if there is one.")
def documents(record: Path, form: str | None, output: Path | None, force: bool) -> None:
    """Write a row for each document of a record.

    \b
    pyharness run -t TOKENIZER -c CORPUS -b distribution -o run.json
    pyharness documents run.json -o documents.parquet

    A row has the tokenizer, the text, the document's number and key, its bytes, its tokens and bytes/token. Rows of two
    tokenizers can be joined by text and number. The state file of the record is needed.
    """
    from pyharness import report, store
    from pyharness.features.distribution.benchmark import NAME
    from pyharness.features.distribution.documents import sheets_of, write_parquet, write_text
    from pyharness.plugins.libraries import require
    from pyharness.system import atomic_file

    check_target(output, force, [record])
    form = form or ("csv" if output is None else report.FORMATS_OF_SUFFIXES.get(output.suffix, "csv"))
    if form not in _FORMATS:
        raise InputError(f"rows of documents are csv, json or parquet, not {form}: choose one with --format")
    rows = sheets_of(store.read(record), NAME)
    if form == "parquet":
        if output is None:
            raise InputError("Parquet is binary: name a file with --output")
        require("Parquet", "pyarrow", "files")
        atomic_file.write(output, partial(write_parquet, rows), overwrite=force)
    elif output is not None:
        atomic_file.write(output, partial(write_text, rows, form), overwrite=force)
    else:
        text = io.BytesIO()
        write_text(rows, form, text)
        show_in_pager(text.getvalue().decode())


COMMANDS = (documents,)
EXAMPLES = (Example("pyharness documents run.json -o d.csv", "one row per document", 97),)

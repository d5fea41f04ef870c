"""``pyharness report`` and ``pyharness compare``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from pyharness.cli.console import color, reports_errors, show, width
from pyharness.types import InputError

if TYPE_CHECKING:
    from pyharness.store import Record


@click.command()
@click.argument("record", type=click.Path(path_type=Path))
@click.option("--format", "form", type=click.Choice(["table", "markdown", "html", "csv", "json", "parquet"]),
              default="table", show_default=True)  # fmt: skip
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write here instead of to standard output.")
@click.option("--force", is_flag=True, help="Replace the file that --output names, if there is one.")
@click.option("--rederive", is_flag=True,
              help="Compute every number again from the state beside the record; print what differs.")  # fmt: skip
@reports_errors
def report(record: Path, form: str, output: Path | None, force: bool, rederive: bool) -> None:
    """Show a RECORD as tables, or as flat rows for other programs.

    What --output names is never overwritten without --force; a device or a FIFO is written into.

    \b
    Exit status of --rederive: 0 all numbers are equal to the last bit, 1 some differ,
    2 there is no state beside the record, or it is damaged or another run's.
    """
    from pyharness import report as room
    from pyharness import store
    from pyharness.system import atomic_file

    if output is not None:
        atomic_file.check(output, overwrite=force)
    found = store.read(record)
    if rederive:
        _rederive(found, form, output, force)
    if form == "parquet":
        if output is None:
            raise InputError("Parquet is binary: name a file with --output")
        room.to_parquet(found, output, overwrite=force)
        return
    text = {
        "table": lambda: room.to_text(room.tables(found), width=width(), color=color() and output is None),
        "markdown": lambda: room.to_markdown(room.tables(found)),
        "html": lambda: room.to_page(room.tables(found), str(record)),
        "csv": lambda: room.to_csv(found),
        "json": lambda: room.to_json(found),
    }[form]()
    if output is None:
        show(text)
    else:
        atomic_file.write(output, text, overwrite=force)


def _rederive(record: Record, form: str, output: Path | None, force: bool) -> NoReturn:
    from pyharness.commands import rederiving
    from pyharness.system import atomic_file

    if form != "table":
        raise InputError(f"--rederive prints lines of text, not {form}: leave --format out")
    found = list(rederiving.rederive(record))
    text = "".join(f"{line}\n" for line in rederiving.lines(found))
    if output is None:
        show(text)
    else:
        atomic_file.write(output, text, overwrite=force)
    sys.exit(1 if any(one.differences for one in found) else 0)


@click.command()
@click.argument("record", type=click.Path(path_type=Path))
@click.argument("a")
@click.argument("b", required=False)
@click.option("--format", "form", type=click.Choice(["table", "markdown"]), default="table", show_default=True)
@reports_errors
def compare(record: Path, a: str, b: str | None, form: str) -> None:
    """Compare two tokenizers of one record, or two records.

    \b
    pyharness compare RECORD TOKENIZER_A TOKENIZER_B
    pyharness compare RECORD_A RECORD_B

    Only metrics that the text determines are compared. Each difference B - A has a paired 95 % interval over the same
    documents; text that is not the same on both sides is refused.
    """
    from pyharness import report as room
    from pyharness import store
    from pyharness.report import comparison

    first = store.read(record)
    differences = comparison.records(first, store.read(Path(a))) if b is None else comparison.rows(first, a, b)
    tables = room.difference_tables(differences)
    show(room.to_markdown(tables) if form == "markdown" else room.to_text(tables, width(), color()))

"""``pyharness report`` and ``pyharness compare``."""

from __future__ import annotations

from pathlib import Path

import click

from pyharness.cli.console import color, reports_errors, show, width
from pyharness.types import InputError


@click.command()
@click.argument("record", type=click.Path(path_type=Path))
@click.option("--format", "form", type=click.Choice(["table", "markdown", "html", "csv", "json", "parquet"]),
              default="table", show_default=True)  # fmt: skip
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write here instead of to standard output.")
@click.option("--force", is_flag=True, help="Replace the file that --output names, if there is one.")
@reports_errors
def report(record: Path, form: str, output: Path | None, force: bool) -> None:
    """Show a RECORD as tables, or as flat rows for other programs.

    What --output names is never overwritten without --force; a device or a FIFO is written into.
    """
    from pyharness import atomic_file, store
    from pyharness import report as room

    if output is not None:
        atomic_file.check(output, overwrite=force)
    found = store.read(record)
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
    from pyharness import comparison, store
    from pyharness import report as room

    first = store.read(record)
    differences = comparison.records(first, store.read(Path(a))) if b is None else comparison.rows(first, a, b)
    tables = room.difference_tables(differences)
    show(room.to_markdown(tables) if form == "markdown" else room.to_text(tables, width(), color()))

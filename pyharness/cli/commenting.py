"""``--for pr``: Markdown for a comment on a pull request, which the summary of a step shows as well."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from pyharness.cli.console import complain, show
from pyharness.types import InputError

if TYPE_CHECKING:
    from pyharness.report import Comment

PULL_REQUEST = "markdown for a pull request"  # a format that --for chooses
FOR = click.option("--for", "reader", type=click.Choice(["pr"]),
                   help="Markdown for a comment on a pull request: what matters first, the rest folded, at most 60 kB; "
                   "also appended to the file that GITHUB_STEP_SUMMARY names.")  # fmt: skip


def chosen(form: str, reader: str | None) -> str:
    """Return the format that is asked for; one that is no Markdown is for no pull request."""
    if reader is None:
        return form
    if form != "markdown":
        raise InputError(f"--for {reader} is Markdown, not {form}: add --format markdown, or leave --for out")
    return PULL_REQUEST


def put(comment: Comment, output: Path | None, force: bool) -> None:
    """Write a comment to a file or to standard output, and to the summary of a step."""
    from pyharness import report
    from pyharness.system import atomic_file

    text = report.to_pull_request(comment)
    if output is None:
        show(text)
    else:
        atomic_file.write(output, text, overwrite=force)
    summarise(text)


def summarise(text: str) -> None:
    """Append Markdown to the summary of the step, if there is one; say so where that fails."""
    from pyharness import report

    if (trouble := report.append_step_summary(text)) is not None:
        complain(f"warning: {trouble}")
